package speech

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTimes: each token is said where its weights are, in the first rows only, and equal weights
// say nothing.
func TestTimes(t *testing.T) {
	const heads, tokens, rows, from = 2, 7, 40, 2
	w := Weights{Values: make([]float32, heads*tokens*rows), Heads: heads, Tokens: tokens, Rows: rows}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range w.Values {
		w.Values[i] = 0.01 * rng.Float32()
	}
	for h := range heads {
		for i := from; i < tokens; i++ {
			for r := 6 * (i - from); r < 6*(i-from)+6; r++ {
				w.Values[(h*tokens+i)*rows+r] = 1
			}
		}
	}
	if got, want := w.Times(from, rows, 7), []int{0, 6, 12, 18, 24}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := w.Times(from, 20, 7); !slices.Equal(got[:3], []int{0, 6, 12}) || slices.Max(got) >= 20 {
		t.Errorf("%v, want times in 20 rows", got)
	}
	for _, width := range []int{1, 3, 99} { // more than the rows: they stay
		if got := w.Times(from, rows, width); !slices.IsSorted(got) || len(got) != tokens-from {
			t.Errorf("width %d: %v", width, got)
		}
	}
	clear(w.Values)
	for _, n := range []int{-3, 0, 1, rows, rows + 9} {
		if got := w.Times(from, n, 7); len(got) != tokens-from || !slices.IsSorted(got) || got[0] != 0 {
			t.Errorf("%d rows of equal weights: %v", n, got)
		}
	}
	if got := w.Times(tokens, rows, 7); len(got) != 0 {
		t.Errorf("no tokens: %v", got)
	}
}

// TestMedians: rows are mirrored at both ends.
func TestMedians(t *testing.T) {
	got, want := make([]float64, 5), []float64{2, 2, 3, 3, 3} // of 2 1 2, 1 2 9, 2 9 3, 9 3 1, 3 1 3
	medians(got, []float64{1, 2, 9, 3, 1}, 3)
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWordReader joins tokens to words as transformers does: the wanted words are those of
// _combine_tokens_into_words in transformers 5.24.
func TestWordReader(t *testing.T) {
	const first, end = 100, 90
	for _, c := range []struct {
		letters bool
		tokens  []string // "" is the byte that the next token completes to é
		want    []string
	}{
		{false, []string{" a", "b", ",", " c"}, []string{" ab,", " c"}},
		{false, []string{" \"", "a", "b", "\"", " (", "c", ")"}, []string{" \"ab\"", " (c)"}},
		{false, []string{"a", "<0>", "b"}, []string{"a", "b"}},
		{false, []string{" a", "-", "b"}, []string{" a", "-b"}},
		{false, []string{" a", "", "é", "b"}, []string{" aéb"}},
		{false, []string{" a", ""}, []string{" a\uFFFD"}},
		{true, []string{"日", "本", "。", "", "é"}, []string{"日", "本。", "é"}},
		{true, []string{"<0>"}, nil},
	} {
		r := WordReader{First: first, End: end, Letters: c.letters, Special: func(int) bool { return false }, Decode: func(ids []int) string {
			var b strings.Builder
			for i, id := range ids {
				switch s := c.tokens[id]; {
				case s == "" && i == len(ids)-1:
					b.WriteString("\uFFFD")
				case s == "é" && i == 0:
					b.WriteString("\uFFFD")
				default:
					b.WriteString(s)
				}
			}
			return b.String()
		}}
		for i, s := range c.tokens {
			id := i
			if s == "<0>" {
				id = first
			}
			r.Add(id, float64(i)+0.501)
		}
		var got []string
		before := 0.0
		for _, w := range r.Words() {
			got = append(got, w.Text)
			if w.Start < before || w.End < w.Start {
				t.Errorf("%q: %+v begins before %v", c.tokens, w, before)
			}
			before = w.End
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.tokens, got, c.want)
		}
	}
}
