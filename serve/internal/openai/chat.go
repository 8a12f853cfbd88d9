// POST /v1/chat/completions: what is asked.

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
	Messages   []text.Message  `json:"messages"`
	MaxAll     *int            `json:"max_completion_tokens"`
	LogProbs   bool            `json:"logprobs"`
	Top        *int            `json:"top_logprobs"`
	Format     *responseFormat `json:"response_format"`
	Tools      []chat.Tool     `json:"tools"`
	Choice     json.RawMessage `json:"tool_choice"`
	Parallel   *bool           `json:"parallel_tool_calls"`
	Effort     *string         `json:"reasoning_effort"`
	Variables  map[string]any  `json:"chat_template_kwargs"` // as vLLM and llama.cpp have it
	Modalities []string        `json:"modalities"`

	Functions    json.RawMessage `json:"functions"`
	FunctionCall json.RawMessage `json:"function_call"`
	Audio        json.RawMessage `json:"audio"`
	Prediction   json.RawMessage `json:"prediction"`
	WebSearch    json.RawMessage `json:"web_search_options"`
	Verbosity    json.RawMessage `json:"verbosity"`
}

type responseFormat struct {
	Type   string `json:"type"`
	Schema *struct {
		Schema      json.RawMessage `json:"schema"`
		Name        string          `json:"name"` // says nothing about the answer, nor does the description
		Description string          `json:"description"`
		Strict      *bool           `json:"strict"` // a keyword that cannot be held while generating is an error
	} `json:"json_schema"`
}

// sampling is how tokens are chosen.
func (in *chatRequest) sampling() (s chat.Sampling, err error) {
	if s, err = in.common.sampling(); err != nil {
		return s, err
	}
	switch {
	case in.MaxAll != nil && in.MaxTokens != nil && *in.MaxAll != *in.MaxTokens:
		return s, engine.Errorf(engine.Invalid, "max_tokens and max_completion_tokens differ").At("max_tokens")
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

// conversation is what is to be answered.
func (in *chatRequest) conversation() (*chat.Conversation, error) {
	for _, x := range []struct {
		name, instead string
		raw           json.RawMessage
	}{
		{"functions", ": use tools", in.Functions}, {"function_call", ": use tool_choice", in.FunctionCall}, {"audio", "", in.Audio}, {"prediction", "", in.Prediction},
		{"web_search_options", "", in.WebSearch}, {"verbosity", "", in.Verbosity},
	} {
		if !wire.IsNull(x.raw) {
			return nil, engine.Errorf(engine.Invalid, "%s is not supported here%s", x.name, x.instead).At(x.name)
		}
	}
	if len(in.Modalities) > 0 && !slices.Equal(in.Modalities, []string{"text"}) {
		return nil, engine.Errorf(engine.Invalid, "modalities %.100q, want text alone", in.Modalities).At("modalities")
	}
	q := &chat.Conversation{Messages: in.Messages, Tools: in.Tools, OneCall: in.Parallel != nil && !*in.Parallel, Variables: maps.Clone(in.Variables)}
	if in.Effort != nil {
		if q.Variables == nil {
			q.Variables = map[string]any{}
		}
		q.Variables["reasoning_effort"] = *in.Effort
		if *in.Effort == "none" {
			q.Variables["enable_thinking"] = false
		}
	}
	var err error
	if q.Calls, q.Called, err = in.choice(); err != nil {
		return nil, err
	}
	if q.Format, err = in.Format.format(); err != nil {
		return nil, err
	}
	if q.Format != nil && len(q.Tools) > 0 && q.Calls != chat.NeverCall {
		return nil, engine.Errorf(engine.Invalid, "response_format and tools together are not supported here, unless tool_choice is none").At("response_format")
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

// format is what the answer has to follow, nil for any text.
func (f *responseFormat) format() (*chat.Format, error) {
	switch {
	case f == nil || f.Type == "text":
		return nil, nil
	case f.Type == "json_object":
		return chat.JSON(), nil
	case f.Type != "json_schema":
		return nil, engine.Errorf(engine.Invalid, "response_format %.50q, want text, json_object or json_schema", f.Type).At("response_format")
	case f.Schema == nil || wire.IsNull(f.Schema.Schema):
		return nil, engine.Errorf(engine.Invalid, "response_format without json_schema.schema").At("response_format")
	}
	format, err := chat.SchemaFormat(f.Schema.Schema, f.Schema.Strict != nil && *f.Schema.Strict)
	if err != nil {
		return nil, engine.AsError(err).At("response_format")
	}
	return format, nil
}
