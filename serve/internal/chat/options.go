// How tokens are chosen, from what requests say.

package chat

import (
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text"
)

// Sampling is what requests may say about the choice of tokens. What is nil is as the folder's generation_config.json
// has it.
type Sampling struct {
	MaxTokens, TopK                               *int
	Temperature, TopP, MinP, TypicalP, Repetition *float64
	FrequencyPenalty, PresencePenalty             float64 // of what has been generated, as OpenAI documents them
	Bias                                          map[int]float32
	Seed                                          *int64
	Stop                                          []string
	LogProbs                                      bool
	TopLogProbs                                   int
}

// longest is the most tokens of a text where neither the request, nor the folder, nor the model has a limit.
const longest = 1 << 16

// zeroSeed stands for the seed 0, which is none in package text.
const zeroSeed = 0x9e3779b97f4a7c15

// Options is a function that gives the options of each of several texts, for Conversation.Jobs.
func (s *Sampling) Options(g *engine.Generator) (func(i int) text.GenerateOptions, error) {
	base, err := g.Defaults()
	if err != nil {
		return nil, err
	}
	for id := range s.Bias {
		if id < 0 || id >= g.Tokenizer().Size() {
			return nil, engine.Errorf(engine.Invalid, "token %d is not in the model's vocabulary of %d", id, g.Tokenizer().Size()).At("logit_bias")
		}
	}
	for _, x := range []struct{ from, to *float64 }{
		{s.Temperature, &base.Temperature}, {s.TopP, &base.TopP}, {s.MinP, &base.MinP}, {s.TypicalP, &base.TypicalP}, {s.Repetition, &base.RepetitionPenalty},
	} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
	if s.TopK != nil {
		base.TopK = max(*s.TopK, 0) // -1 is none too
	}
	if s.Temperature != nil && *s.Temperature > 0 || base.Beams > 1 && (s.LogProbs || s.hooked()) {
		base.Beams = 0
	}
	if s.MaxTokens != nil {
		base.MaxTokens = *s.MaxTokens
	}
	if base.MaxTokens == 0 {
		base.MaxTokens = longest
	}
	if s.Stop != nil {
		base.Stop = s.Stop
	}
	base.LogProbs, base.TopLogProbs = s.LogProbs, s.TopLogProbs
	return func(i int) text.GenerateOptions {
		o := base
		if s.Seed != nil {
			if o.Seed = uint64(*s.Seed) + uint64(i); o.Seed == 0 {
				o.Seed = zeroSeed
			}
		}
		if s.hooked() {
			o.Hook = s.hook()
		}
		return o
	}, nil
}

func (s *Sampling) hooked() bool {
	return s.FrequencyPenalty != 0 || s.PresencePenalty != 0 || len(s.Bias) > 0
}

// hook is the penalties and the bias, for one text.
func (s *Sampling) hook() generation.LogitHook {
	prompt := -1 // its tokens, known at the first call
	return func(logits []float32, tokens []int) {
		if prompt < 0 {
			prompt = len(tokens)
		}
		for id, b := range s.Bias {
			if id < len(logits) {
				logits[id] += b
			}
		}
		if s.FrequencyPenalty == 0 && s.PresencePenalty == 0 {
			return
		}
		counts := map[int]int{}
		for _, id := range tokens[min(prompt, len(tokens)):] {
			counts[id]++
		}
		for id, n := range counts {
			logits[id] -= float32(s.FrequencyPenalty*float64(n) + s.PresencePenalty)
		}
	}
}
