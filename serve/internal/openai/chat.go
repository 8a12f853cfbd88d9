// POST /v1/chat/completions: the requests.

package openai

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// chatRequest is a request for an assistant's answer.
type chatRequest struct {
	common
	thinking
	Messages   []text.Message  `json:"messages"`
	MaxAll     *int            `json:"max_completion_tokens"`
	LogProbs   bool            `json:"logprobs"`
	Top        *int            `json:"top_logprobs"`
	Tools      []chat.Tool     `json:"tools"`
	Choice     json.RawMessage `json:"tool_choice"`
	Parallel   *bool           `json:"parallel_tool_calls"`
	Modalities []string        `json:"modalities"`

	// The fields that vLLM and llama.cpp have for templates.
	Variables  map[string]any  `json:"chat_template_kwargs"`
	Documents  json.RawMessage `json:"documents"`
	Generation *bool           `json:"add_generation_prompt"`
	Continue   bool            `json:"continue_final_message"`

	Functions    json.RawMessage `json:"functions"`
	FunctionCall json.RawMessage `json:"function_call"`
	Audio        json.RawMessage `json:"audio"`
	WebSearch    json.RawMessage `json:"web_search_options"`
}

// Neutral returns the fields that change no answer.
func (*chatRequest) Neutral() wire.Neutral {
	return neutral(wire.Neutral{
		"echo": {"false"}, "add_special_tokens": {"false"}, "best_of": {"1"}, "reasoning_format": {`"auto"`, `"deepseek"`}, "parse_tool_calls": {"true"},
		"separate_reasoning": {"true"}, "reasoning_in_content": {"false"},
	})
}

// sampling is how tokens are chosen.
func (in *chatRequest) sampling() (s chat.Sampling, err error) {
	if s, err = in.common.sampling(); err != nil {
		return s, err
	}
	switch {
	case in.MaxAll != nil && s.MaxTokens != nil && *in.MaxAll != *s.MaxTokens:
		return s, engine.Errorf(engine.Invalid, "max_completion_tokens is %d, and max_tokens or n_predict %d", *in.MaxAll, *s.MaxTokens).At("max_completion_tokens")
	case in.MaxAll != nil && *in.MaxAll < 1:
		return s, engine.Errorf(engine.Invalid, "max_completion_tokens %d, want at least 1", *in.MaxAll).At("max_completion_tokens")
	case in.Top != nil && (*in.Top < 0 || *in.Top > 20):
		return s, engine.Errorf(engine.Invalid, "top_logprobs %d, want 0 to 20", *in.Top).At("top_logprobs")
	case in.Top != nil && *in.Top > 0 && !in.LogProbs:
		return s, engine.Errorf(engine.Invalid, "top_logprobs without logprobs").At("top_logprobs")
	case in.MaxAll != nil:
		s.MaxTokens = in.MaxAll
	}
	s.LogProbs = in.LogProbs
	if in.Top != nil {
		s.TopLogProbs = *in.Top
	}
	return s, nil
}

// conversation returns the conversation that the assistant answers.
func (in *chatRequest) conversation() (*chat.Conversation, error) {
	for _, x := range []struct {
		name, instead string
		raw           json.RawMessage
	}{
		{"functions", ": use tools", in.Functions}, {"function_call", ": use tool_choice", in.FunctionCall}, {"audio", "", in.Audio}, {"web_search_options", "", in.WebSearch},
	} {
		if !wire.IsNull(x.raw) {
			return nil, engine.Errorf(engine.Invalid, "%s is not supported here%s", x.name, x.instead).At(x.name)
		}
	}
	switch {
	case len(in.Modalities) > 0 && !slices.Equal(in.Modalities, []string{"text"}):
		return nil, engine.Errorf(engine.Invalid, "modalities %.100q, want only text", in.Modalities).At("modalities")
	case in.Continue && flag(in.Generation, false):
		return nil, engine.Errorf(engine.Invalid, "continue_final_message goes with an add_generation_prompt of false").At("continue_final_message")
	}
	q := &chat.Conversation{Messages: in.Messages, Tools: in.Tools, OneCall: in.Parallel != nil && !*in.Parallel, Variables: maps.Clone(in.Variables),
		Continue: in.Continue, NoGenerationPrompt: !flag(in.Generation, true)}
	if !wire.IsNull(in.Documents) {
		q.Documents = in.Documents
	}
	var err error
	if q.Variables, err = in.thinking.variables(q.Variables); err != nil {
		return nil, err
	}
	if q.Calls, q.Called, err = in.choice(); err != nil {
		return nil, err
	}
	var field string
	if q.Format, field, err = in.following(); err != nil {
		return nil, err
	}
	if q.Format != nil && len(q.Tools) > 0 && q.Calls != chat.NeverCall {
		return nil, engine.Errorf(engine.Invalid, "%s and tools together are not supported here, unless tool_choice is none", field).At(field)
	}
	if q.Calls == chat.MustCall {
		return q, in.free("tool_choice")
	}
	return q, nil
}

// choice is whether tools are called, and which.
func (in *chatRequest) choice() (calls chat.Calls, name string, err error) {
	if wire.IsNull(in.Choice) {
		return chat.MayCall, "", nil
	}
	var named struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	wrong := engine.Errorf(engine.Invalid, "tool_choice %.100s, want none, auto, required or a function by its name", in.Choice).At("tool_choice")
	if err := json.Unmarshal(in.Choice, &name); err != nil {
		if err := json.Unmarshal(in.Choice, &named); err != nil || named.Type != "function" || named.Function.Name == "" {
			return 0, "", wrong
		}
		calls, name = chat.MustCall, named.Function.Name
	} else {
		way, known := map[string]chat.Calls{"none": chat.NeverCall, "auto": chat.MayCall, "required": chat.MustCall}[name]
		if !known {
			return 0, "", wrong
		}
		calls, name = way, ""
	}
	if len(in.Tools) == 0 && calls == chat.MustCall {
		return 0, "", engine.Errorf(engine.Invalid, "tool_choice without tools").At("tool_choice")
	}
	return calls, name, nil
}
