// This file converts the sampling options of requests.

package chat

import (
	"slices"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text"
)

// Choice has the options of sampling that several protocols have under the same names, for the
// structs of their requests. A field that is nil keeps the value of the folder's
// generation_config.json.
type Choice struct {
	overrides.Sampling
	// The penalties count generated tokens, not those of the prompt, as OpenAI documents them.
	FrequencyPenalty float64 `json:"frequency_penalty"`
	PresencePenalty  float64 `json:"presence_penalty"`
	Seed             *int64  `json:"seed"`
}

// Apply sets the options of a text, except for its seed.
func (c *Choice) Apply(o *text.GenerateOptions) {
	c.Sampling.Apply(&o.Sampling)
	o.TopK = max(o.TopK, 0) // -1 also means all tokens
	o.FrequencyPenalty, o.PresencePenalty = c.FrequencyPenalty, c.PresencePenalty
}

// Sampling has all options of requests for the choice of tokens. A field that is nil keeps the
// value of the folder's generation_config.json.
type Sampling struct {
	Choice
	Usual      generation.Sampling // the protocol's defaults, if the model's files state none
	MaxTokens  *int
	Repetition *float64
	Bias       map[int]float64
	Stop       []string
	Ends
	LogProbs    bool
	TopLogProbs int
}

// Ends has vLLM's fields for the end of a text, and for words that it must not have.
type Ends struct {
	MinTokens  int      `json:"min_tokens"`
	IgnoreEOS  bool     `json:"ignore_eos"`
	StopTokens []int    `json:"stop_token_ids"`
	KeepStop   bool     `json:"include_stop_str_in_output"`
	BadWords   []string `json:"bad_words"`
}

// check returns an error for numbers that are invalid for a model with a number of tokens.
func (e *Ends) check(tokens int, o *text.GenerateOptions) error {
	if e.MinTokens < 0 || e.MinTokens > o.MaxTokens {
		return engine.Errorf(engine.Invalid, "min_tokens %d, want 0 to max_tokens, which is %d", e.MinTokens, o.MaxTokens).At("min_tokens")
	}
	for _, id := range e.StopTokens {
		if id < 0 || id >= tokens {
			return engine.Errorf(engine.Invalid, "token %d is not in the model's vocabulary of %d", id, tokens).At("stop_token_ids")
		}
	}
	if slices.Contains(e.BadWords, "") {
		return engine.Errorf(engine.Invalid, "bad_words has an empty string").At("bad_words")
	}
	return nil
}

// Given returns the name of a field that contradicts a format, or "".
func (e *Ends) Given() string {
	switch {
	case e.MinTokens > 0:
		return "min_tokens"
	case e.IgnoreEOS:
		return "ignore_eos"
	case len(e.StopTokens) > 0:
		return "stop_token_ids"
	}
	return ""
}

// longest is the largest number of tokens of a text if the request, the folder and the model have
// no limit.
const longest = 1 << 16

// zeroSeed stands for the seed 0, which means no seed in package text.
const zeroSeed = 0x9e3779b97f4a7c15

// randomSeed requests a seed that is drawn at random, as in llama.cpp, vLLM and Ollama.
const randomSeed = -1

// Options returns a function that sets the options of each of several texts, for Conversation.Jobs.
func (s *Sampling) Options(g *engine.Generator) (func(i int) text.GenerateOptions, error) {
	if e := s.Choice.Check(); e != nil {
		return nil, engine.AsError(e).At(e.Field)
	}
	base, err := g.Defaults()
	if err != nil {
		return nil, err
	}
	if g.SamplingFrom() == "" {
		base.Sampling = s.Usual
	}
	for id := range s.Bias {
		if id < 0 || id >= g.Tokenizer().Size() {
			return nil, engine.Errorf(engine.Invalid, "token %d is not in the model's vocabulary of %d", id, g.Tokenizer().Size()).At("logit_bias")
		}
	}
	s.Apply(&base)
	if s.Repetition != nil {
		base.RepetitionPenalty = *s.Repetition
	}
	if s.Temperature != nil && *s.Temperature > 0 || base.Beams > 1 && s.LogProbs {
		base.Beams = 0
	}
	most := or(g.MostTokens(), longest)
	if s.MaxTokens != nil {
		if base.MaxTokens = *s.MaxTokens; base.MaxTokens > most && g.MostTokens() > 0 {
			return nil, engine.Errorf(engine.Invalid, "%d tokens, but this server generates at most %d", base.MaxTokens, most).At("max_tokens")
		}
	} else if base.MaxTokens == 0 || base.MaxTokens > most {
		base.MaxTokens = most
	}
	if s.Stop != nil {
		base.Stop = s.Stop
	}
	if err := s.Ends.check(g.Tokenizer().Size(), &base); err != nil {
		return nil, err
	}
	base.MinTokens, base.IgnoreEOS, base.StopTokens, base.KeepStop, base.BadWords = s.MinTokens, s.IgnoreEOS, s.StopTokens, s.KeepStop, s.BadWords
	base.LogProbs, base.TopLogProbs = s.LogProbs, s.TopLogProbs
	base.LogitBias = s.Bias
	return func(i int) text.GenerateOptions {
		o := base
		if s.Seed != nil && *s.Seed != randomSeed {
			if o.Seed = uint64(*s.Seed) + uint64(i); o.Seed == 0 {
				o.Seed = zeroSeed
			}
		}
		return o
	}, nil
}

func or(n, without int) int {
	if n == 0 {
		return without
	}
	return n
}
