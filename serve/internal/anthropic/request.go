// This file has the requests of POST /v1/messages.

package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// prompt has the fields that determine a prompt. Requests for numbers of tokens have them, too.
type prompt struct {
	Model    string      `json:"model"`
	Messages []message   `json:"messages"`
	System   blocks      `json:"system"`
	Tools    []tool      `json:"tools"`
	Choice   *toolChoice `json:"tool_choice"`
	Thinking *thinking   `json:"thinking"`
	Output   struct {
		Effort *string `json:"effort"`
		Format *format `json:"format"`
	} `json:"output_config"`
	Format  *format           `json:"output_format"` // name in betas
	Edits   *edits            `json:"context_management"`
	Servers []json.RawMessage `json:"mcp_servers"`
}

// Neutral returns the fields that have no effect on answers.
func (*prompt) Neutral() wire.Neutral {
	return wire.Neutral{
		"cache_control": nil, "speed": nil, "user_profile_id": nil, "workspace_id": nil, "metadata": nil, "service_tier": nil, "diagnostics": nil, "inference_geo": nil,
		"container": {"null"},
	}
}

// request is a request for an assistant's answer.
type request struct {
	prompt
	MaxTokens   *int       `json:"max_tokens"`
	Stream      bool       `json:"stream"`
	Temperature *float64   `json:"temperature"`
	TopK        *int       `json:"top_k"`
	TopP        *float64   `json:"top_p"`
	Stop        wire.Stops `json:"stop_sequences"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	Strict      *bool           `json:"strict"`

	Cache    json.RawMessage `json:"cache_control"`
	Examples json.RawMessage `json:"input_examples"`
	Callers  json.RawMessage `json:"allowed_callers"`
	Defer    json.RawMessage `json:"defer_loading"`
	Eager    json.RawMessage `json:"eager_input_streaming"`
}

type toolChoice struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	OneCall bool   `json:"disable_parallel_tool_use"`
}

// thinking says whether the model thinks before it answers. The model decides how much it thinks:
// the budget is checked and has no other effect.
type thinking struct {
	Type    string          `json:"type"`
	Budget  *int            `json:"budget_tokens"`
	Display json.RawMessage `json:"display"`
}

type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// edits lists the parts of messages that the server should omit.
type edits struct {
	Edits []struct {
		Type string `json:"type"`
	} `json:"edits"`
}

// sampling returns the options for choosing tokens.
func (in *request) sampling() (s chat.Sampling, err error) {
	for _, x := range []struct {
		name string
		x    *float64
		most float64
	}{{"temperature", in.Temperature, 2}, {"top_p", in.TopP, 1}} {
		if x.x != nil && !(*x.x >= 0 && *x.x <= x.most) {
			return s, engine.Errorf(engine.Invalid, "%g, want 0 to %g", *x.x, x.most).At(x.name)
		}
	}
	switch {
	case in.MaxTokens == nil:
		return s, engine.Errorf(engine.Invalid, "is missing").At("max_tokens")
	case *in.MaxTokens < 1:
		return s, engine.Errorf(engine.Invalid, "%d, want at least 1", *in.MaxTokens).At("max_tokens")
	case in.TopK != nil && *in.TopK < 0:
		return s, engine.Errorf(engine.Invalid, "%d, want at least 0", *in.TopK).At("top_k")
	}
	return chat.Sampling{Choice: chat.Choice{Sampling: overrides.Sampling{Temperature: in.Temperature, TopP: in.TopP, TopK: in.TopK}}, Usual: overrides.OpenAI, MaxTokens: in.MaxTokens, Stop: in.Stop}, nil
}

// conversation returns the conversation that the assistant answers.
func (in *prompt) conversation() (*chat.Conversation, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	q := &chat.Conversation{Variables: map[string]any{}}
	var err error
	if q.Messages, err = in.messages(); err != nil {
		return nil, err
	}
	if n := len(q.Messages); n > 0 && q.Messages[n-1].Role == "assistant" && q.Messages[n-1].ToolCalls == nil {
		q.Continue = true // as the protocol defines
	}
	for _, t := range in.Tools {
		if t.Type != "" && t.Type != "custom" {
			return nil, engine.Errorf(engine.Invalid, "a tool of type %.50q, want custom", t.Type).At("tools")
		}
		one, err := chat.NewTool(t.Name, t.Description, t.Schema, t.Strict)
		if err != nil {
			return nil, err
		}
		q.Tools = append(q.Tools, one)
	}
	if c := in.Choice; c != nil {
		way, known := map[string]chat.Calls{"none": chat.NeverCall, "auto": chat.MayCall, "any": chat.MustCall, "tool": chat.MustCall}[c.Type]
		if !known || (c.Type == "tool") != (c.Name != "") {
			return nil, engine.Errorf(engine.Invalid, "type %.50q with name %.50q, want auto, any, none, or tool with a name", c.Type, c.Name).At("tool_choice")
		}
		if way == chat.MustCall && len(in.Tools) == 0 {
			return nil, engine.Errorf(engine.Invalid, "without tools").At("tool_choice")
		}
		q.Calls, q.Called, q.OneCall = way, c.Name, c.OneCall
	}
	if in.Thinking != nil {
		if in.Thinking.Type == "enabled" || in.Thinking.Type == "disabled" {
			q.Variables["enable_thinking"] = in.Thinking.Type == "enabled"
		}
	}
	if in.Output.Effort != nil {
		q.Variables["reasoning_effort"] = *in.Output.Effort
	}
	return q, in.constrain(q)
}

// check returns an error for fields that are not supported.
func (in *prompt) check() error {
	if len(in.Servers) > 0 {
		return engine.Errorf(engine.Invalid, "are not supported here").At("mcp_servers")
	}
	if in.Edits != nil {
		for _, e := range in.Edits.Edits {
			if !strings.HasPrefix(e.Type, "clear_thinking_") { // templates omit earlier thinking themselves
				return engine.Errorf(engine.Invalid, "an edit of type %.50q is not supported here", e.Type).At("context_management")
			}
		}
	}
	if t := in.Thinking; t != nil {
		switch t.Type {
		case "enabled":
			if t.Budget == nil || *t.Budget < 1 {
				return engine.Errorf(engine.Invalid, "enabled without budget_tokens of at least 1").At("thinking")
			}
		case "disabled", "adaptive", "between_tools":
		default:
			return engine.Errorf(engine.Invalid, "type %.50q, want enabled, disabled, adaptive or between_tools", t.Type).At("thinking")
		}
	}
	return nil
}

// constrain makes the answer follow the requested schema.
func (in *prompt) constrain(q *chat.Conversation) error {
	f, field := in.Output.Format, "output_config"
	if in.Format != nil {
		f, field = in.Format, "output_format"
	}
	switch {
	case f == nil:
		return nil
	case f.Type != "json_schema" || wire.IsNull(f.Schema):
		return engine.Errorf(engine.Invalid, "a format of type %.50q, want json_schema with a schema", f.Type).At(field)
	case len(q.Tools) > 0 && q.Calls != chat.NeverCall:
		return engine.Errorf(engine.Invalid, "a format and tools together are not supported here, unless tool_choice is none").At(field)
	}
	follow, err := chat.SchemaFormat(f.Schema, false)
	if err != nil {
		return engine.AsError(err).At(field)
	}
	q.Format = follow
	return nil
}
