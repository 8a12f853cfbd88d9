package generation_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestWholeSoft: where the tokens of an image see each other, steps do not divide it. Answers are
// the same as with prompts read in one step, also where texts share histories.
func TestWholeSoft(t *testing.T) {
	m := tftest.Must(models.Open("../models/testdata/images/gemma3", models.Options{Images: true}))(t)
	dim, few := m.LM.Dim(), []int{3, 4, 5}
	image := func(seed uint64, rows int) []float32 { return tftest.Normal(seed, rows*dim) }
	var requests []generation.Request
	add := func(parts ...any) { // tokens, and the vectors of an image
		var r generation.Request
		for _, p := range parts {
			switch p := p.(type) {
			case []int:
				r.Prompt = append(r.Prompt, p...)
			case []float32:
				r.Soft = append(r.Soft, models.Soft{At: len(r.Prompt), X: p})
				r.Prompt = append(r.Prompt, slices.Repeat([]int{m.Images.Token}, len(p)/dim)...)
			}
		}
		r.MaxTokens = 6
		requests = append(requests, r)
	}
	a, b := image(1, 20), image(2, 9)
	text := slices.Repeat(few, 6)
	add(text, a)                // ends with an image, of which a shared history would lack the last token
	add(text, a)                // the same
	add(text, a, few, b)        // shares the whole of it
	add(text, b, text)          // another image at the same place
	add(a, b, few)              // begins with images side by side
	add(text, text, b, text, a) // images far apart
	want := make([][]int, len(requests))
	for i, r := range requests {
		s := schedule(t, generation.SchedulerConfig{Model: m.LM, NoPrefixes: true, Draft: -1})
		var err error
		want[i], _, err = collect(t.Context(), s, r)
		tftest.NoError(t, err)
	}
	for i, c := range []generation.SchedulerConfig{{}, {StepTokens: 4}, {StepTokens: 13, Streams: 3}, {StepTokens: 30, Stall: 20, Threads: 2}} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c.Model = m.LM
			s := schedule(t, c)
			for round := range 2 {
				got, errs := make([][]int, len(requests)), make([]error, len(requests))
				var group sync.WaitGroup
				for i, r := range requests {
					group.Go(func() { got[i], _, errs[i] = collect(t.Context(), s, r) })
				}
				group.Wait()
				for i := range requests {
					if errs[i] != nil || !slices.Equal(got[i], want[i]) {
						t.Errorf("round %d: prompt %d: %v, %v, want %v", round, i, got[i], errs[i], want[i])
					}
				}
			}
			if s.Stats().SharedTokens == 0 {
				t.Error("no history was shared")
			}
		})
	}
}

// TestSoftFirst: the first step of a scheduler may be an image and nothing else.
func TestSoftFirst(t *testing.T) {
	m := tftest.Must(models.Open("../models/testdata/images/gemma3", models.Options{Images: true}))(t)
	const rows = 20
	prompt := append(slices.Repeat([]int{m.Images.Token}, rows), 3, 4, 5)
	r := generation.Request{Prompt: prompt, Soft: []models.Soft{{X: tftest.Normal(1, rows*m.LM.Dim())}}}
	r.MaxTokens = 6
	var want []int
	for i, tokens := range []int{0, 4, rows} { // the first has the whole prompt in a step
		got, _, err := collect(t.Context(), schedule(t, generation.SchedulerConfig{Model: m.LM, StepTokens: tokens, Draft: -1}), r)
		tftest.NoError(t, err)
		if i == 0 {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("steps of %d tokens: %v, want %v", tokens, got, want)
		}
	}
}
