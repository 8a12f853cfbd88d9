package text

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestEmbedEach wants each vector of Embed once, with what Embed counts.
func TestEmbedEach(t *testing.T) {
	t.Parallel()
	texts := make([]string, 700) // several pages
	for i := range texts {
		texts[i] = wordText(i * i % 23)
	}
	for threads := 1; threads <= 3; threads++ {
		e := tftest.Must(OpenEmbedder("testdata/embed", Options{Threads: threads, BatchTokens: 256, MaxLength: 16}))(t)
		o := EmbedOptions{Scale: ScaleUnit}
		want := tftest.Must(e.Embed(t.Context(), Texts(texts...), o))(t)
		got, cut := make([][]float32, len(texts)), 0
		for v, err := range e.EmbedEach(t.Context(), Texts(texts...), o) {
			if err != nil {
				t.Fatal(err)
			}
			if got[v.Number] != nil || v.Tokens != want.Tokens[v.Number] || v.Cut != want.Cut[v.Number] {
				t.Fatalf("text %d again, or %d tokens, want %d, or cut %v", v.Number, v.Tokens, want.Tokens[v.Number], v.Cut)
			}
			got[v.Number] = v.Vector
			if v.Cut {
				cut++
			}
		}
		if cut == 0 || cut != want.CutInputs() {
			t.Errorf("%d texts were cut, want %d and some", cut, want.CutInputs())
		}
		sameBits(t, "one by one", got, want.Outputs)
		e.idle(t)
	}
}

// TestEmbedEachEnds leaves the loop, or has its context end, after some vectors, which are valid.
func TestEmbedEachEnds(t *testing.T) {
	t.Parallel()
	texts := make([]string, 3000)
	for i := range texts {
		texts[i] = wordText(20)
	}
	e := tftest.Must(OpenEmbedder("testdata/embed", Options{Threads: 2, BatchTokens: 64}))(t)
	want := tftest.Must(e.Embed(t.Context(), Texts(texts[0]), EmbedOptions{}))(t).Outputs[0]
	for v, err := range e.EmbedEach(t.Context(), Texts(texts...), EmbedOptions{}) {
		if err != nil || !slices.Equal(v.Vector, want) {
			t.Errorf("%v, or other bits", err)
		}
		break
	}
	e.idle(t)
	if n := e.Totals().Inputs; n != 1 { // of the call before
		t.Errorf("%d texts were computed to their end after the loop was left", n)
	}

	why := errors.New("the caller has enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	done, last := 0, error(nil)
	for v, err := range e.EmbedEach(ctx, Texts(texts...), EmbedOptions{}) {
		if last = err; err != nil {
			continue
		}
		if !slices.Equal(v.Vector, want) {
			t.Error("other bits")
		}
		if done++; done == 1 {
			cancel(why)
		}
	}
	if !errors.Is(last, why) || done == len(texts) {
		t.Errorf("%d of %d vectors, then %v", done, len(texts), last)
	}
	e.idle(t)

	for name, c := range map[string]struct {
		inputs []Input
		o      EmbedOptions
		want   error
	}{
		"no such token":  {[]Input{{IDs: []int{-1}}}, EmbedOptions{}, fault.ErrInput},
		"no such prompt": {Texts("a"), EmbedOptions{Prompt: "none"}, fault.ErrInput},
		"no such size":   {Texts("a"), EmbedOptions{Dim: -1}, fault.ErrInput},
		"no inputs":      {nil, EmbedOptions{}, nil},
	} {
		n, last := 0, error(nil)
		for _, err := range e.EmbedEach(t.Context(), c.inputs, c.o) {
			n, last = n+1, err
		}
		if !errors.Is(last, c.want) || c.want == nil && n > 0 || n > 1 {
			t.Errorf("%s: %d times, error %v, want %v", name, n, last, c.want)
		}
	}
}

// TestEmbedEachPanics hands a panic of a thread to the caller.
func TestEmbedEachPanics(t *testing.T) {
	t.Parallel()
	e := tftest.Must(OpenEmbedder("testdata/embed", Options{}))(t)
	o := EmbedOptions{InputOptions: InputOptions{Progress: func(int, int) { panic("of a thread") }}}
	defer func() {
		if got := recover(); got != "of a thread" {
			t.Errorf("panic %v", got)
		}
	}()
	for _, err := range e.EmbedEach(t.Context(), Texts("a"), o) {
		if err != nil {
			t.Errorf("error %v in place of a panic", err)
		}
	}
	t.Error("no panic")
}
