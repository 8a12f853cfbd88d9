// This file has the fields that requests for chats and for completions share: OpenAI's fields, and
// additional ones of local servers.

package openai

import (
	"encoding/json"
	"strconv"

	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

// most is the largest n, as in OpenAI's protocol.
const most = 128

// common has the fields of both kinds of requests that have an effect.
type common struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions *struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	N         *int               `json:"n"`
	Stop      wire.Stops         `json:"stop"`
	MaxTokens *int               `json:"max_tokens"` // -1, of llama.cpp: as many as there is room for
	LogitBias map[string]float64 `json:"logit_bias"`
	chat.Choice
	chat.Ends

	Repetition *float64 `json:"repetition_penalty"`
	Repeat     *float64 `json:"repeat_penalty"` // llama.cpp's name of the one above
	RepeatLast *int     `json:"repeat_last_n"`
	Predict    *int     `json:"n_predict"` // llama.cpp's name of max_tokens; -1: up to the limit of the context
	constraint
}

// neutral returns fields of OpenAI, vLLM and llama.cpp in both kinds of requests that have no
// effect on answers.
func neutral(further wire.Neutral) wire.Neutral {
	out := wire.Neutral{
		"user": nil, "metadata": nil, "prompt_cache_key": nil, "prompt_cache_retention": nil, "safety_identifier": nil, "prediction": nil,
		"store": {"false"}, "service_tier": {`"auto"`, `"default"`, `"flex"`, `"priority"`}, "stream_options.include_obfuscation": {"false"},

		"request_id": nil, "priority": nil, "cache_salt": nil, "guided_decoding_backend": nil, "stream_options.continuous_usage_stats": {"false"},
		"allowed_token_ids": {"[]"}, "length_penalty": {"1"}, "truncate_prompt_tokens": {"-1"}, "prompt_logprobs": {"0"},
		"use_beam_search": {"false"}, "skip_special_tokens": {"true"}, "spaces_between_special_tokens": {"true", "false"},
		"return_tokens_as_token_ids": {"false"}, "return_token_ids": {"false"}, "logits_processors": {"[]"},

		"cache_prompt": nil, "keep_alive": nil, "id_slot": nil, "n_keep": nil, "timings_per_token": nil, "return_progress": nil, "t_max_predict_ms": {"0", "-1"},
		"n_probs": {"0"}, "min_keep": {"0"}, "n_indent": {"0"}, "top_n_sigma": {"-1", "0"}, "tfs_z": {"1"}, "penalize_nl": {"false"}, "lora": {"[]"},
		"mirostat": {"0"}, "mirostat_tau": nil, "mirostat_eta": nil, "dynatemp_range": {"0"}, "dynatemp_exponent": nil,
		"xtc_probability": {"0"}, "xtc_threshold": nil, "dry_multiplier": {"0"}, "dry_base": nil, "dry_allowed_length": nil, "dry_penalty_last_n": nil,
		"dry_sequence_breakers": nil, "post_sampling_probs": {"false"}, "backend_sampling": {"false"}, "return_tokens": {"false"},
	}
	for name, values := range further {
		out[name] = values
	}
	return out
}

// sampling returns the options for choosing tokens, except log probabilities.
func (in *common) sampling() (s chat.Sampling, err error) {
	for _, x := range []struct {
		name        string
		has         *float64
		least, most float64
	}{
		{"temperature", in.Temperature, 0, 2}, {"frequency_penalty", &in.FrequencyPenalty, -2, 2}, {"presence_penalty", &in.PresencePenalty, -2, 2},
		{"repetition_penalty", in.Repetition, 0.01, 100}, {"repeat_penalty", in.Repeat, 0.01, 100},
	} {
		if x.has != nil && !(*x.has >= x.least && *x.has <= x.most) {
			return s, engine.Errorf(engine.Invalid, "%s %g, want %g to %g", x.name, *x.has, x.least, x.most).At(x.name)
		}
	}
	switch {
	case in.N != nil && (*in.N < 1 || *in.N > most):
		return s, engine.Errorf(engine.Invalid, "n %d, want 1 to %d", *in.N, most).At("n")
	case in.MaxTokens != nil && *in.MaxTokens < 1 && *in.MaxTokens != -1:
		return s, engine.Errorf(engine.Invalid, "max_tokens %d, want at least 1, or -1 for as many as there is room for", *in.MaxTokens).At("max_tokens")
	case in.Predict != nil && *in.Predict < 1 && *in.Predict != -1:
		return s, engine.Errorf(engine.Invalid, "n_predict %d, want at least 1, or -1 for as many as there is room for", *in.Predict).At("n_predict")
	case in.Predict != nil && in.MaxTokens != nil && *in.Predict != *in.MaxTokens:
		return s, engine.Errorf(engine.Invalid, "max_tokens and n_predict differ").At("n_predict")
	case in.Repetition != nil && in.Repeat != nil && *in.Repetition != *in.Repeat:
		return s, engine.Errorf(engine.Invalid, "repetition_penalty and repeat_penalty differ").At("repeat_penalty")
	case in.StreamOptions != nil && !in.Stream:
		return s, engine.Errorf(engine.Invalid, "stream_options without stream").At("stream_options")
	}
	s = chat.Sampling{Choice: in.Choice, Usual: overrides.OpenAI, MaxTokens: in.MaxTokens, Repetition: in.Repetition, Stop: in.Stop, Ends: in.Ends}
	if in.Repeat != nil {
		s.Repetition = in.Repeat
	}
	if n := in.RepeatLast; n != nil && *n != -1 && s.Repetition != nil && *s.Repetition != 1 {
		return s, engine.Errorf(engine.Invalid, "repeat_last_n %d is not supported here with a penalty, which counts all tokens: want -1", *n).At("repeat_last_n")
	}
	if in.Predict != nil {
		s.MaxTokens = in.Predict
	}
	if in.endless() {
		s.MaxTokens = nil
	}
	s.Bias, err = in.bias()
	return s, err
}

// endless reports whether the request asks for tokens up to the limit of the context.
func (in *common) endless() bool {
	return in.Predict != nil && *in.Predict == -1 || in.MaxTokens != nil && *in.MaxTokens == -1
}

// following returns the format that the answer must follow, nil for any text, and the name of the
// field that states it.
func (in *common) following() (f *chat.Format, field string, err error) {
	if f, field, err = in.constraint.format(); err == nil && f != nil {
		err = in.free(field)
	}
	return f, field, err
}

// free returns an error for fields about the end of a text that another field already determines.
func (in *common) free(field string) error {
	if name := in.Ends.Given(); name != "" {
		return engine.Errorf(engine.Invalid, "%s and %s together are not supported here: the format says where the text ends", name, field).At(name)
	}
	return nil
}

// bias returns the numbers to add to the logits of tokens.
func (in *common) bias() (map[int]float64, error) {
	out := make(map[int]float64, len(in.LogitBias))
	for name, b := range in.LogitBias {
		id, err := strconv.Atoi(name)
		if err != nil || !(b >= -100 && b <= 100) {
			return nil, engine.Errorf(engine.Invalid, "logit_bias %.30q: %g, want tokens' ids with numbers from -100 to 100", name, b).At("logit_bias")
		}
		out[id] = b
	}
	return out, nil
}

func (in *common) count() int {
	if in.N == nil {
		return 1
	}
	return *in.N
}

func (in *common) usageAsked() bool { return in.StreamOptions != nil && in.StreamOptions.Usage }

// flag returns the value of a field that is true, false or absent.
func flag(x *bool, without bool) bool {
	if x == nil {
		return without
	}
	return *x
}

// text returns the value of a field if it is a string.
func textOf(raw json.RawMessage) (s string, ok bool) {
	return s, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}
