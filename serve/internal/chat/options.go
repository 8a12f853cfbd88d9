// How tokens are chosen, as requests say.

package chat

import (
	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text"
)

// Choice has the options of sampling that several protocols have under the same names, for the structs of their requests. A field that is
// nil keeps the value of the folder's generation_config.json.
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
	o.TopK = max(o.TopK, 0) // -1 means all tokens too
	o.FrequencyPenalty, o.PresencePenalty = c.FrequencyPenalty, c.PresencePenalty
}

// Sampling has all that requests may say about the choice of tokens. A field that is nil keeps the value of the folder's
// generation_config.json.
type Sampling struct {
	Choice
	MaxTokens   *int
	Repetition  *float64
	Bias        map[int]float64
	Stop        []string
	LogProbs    bool
	TopLogProbs int
}

// longest is the most tokens of a text if the request, the folder and the model have no limit.
const longest = 1 << 16

// zeroSeed stands for the seed 0, which means no seed in package text.
const zeroSeed = 0x9e3779b97f4a7c15

// Options returns a function that gives the options of each of several texts, for Conversation.Jobs.
func (s *Sampling) Options(g *engine.Generator) (func(i int) text.GenerateOptions, error) {
	if e := s.Choice.Check(); e != nil {
		return nil, engine.AsError(e).At(e.Field)
	}
	base, err := g.Defaults()
	if err != nil {
		return nil, err
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
	base.LogProbs, base.TopLogProbs = s.LogProbs, s.TopLogProbs
	base.LogitBias = s.Bias
	return func(i int) text.GenerateOptions {
		o := base
		if s.Seed != nil {
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
