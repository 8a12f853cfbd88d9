package generation_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestRules chooses greedily from the same logits at each step. Package text compares each rule
// with transformers.
func TestRules(t *testing.T) {
	logits := fixed{4, 1, 3, 2}
	for name, c := range map[string]struct {
		rules generation.Rules
		want  []int
	}{
		"none":                           {generation.Rules{}, []int{0, 0, 0}},
		"penalty":                        {generation.Rules{RepetitionPenalty: 3}, []int{0, 2, 3}},
		"ngram":                          {generation.Rules{NoRepeatNgram: 1}, []int{0, 2, 3}},
		"ngrams":                         {generation.Rules{NoRepeatNgram: 2}, []int{0, 0, 2}},
		"prompt":                         {generation.Rules{NoRepeatNgram: 1, SequenceBias: []generation.SequenceBias{{Tokens: []int{1}, Bias: 9}}}, []int{0, 2, 3}},
		"bad word":                       {generation.Rules{BadWords: [][]int{{0, 0}}}, []int{0, 2, 0}},
		"eos":                            {generation.Rules{BadWords: [][]int{{0}}, EOS: []int{0}, MinNewTokens: 2}, []int{2, 2, 0}},
		"forced":                         {generation.Rules{ForcedBOS: []int{1}, ForcedEOS: []int{3}}, []int{1, 0, 3}},
		"begin":                          {generation.Rules{ForcedBOS: []int{1}, BeginSuppressTokens: []int{0, 9}}, []int{1, 2, 0}},
		"beyond":                         {generation.Rules{SuppressTokens: []int{0, -1, 99}, Encoder: []int{99}, EncoderRepetitionPenalty: 2}, []int{2, 2, 2}},
		"bias":                           {generation.Rules{SequenceBias: []generation.SequenceBias{{Tokens: []int{1, 3}, Bias: 9}, {Tokens: []int{0}, Bias: -1.5}}}, []int{3, 2, 2}},
		"decay":                          {generation.Rules{EOS: []int{1}, ExponentialDecay: 3}, []int{0, 0, 1}},
		"decay of one token named twice": {generation.Rules{EOS: []int{1, 1}, ExponentialDecay: 3}, []int{0, 0, 1}},
		"no end":                         {generation.Rules{EOS: []int{1}, ExponentialDecay: 3, MinNewTokens: 3}, []int{0, 0, 0}},
	} {
		c.rules.Renormalize = true // which changes no choice
		got := tftest.Must(generation.Collect(generation.Generate(t.Context(), logits, []int{1}, generation.SamplerConfig{Rules: &c.rules}, generation.Limits{MaxTokens: 3})))(t)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		rules generation.Rules
		want  error
	}{
		"penalty": {generation.Rules{RepetitionPenalty: math.NaN()}, fault.ErrConfig}, "negative": {generation.Rules{EncoderRepetitionPenalty: -1}, fault.ErrConfig}, "decay": {generation.Rules{ExponentialDecay: math.Inf(1)}, fault.ErrConfig},
		"ngram": {generation.Rules{NoRepeatNgram: -1}, fault.ErrConfig}, "word": {generation.Rules{BadWords: [][]int{{}}}, fault.ErrConfig}, "two": {generation.Rules{ForcedBOS: []int{1, 2}}, fault.ErrConfig},
		"token": {generation.Rules{ForcedEOS: []int{4}}, fault.ErrToken}, "bias": {generation.Rules{SequenceBias: []generation.SequenceBias{{Tokens: []int{-1}}}}, fault.ErrToken},
	} {
		_, err := generation.Collect(generation.Generate(t.Context(), logits, []int{1}, generation.SamplerConfig{Rules: &c.rules}, generation.Limits{MaxTokens: 3}))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if _, err := generation.Beam(t.Context(), logits, []int{1}, generation.BeamConfig{Width: 1, MaxTokens: 3, Rules: &c.rules}); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v of a search, want %v", name, err, c.want)
		}
	}
}

// TestRemoveInvalid: a score that is not a number counts as 0, and infinite ones as the largest
// numbers.
func TestRemoveInvalid(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		logits fixed
		rules  generation.Rules
		want   int
	}{
		{fixed{nan, 0.5, -1}, generation.Rules{}, 1},
		{fixed{nan, -0.5, -1}, generation.Rules{}, 0},
		{fixed{3, inf, -inf}, generation.Rules{}, 1},
		{fixed{-inf, -inf, nan}, generation.Rules{SuppressTokens: []int{2}}, 0},
	} {
		c.rules.RemoveInvalid = true
		got := tftest.Must(generation.Collect(generation.Generate(t.Context(), c.logits, []int{1}, generation.SamplerConfig{Rules: &c.rules}, generation.Limits{MaxTokens: 1})))(t)
		if !slices.Equal(got, []int{c.want}) {
			t.Errorf("%v: %v, want %v", c.logits, got, c.want)
		}
	}
}
