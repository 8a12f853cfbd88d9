package text

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
)

const prompt = "the quick brown fox"

// TestPieces: pieces join to the text that Generate gives, with the tokens that Tokens gives, their
// probabilities and what the text took.
func TestPieces(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []GenerateOptions{{MaxTokens: 30, LogProbs: true, TopLogProbs: 2}, {MaxTokens: 30, Sampling: generation.Sampling{Temperature: 1, Seed: 4}}, {MaxTokens: 20, Beams: 3}} {
		want, err := textOf(g.Generate(t.Context(), prompt, o))
		if err != nil {
			t.Fatal(err)
		}
		var tokens []int
		for token, err := range tokensOf(t.Context(), g, prompt, o) {
			if err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, token)
		}
		var b strings.Builder
		var got []int
		var last Piece
		for piece, err := range g.Generate(t.Context(), prompt, o) {
			if err != nil || last.Finish != generation.FinishNone {
				t.Fatalf("%+v, %v after %v", piece, err, last.Finish)
			}
			b.WriteString(piece.Text)
			for _, c := range piece.Tokens {
				got = append(got, c.Token)
				if o.LogProbs != (len(c.Top) == 2) || o.LogProbs && (c.LogProb > 0 || c.Top[0].LogProb < c.Top[1].LogProb || c.Token != c.Top[0].Token) {
					t.Errorf("choice %+v", c)
				}
			}
			last = piece
		}
		u := last.Usage
		if b.String() != want || !slices.Equal(got, tokens) || last.Finish == generation.FinishNone || u.Tokens != len(tokens) || u.Prompt < 1 || u.Shared >= u.Prompt {
			t.Errorf("%+v: %q, %v, %+v, want %q, %v", o, b.String(), got, last, want, tokens)
		}
	}
	for _, o := range []GenerateOptions{{Beams: 2, LogProbs: true}, {Beams: 2, Hook: func([]float32, []int) {}}} {
		for _, err := range g.Generate(t.Context(), prompt, o) {
			if !errors.Is(err, fault.ErrOption) {
				t.Errorf("%+v: %v", o, err)
			}
		}
	}
	const only = 7
	hook := func(logits []float32, _ []int) {
		for i := range logits {
			if i != only {
				logits[i] = float32(math.Inf(-1))
			}
		}
	}
	for token, err := range tokensOf(t.Context(), g, prompt, GenerateOptions{MaxTokens: 3, Hook: hook}) {
		if token != only || err != nil {
			t.Errorf("a hook that leaves one token: %d, %v", token, err)
		}
	}
}

// TestGeneratorOfMany: goroutines that generate with one generator get what each gets alone, and a
// prompt that begins as one before computes the rest.
func TestGeneratorOfMany(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{Threads: 2, CacheMemory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	prompts := []string{prompt, "a", prompt + " and more", "another one", "x", prompt}
	o := GenerateOptions{MaxTokens: 12}
	var wg sync.WaitGroup
	got := make([]string, len(prompts))
	for i, p := range prompts {
		wg.Go(func() {
			var err error
			if got[i], err = textOf(g.Generate(t.Context(), p, o)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, p := range prompts {
		alone, err := OpenGenerator("testdata/generate", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want, err := textOf(alone.Generate(t.Context(), p, o)); err != nil || got[i] != want {
			t.Errorf("%q: %q, want %q (%v)", p, got[i], want, err)
		}
	}
	long := strings.Repeat(prompt+" ", 4)
	for turn, want := range []bool{false, true} {
		var last Piece
		for piece, err := range g.Generate(context.Background(), long, o) {
			if err != nil {
				t.Fatal(err)
			}
			last = piece
		}
		if shared := last.Usage.Shared > last.Usage.Prompt/2; shared != want {
			t.Errorf("turn %d: %+v", turn, last.Usage)
		}
	}
	if _, err := OpenGenerator("testdata/generate", Options{CacheMemory: -1}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("CacheMemory -1: %v", err)
	}
}

// TestPieceStop: the last piece says which of the stop strings ended the text, the first one in it.
func TestPieceStop(t *testing.T) {
	t.Parallel()
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := textOf(g.Generate(t.Context(), prompt, GenerateOptions{MaxTokens: 12}))
	if err != nil || len(whole) < 12 {
		t.Fatal(whole, err)
	}
	later, first := whole[8:10], whole[4:6]
	if strings.Index(whole, first) != 4 || strings.Index(whole, later) <= 4 {
		t.Fatalf("%q repeats itself", whole)
	}
	for _, c := range []struct {
		stop []string
		want string
	}{{[]string{later, first, "\x00"}, first}, {[]string{"\x00"}, ""}, {nil, ""}} {
		var last Piece
		for piece, err := range g.Generate(t.Context(), prompt, GenerateOptions{MaxTokens: 12, Stop: c.stop}) {
			if err != nil || last.Finish != generation.FinishNone {
				t.Fatal(piece, err)
			}
			last = piece
		}
		if last.Stop != c.want || (last.Finish == generation.FinishStop) != (c.want != "") {
			t.Errorf("%q: %+v, want %q", c.stop, last, c.want)
		}
	}
}
