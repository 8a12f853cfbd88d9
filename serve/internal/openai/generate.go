// What requests for chats and for completions have in common.

package openai

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// most bounds n, as OpenAI does.
const most = 128

// common is the fields that both kinds of requests have: first OpenAI's, then those that local servers have added,
// then those that say nothing about the answer, then those that are refused.
type common struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions *struct {
		Usage       bool  `json:"include_usage"`
		Obfuscation *bool `json:"include_obfuscation"`
	} `json:"stream_options"`
	N                *int               `json:"n"`
	Stop             wire.Strings       `json:"stop"`
	Seed             *int64             `json:"seed"`
	MaxTokens        *int               `json:"max_tokens"`
	Temperature      *float64           `json:"temperature"`
	TopP             *float64           `json:"top_p"`
	FrequencyPenalty float64            `json:"frequency_penalty"`
	PresencePenalty  float64            `json:"presence_penalty"`
	LogitBias        map[string]float64 `json:"logit_bias"`

	TopK       *int     `json:"top_k"`
	MinP       *float64 `json:"min_p"`
	TypicalP   *float64 `json:"typical_p"`
	Repetition *float64 `json:"repetition_penalty"`

	User           json.RawMessage `json:"user"`
	Metadata       json.RawMessage `json:"metadata"`
	CacheKey       json.RawMessage `json:"prompt_cache_key"`
	CacheRetention json.RawMessage `json:"prompt_cache_retention"`
	SafetyID       json.RawMessage `json:"safety_identifier"`

	Store bool   `json:"store"`
	Tier  string `json:"service_tier"`
}

// sampling is how tokens are chosen, but for log probabilities.
func (in *common) sampling() (s chat.Sampling, err error) {
	for _, x := range []struct {
		name        string
		has         *float64
		least, most float64
	}{
		{"temperature", in.Temperature, 0, 2}, {"top_p", in.TopP, 0, 1}, {"frequency_penalty", &in.FrequencyPenalty, -2, 2}, {"presence_penalty", &in.PresencePenalty, -2, 2},
		{"min_p", in.MinP, 0, 1}, {"typical_p", in.TypicalP, 0, 1}, {"repetition_penalty", in.Repetition, 0.01, 100},
	} {
		if x.has != nil && !(*x.has >= x.least && *x.has <= x.most) {
			return s, engine.Errorf(engine.Invalid, "%s %g, want %g to %g", x.name, *x.has, x.least, x.most).At(x.name)
		}
	}
	switch {
	case in.N != nil && (*in.N < 1 || *in.N > most):
		return s, engine.Errorf(engine.Invalid, "n %d, want 1 to %d", *in.N, most).At("n")
	case in.MaxTokens != nil && *in.MaxTokens < 1:
		return s, engine.Errorf(engine.Invalid, "%d tokens at most, want at least 1", *in.MaxTokens).At("max_tokens")
	case in.Store:
		return s, engine.Errorf(engine.Invalid, "store is not supported here").At("store")
	case in.Tier != "" && in.Tier != "auto" && in.Tier != "default":
		return s, engine.Errorf(engine.Invalid, "service_tier %.50q, want auto or default", in.Tier).At("service_tier")
	case in.StreamOptions != nil && !in.Stream:
		return s, engine.Errorf(engine.Invalid, "stream_options without stream").At("stream_options")
	case in.StreamOptions != nil && in.StreamOptions.Obfuscation != nil && *in.StreamOptions.Obfuscation:
		return s, engine.Errorf(engine.Invalid, "include_obfuscation is not supported here").At("stream_options")
	}
	for _, stop := range in.Stop {
		if stop == "" {
			return s, engine.Errorf(engine.Invalid, "an empty stop string").At("stop")
		}
	}
	bias := make(map[int]float64, len(in.LogitBias))
	for name, b := range in.LogitBias {
		id, err := strconv.Atoi(name)
		if err != nil || !(b >= -100 && b <= 100) {
			return s, engine.Errorf(engine.Invalid, "logit_bias %.30q: %g, want tokens' ids with numbers from -100 to 100", name, b).At("logit_bias")
		}
		bias[id] = b
	}
	return chat.Sampling{MaxTokens: in.MaxTokens, TopK: in.TopK, Temperature: in.Temperature, TopP: in.TopP, MinP: in.MinP, TypicalP: in.TypicalP, Repetition: in.Repetition,
		FrequencyPenalty: in.FrequencyPenalty, PresencePenalty: in.PresencePenalty, Bias: bias, Seed: in.Seed, Stop: in.Stop}, nil
}

func (in *common) count() int {
	if in.N == nil {
		return 1
	}
	return *in.N
}

func (in *common) usageAsked() bool { return in.StreamOptions != nil && in.StreamOptions.Usage }

// generator is the one that a request names.
func (p protocol) generator(ctx context.Context, model string) (*engine.Generator, error) {
	return chat.Generator(ctx, p.engine, model)
}

// head is what each answer and each chunk of it begins with.
type head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
}

func newHead(prefix, object, model string) head {
	return head{prefix + strings.ToLower(rand.Text()), object, time.Now().Unix(), model}
}

// usage is numbers of tokens as OpenAI counts them.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// add counts a text, and its prompt if it is the first of that.
func (u *usage) add(t text.Usage, first bool) {
	if first {
		u.Prompt += t.Prompt
		u.Details.Cached += t.Shared
	}
	u.Completion += t.Tokens
	u.Total = u.Prompt + u.Completion
}

// finish is why a text ended, nil before.
func finish(f generation.Finish, called bool) *string {
	var s string
	switch {
	case f == generation.FinishNone:
		return nil
	case f == generation.FinishLength:
		s = "length"
	case called:
		s = "tool_calls"
	default:
		s = "stop"
	}
	return &s
}

// streamed sends what happens until it ends. The stream begins with the first event, so that an error before it
// has its status; one after it is sent as an event.
func streamed(c *wire.Call, events func(yield func(chat.Event, error) bool), begin func(s *wire.Stream) error, next func(s *wire.Stream, e chat.Event) error, end func(s *wire.Stream) error) error {
	done := func(s *wire.Stream) error {
		if err := end(s); err != nil {
			return err
		}
		return s.Text("[DONE]")
	}
	fail := func(s *wire.Stream, e *engine.Error) error {
		data, err := ErrorJSON(e)
		if err != nil {
			return err
		}
		return s.Text(string(data))
	}
	return chat.Stream(c, events, chat.Sender{Open: c.Events, Begin: begin, Next: next, End: done, Fail: fail})
}
