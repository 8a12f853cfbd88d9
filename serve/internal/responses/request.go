// The requests of POST /v1/responses.

package responses

import (
	"encoding/json"
	"slices"

	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// request is a request for a response.
type request struct {
	Model        string            `json:"model"`
	Input        input             `json:"input"`
	Instructions *string           `json:"instructions"`
	Previous     *string           `json:"previous_response_id"`
	Stream       bool              `json:"stream"`
	Store        *bool             `json:"store"`
	MaxTokens    *int              `json:"max_output_tokens"`
	Temperature  *float64          `json:"temperature"`
	TopP         *float64          `json:"top_p"`
	Tools        []tool            `json:"tools"`
	Choice       json.RawMessage   `json:"tool_choice"`
	Parallel     *bool             `json:"parallel_tool_calls"`
	Text         textConfig        `json:"text"`
	Reasoning    *reasoning        `json:"reasoning"`
	Metadata     map[string]string `json:"metadata"`

	Include  []string        `json:"include"`
	Chat     json.RawMessage `json:"conversation"`
	Template json.RawMessage `json:"prompt"`
}

// Neutral returns the fields that change no answer. Inputs that are too long are an error, whatever
// truncation says.
func (*request) Neutral() wire.Neutral {
	return wire.Neutral{
		"user": nil, "safety_identifier": nil, "prompt_cache_key": nil, "prompt_cache_retention": nil, "prompt_cache_options": nil, "service_tier": nil,
		"stream_options": nil, "max_tool_calls": nil, "truncation": {`"auto"`, `"disabled"`}, "background": {"false"}, "top_logprobs": {"0"}, "context_management": {"[]"},
	}
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

type textConfig struct {
	Format    *format `json:"format"`
	Verbosity *string `json:"verbosity,omitempty"` // which no template knows
}

// format is what the answer has to follow.
type format struct {
	Type        string          `json:"type"`
	Name        string          `json:"name,omitempty"` // says nothing about the answer, nor does the description
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// reasoning says how much the model thinks. The answer has the reasoning itself, not a summary.
type reasoning struct {
	Effort          *string `json:"effort"`
	Summary         *string `json:"summary"`
	GenerateSummary *string `json:"generate_summary,omitempty"`
}

// sampling is how tokens are chosen.
func (in *request) sampling() (s chat.Sampling, err error) {
	for _, x := range []struct {
		name string
		x    *float64
		most float64
	}{{"temperature", in.Temperature, 2}, {"top_p", in.TopP, 1}} {
		if x.x != nil && !(*x.x >= 0 && *x.x <= x.most) {
			return s, engine.Errorf(engine.Invalid, "%s %g, want 0 to %g", x.name, *x.x, x.most).At(x.name)
		}
	}
	if in.MaxTokens != nil && *in.MaxTokens < 1 {
		return s, engine.Errorf(engine.Invalid, "max_output_tokens %d, want at least 1", *in.MaxTokens).At("max_output_tokens")
	}
	return chat.Sampling{Choice: chat.Choice{Sampling: overrides.Sampling{Temperature: in.Temperature, TopP: in.TopP}}, Usual: overrides.OpenAI, MaxTokens: in.MaxTokens}, nil
}

// included are the parts of answers that clients ask for. They change nothing in the answers of
// this server.
var included = []string{"reasoning.encrypted_content", "file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url",
	"computer_call_output.output.image_url", "code_interpreter_call.outputs"}

// check refuses fields that are not supported.
func (in *request) check() error {
	for _, x := range []struct {
		name string
		raw  json.RawMessage
	}{{"conversation", in.Chat}, {"prompt", in.Template}} {
		if !wire.IsNull(x.raw) {
			return engine.Errorf(engine.Invalid, "%s is not supported here", x.name).At(x.name)
		}
	}
	for _, part := range in.Include {
		if !slices.Contains(included, part) {
			return engine.Errorf(engine.Invalid, "include %.100q is not supported here", part).At("include")
		}
	}
	return nil
}

// conversation returns the conversation that the assistant answers: the instructions, the earlier
// messages, then the input. kept is the same without instructions.
func (in *request) conversation(s *store) (q *chat.Conversation, kept []text.Message, err error) {
	if err := in.check(); err != nil {
		return nil, nil, err
	}
	q = &chat.Conversation{Variables: map[string]any{}, OneCall: in.Parallel != nil && !*in.Parallel}
	if in.Previous != nil {
		before := s.get(*in.Previous)
		if before == nil {
			return nil, nil, engine.Errorf(engine.Invalid, "no response %.100q is kept: send the whole conversation as input", *in.Previous).At("previous_response_id")
		}
		kept = slices.Clip(before.messages)
	}
	if kept, err = in.Input.messages(kept); err != nil {
		return nil, nil, engine.AsError(err).At("input")
	}
	if len(kept) == 0 {
		return nil, nil, engine.Errorf(engine.Empty, "there is no input").At("input")
	}
	if r := in.Reasoning; r != nil && r.Effort != nil {
		q.Variables["reasoning_effort"] = *r.Effort
		if *r.Effort == "none" {
			q.Variables["enable_thinking"] = false
		}
	}
	if err := in.tools(q); err != nil {
		return nil, nil, err
	}
	q.Messages = in.instructed(kept)
	return q, kept, in.constrain(q)
}

// instructed returns messages with instructions before them. Instructions are not kept: the next
// request may have different ones.
func (in *request) instructed(messages []text.Message) []text.Message {
	if in.Instructions == nil || *in.Instructions == "" {
		return messages
	}
	first := text.Message{Role: "system", Content: *in.Instructions}
	if m := messages[0]; m.Role == "system" || m.Role == "developer" { // of which templates take one
		first.Content += "\n\n" + m.Content
		messages = messages[1:]
	}
	return slices.Concat([]text.Message{first}, messages)
}

// tools adds the tools, and whether they are called.
func (in *request) tools(q *chat.Conversation) error {
	for _, t := range in.Tools {
		if t.Type != "function" {
			return engine.Errorf(engine.Invalid, "a tool of type %.50q, want function", t.Type).At("tools")
		}
		one, err := chat.NewTool(t.Name, t.Description, t.Parameters, t.Strict)
		if err != nil {
			return err
		}
		q.Tools = append(q.Tools, one)
	}
	if wire.IsNull(in.Choice) {
		return nil
	}
	ways := map[string]chat.Calls{"none": chat.NeverCall, "auto": chat.MayCall, "required": chat.MustCall}
	wrong := engine.Errorf(engine.Invalid, "tool_choice %.100s, want none, auto, required, a function by its name, or allowed_tools", in.Choice).At("tool_choice")
	var way string
	var named struct {
		Type  string `json:"type"`
		Name  string `json:"name"`
		Mode  string `json:"mode"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	known := false
	if json.Unmarshal(in.Choice, &way) == nil {
		q.Calls, known = ways[way]
	} else if json.Unmarshal(in.Choice, &named) == nil {
		switch named.Type {
		case "function":
			q.Calls, q.Called, known = chat.MustCall, named.Name, named.Name != ""
		case "allowed_tools":
			q.Calls, known = ways[named.Mode]
			allowed := map[string]bool{}
			for _, t := range named.Tools {
				allowed[t.Name] = true
			}
			q.Tools = slices.DeleteFunc(q.Tools, func(t chat.Tool) bool { return !allowed[t.Name] })
		}
	}
	switch {
	case !known:
		return wrong
	case q.Calls == chat.MustCall && len(q.Tools) == 0:
		return engine.Errorf(engine.Invalid, "tool_choice without tools").At("tool_choice")
	}
	return nil
}

// constrain has the answer follow the format that is asked for.
func (in *request) constrain(q *chat.Conversation) error {
	f := in.Text.Format
	switch {
	case f == nil || f.Type == "text":
		return nil
	case f.Type != "json_object" && f.Type != "json_schema":
		return engine.Errorf(engine.Invalid, "text.format of type %.50q, want text, json_object or json_schema", f.Type).At("text.format")
	case f.Type == "json_schema" && wire.IsNull(f.Schema):
		return engine.Errorf(engine.Invalid, "text.format without schema").At("text.format")
	case len(q.Tools) > 0 && q.Calls != chat.NeverCall:
		return engine.Errorf(engine.Invalid, "text.format and tools together are not supported here, unless tool_choice is none").At("text.format")
	case f.Type == "json_object":
		q.Format = chat.JSON()
		return nil
	}
	var err error
	if q.Format, err = chat.SchemaFormat(f.Schema, f.Strict != nil && *f.Strict); err != nil {
		return engine.AsError(err).At("text.format")
	}
	return nil
}
