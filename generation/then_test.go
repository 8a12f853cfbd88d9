package generation_test

import (
	"slices"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestThen: the function of the rules gets the scores that the other rules left, and the tokens
// with the prompt, from a sampler and from a search; what it forbids is not chosen.
func TestThen(t *testing.T) {
	then := func(scores []float32, tokens []int) {
		if scores[1] > -1e30 {
			t.Errorf("after %v: the score of a suppressed token is %g", tokens, scores[1])
		}
		if tokens[0] != 9 {
			t.Errorf("tokens %v, want those of the prompt first", tokens)
		}
		if len(tokens) == 2 { // the second one
			scores[2] = -1e38
		}
	}
	logits := []float32{0, 5, 4, 3}
	rules := &generation.Rules{SuppressTokens: []int{1}, Then: then}
	s := tftest.Must(generation.NewSampler(generation.SamplerConfig{Vocab: 4, Prompt: []int{9}, Rules: rules}))(t)
	var got []int
	for range 3 {
		got = append(got, tftest.Must(s.Choose(logits))(t).Token)
	}
	if want := []int{2, 3, 2}; !slices.Equal(got, want) {
		t.Errorf("sampler: %v, want %v", got, want)
	}
	d := &scripted{vocab: 4, steps: [][]float32{logits, logits, logits}}
	found := tftest.Must(generation.Beam(t.Context(), d, []int{9}, generation.BeamConfig{Width: 1, MaxTokens: 3, Rules: rules}))(t)
	if want := []int{2, 3, 2}; !slices.Equal(found[0].Tokens, want) {
		t.Errorf("search: %v, want %v", found[0].Tokens, want)
	}
}
