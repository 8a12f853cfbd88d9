// This file reads whether and how much a model should think before it answers, from the fields of
// several servers.

package openai

import (
	"encoding/json"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// thinking has the fields of requests that control the model's reasoning. Include says whether the
// reasoning is part of the answer.
type thinking struct {
	Effort    *string         `json:"reasoning_effort"`
	Verbosity *string         `json:"verbosity"`
	Thinking  json.RawMessage `json:"thinking"`          // {"type": "enabled"}, as DeepSeek and Z.ai have it, or true
	Enable    *bool           `json:"enable_thinking"`   // Alibaba's
	Include   *bool           `json:"include_reasoning"` // vLLM's
}

// variables returns the variables for the template.
func (in *thinking) variables(variables map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for name, value := range variables {
		out[name] = value
	}
	on, err := in.enabled()
	if err != nil {
		return nil, err
	}
	if in.Effort != nil {
		out["reasoning_effort"] = *in.Effort
		if *in.Effort == "none" && on == nil {
			on = new(bool)
		}
	}
	if on != nil { // under the names that templates use
		out["enable_thinking"], out["thinking"] = *on, *on
	}
	if in.Verbosity != nil {
		switch *in.Verbosity {
		case "low", "medium", "high":
			out["verbosity"] = *in.Verbosity
		default:
			return nil, engine.Errorf(engine.Invalid, "verbosity %.50q, want low, medium or high", *in.Verbosity).At("verbosity")
		}
	}
	return out, nil
}

// enabled returns whether the model should think, nil if the request does not say.
func (in *thinking) enabled() (*bool, error) {
	on := in.Enable
	if wire.IsNull(in.Thinking) {
		return on, nil
	}
	var asked bool
	if json.Unmarshal(in.Thinking, &asked) != nil {
		var object struct {
			Type   string          `json:"type"`
			Budget json.RawMessage `json:"budget_tokens"`
		}
		err := json.Unmarshal(in.Thinking, &object)
		switch {
		case err == nil && !wire.IsNull(object.Budget):
			return nil, engine.Errorf(engine.Invalid, "thinking.budget_tokens is not supported here").At("thinking.budget_tokens")
		case err == nil && (object.Type == "auto" || object.Type == "adaptive"):
			return on, nil
		case err != nil || object.Type != "enabled" && object.Type != "disabled":
			return nil, engine.Errorf(engine.Invalid, "thinking %.100s, want an object with the type enabled, disabled or auto", in.Thinking).At("thinking")
		}
		asked = object.Type == "enabled"
	}
	if on != nil && *on != asked {
		return nil, engine.Errorf(engine.Invalid, "enable_thinking and thinking differ").At("thinking")
	}
	return &asked, nil
}

// told reports whether the answer includes the reasoning.
func (in *thinking) told() bool { return flag(in.Include, true) }
