// This file has the options and the format of requests.

package ollama

import (
	"encoding/json"

	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// options has the options for generating a text.
type options struct {
	chat.Choice
	Predict *int       `json:"num_predict"` // -1 and -2: to the end of the context
	Repeat  *float64   `json:"repeat_penalty"`
	Stop    wire.Stops `json:"stop"`
	Context *int       `json:"num_ctx"`
}

// neutral is the fields that change no answer: where and how a model runs, ways of choosing tokens
// that are turned off, and what requests to other routes have.
var neutral = wire.Neutral{
	"options.num_batch": nil, "options.num_gpu": nil, "options.main_gpu": nil, "options.use_mmap": nil, "options.num_thread": nil, "options.use_mlock": nil,
	"options.numa": nil, "options.low_vram": nil, "options.f16_kv": nil, "options.num_keep": nil, "options.vocab_only": {"false"}, "options.logits_all": nil,
	"options.mirostat": {"0"}, "options.mirostat_tau": nil, "options.mirostat_eta": nil, "options.tfs_z": {"1"}, "options.penalize_newline": {"false"},
	"options.repeat_last_n": {"-1"}, "logprobs": {"false"}, "top_logprobs": {"0"}, "truncate": {"true", "false"}, "shift": {"true", "false"},
}

// sampling returns the options for choosing tokens.
func (o *options) sampling() (s chat.Sampling, err error) {
	if o.Repeat != nil && !(*o.Repeat > 0) {
		return s, engine.Errorf(engine.Invalid, "repeat_penalty %g, want more than 0", *o.Repeat).At("options")
	}
	if o.Context != nil && *o.Context < 1 {
		return s, engine.Errorf(engine.Invalid, "num_ctx %d, want at least 1", *o.Context).At("options")
	}
	s = chat.Sampling{Choice: o.Choice, Usual: overrides.Ollama, Repetition: o.Repeat, Stop: o.Stop}
	switch {
	case o.Predict == nil || *o.Predict == -1 || *o.Predict == -2:
	case *o.Predict < 1:
		return s, engine.Errorf(engine.Invalid, "num_predict %d, want at least 1, or -1 for as many as there is room for", *o.Predict).At("options")
	default:
		s.MaxTokens = o.Predict
	}
	return s, nil
}

// format returns the format that the answer must follow, from "json" or a JSON schema; nil for any
// text.
func format(raw json.RawMessage) (*chat.Format, error) {
	switch {
	case wire.IsNull(raw) || string(raw) == `""`:
		return nil, nil
	case string(raw) == `"json"`:
		return chat.JSON(), nil
	case raw[0] != '{':
		return nil, engine.Errorf(engine.Invalid, "format %.100s, want \"json\" or a JSON schema", raw).At("format")
	}
	f, err := chat.SchemaFormat(raw, false)
	if err != nil {
		return nil, engine.AsError(err).At("format")
	}
	return f, nil
}

// think returns the template's variables for reasoning: true, false, or an effort.
func think(raw json.RawMessage) (map[string]any, error) {
	switch string(raw) {
	case "", "null":
		return nil, nil
	case "true", "false":
		return map[string]any{"enable_thinking": string(raw) == "true"}, nil
	case `"low"`, `"medium"`, `"high"`:
		return map[string]any{"enable_thinking": true, "reasoning_effort": string(raw[1 : len(raw)-1])}, nil
	}
	return nil, engine.Errorf(engine.Invalid, "think %.50s, want true, false, low, medium or high", raw).At("think")
}

// bound limits a text to num_ctx, if that is less than the model's context.
func (o *options) bound(g *engine.Generator, j *chat.Job) error {
	if o.Context == nil {
		return nil
	}
	n, err := j.PromptTokens(g)
	if err != nil {
		return err
	}
	if n >= *o.Context {
		return engine.Errorf(engine.TooLong, "too many tokens: a prompt of %d, and num_ctx is %d", n, *o.Context).At("options")
	}
	j.Options.MaxTokens = min(j.Options.MaxTokens, *o.Context-n)
	return nil
}
