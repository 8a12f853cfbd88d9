package generation_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestSamplingBorders has probabilities that meet a setting exactly: as in transformers, the tokens
// that reach top-p are enough, and of equals the last; those as likely as min-p says are kept, and
// so are those equal to the last that top-k or typical-p keeps.
func TestSamplingBorders(t *testing.T) {
	e := math.Exp(-1) // the second token of steep, if the first has 1
	flat, steep := fixed{0, 0, 0, 0}, fixed{0, -1, -2, -3}
	for name, c := range map[string]struct {
		d    fixed
		s    generation.SamplerConfig
		want []int
	}{
		"top-p, half of four":     {flat, generation.SamplerConfig{Sampling: generation.Sampling{TopP: 0.5}}, []int{2, 3}},
		"top-p, three of four":    {flat, generation.SamplerConfig{Sampling: generation.Sampling{TopP: 0.75}}, []int{1, 2, 3}},
		"top-p, just above half":  {flat, generation.SamplerConfig{Sampling: generation.Sampling{TopP: 0.50001}}, []int{1, 2, 3}},
		"typical-p, all as close": {flat, generation.SamplerConfig{Sampling: generation.Sampling{TypicalP: 0.5}}, []int{0, 1, 2, 3}},
		"min-p of one":            {flat, generation.SamplerConfig{Sampling: generation.Sampling{MinP: 1}}, []int{0, 1, 2, 3}},
		"min-p of the second":     {steep, generation.SamplerConfig{Sampling: generation.Sampling{MinP: e}}, []int{0, 1}},
		"min-p just above":        {steep, generation.SamplerConfig{Sampling: generation.Sampling{MinP: math.Nextafter(e, 1)}}, []int{0}},
		"top-k of two":            {steep, generation.SamplerConfig{Sampling: generation.Sampling{TopK: 2}}, []int{0, 1}},
		"top-k of equals":         {flat, generation.SamplerConfig{Sampling: generation.Sampling{TopK: 2}}, []int{0, 1, 2, 3}},
		"top-k of all":            {flat, generation.SamplerConfig{Sampling: generation.Sampling{TopK: 4}}, []int{0, 1, 2, 3}},
	} {
		c.s.Temperature, c.s.Seed = 1, 5
		tokens := tftest.Must(generation.Collect(generation.Generate(t.Context(), c.d, []int{0}, c.s, generation.Limits{MaxTokens: 300})))(t)
		slices.Sort(tokens)
		if got := slices.Compact(tokens); !slices.Equal(got, c.want) {
			t.Errorf("%s: draws %v, want %v", name, got, c.want)
		}
	}
}

// TestGreedyTies: without sampling, the first of the largest logits is chosen, wherever the largest
// are.
func TestGreedyTies(t *testing.T) {
	for _, n := range []int{2, 4, 17, 300} {
		for first := range n {
			logits := make(fixed, n)
			for i := first; i < n; i += 1 + first%3 {
				logits[i] = 9
			}
			if got := tftest.Must(generation.Collect(generation.Generate(t.Context(), logits, []int{0}, generation.SamplerConfig{}, generation.Limits{MaxTokens: 1})))(t); !slices.Equal(got, []int{first}) {
				t.Fatalf("%d logits, the first of the largest is %d: %v", n, first, got)
			}
		}
	}
}

// TestFilters compares the tokens that are left with those that transformers leaves, as
// scripts/configs/filters.py has recorded them. Many logits are equal.
func TestFilters(t *testing.T) {
	var cases [][]json.RawMessage
	tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile("testdata/filters.json"))(t), &cases))
	for _, c := range cases {
		var logits []float32
		var s generation.SamplerConfig
		var want, got []int
		for i, to := range []any{&logits, &s.Temperature, &s.TopK, &s.TopP, &s.MinP, &s.TypicalP, &want} {
			tftest.NoError(t, json.Unmarshal(c[i], to))
		}
		s.Vocab = len(logits)
		for _, x := range tftest.Must(sampler(t, s).Distribution(nil, logits))(t) {
			got = append(got, x.Token)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v are left, want %v", c[:6], got, want)
		}
	}
}

// TestMinNewTokens has the most likely token end a text: none before there are so many.
func TestMinNewTokens(t *testing.T) {
	for least := range 4 {
		rules := generation.Rules{MinNewTokens: least, EOS: []int{0}}
		got := tftest.Must(generation.Collect(generation.Generate(t.Context(), fixed{4, 1, 3}, []int{1, 1}, generation.SamplerConfig{Rules: &rules}, generation.Limits{MaxTokens: 9, Stop: []int{0}})))(t)
		if len(got) != least {
			t.Errorf("MinNewTokens %d: %v", least, got)
		}
	}
}

// TestBeamStops has two tokens that end a hypothesis and are the likeliest after each of two beams:
// of what follows them, as many as the width go on.
func TestBeamStops(t *testing.T) {
	step := []float32{2, 2, 1, 0.5} // 0 and 1 end
	d := &scripted{vocab: 4}
	for range 3 {
		d.steps = append(d.steps, slices.Concat(step, step))
	}
	c := generation.BeamConfig{Width: 2, MaxTokens: 3, Stop: []int{0, 1}, LengthPenalty: 9} // the longer, the better
	got := tftest.Must(generation.Beam(t.Context(), d, []int{3}, c))(t)
	if len(d.steps) != 0 {
		t.Errorf("%d steps are left: %+v", len(d.steps), got)
	}
	for _, h := range got {
		if len(h.Tokens) != 2 || !h.Stopped { // of the last step, an end is likeliest
			t.Errorf("hypothesis %+v, want two tokens and an end", h)
		}
	}
}
