package mask

import (
	"slices"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// TestRow compares with the definition of a row-major array whose dimensions of 1 are repeated.
func TestRow(t *testing.T) {
	for _, shape := range [][4]int{{1, 1, 1, 1}, {2, 1, 1, 5}, {1, 3, 1, 5}, {1, 1, 4, 5}, {2, 3, 4, 5}, {2, 3, 4, 1}, {2, 1, 4, 1}} {
		term := Term{Shape: shape}
		for b := range 2 {
			for h := range 3 {
				for q := range 4 {
					start, step := term.Row(b, h, q)
					for k := range 5 {
						want := 0
						for i, at := range [4]int{b, h, q, k} {
							want = want*shape[i] + at%shape[i]
						}
						if start+k*step != want {
							t.Fatalf("shape %v, query %d of head %d of sequence %d: key %d is element %d, want %d", shape, q, h, b, k, start+k*step, want)
						}
					}
				}
			}
		}
	}
}

// TestInterval narrows [0, 10) to the keys of each kind of term.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		name   string
		term   Term
		q      int
		lo, hi int
	}{
		{"causal", Term{Kind: Window, Before: Unlimited}, 2, 0, 6},
		{"window", Term{Kind: Window, Before: 2, After: 1}, 2, 3, 7},
		{"window beyond the keys", Term{Kind: Window, Before: 1, After: 9}, 4, 6, 10},
		{"lengths", Term{Kind: Lengths, Lengths: []int{9, 4}}, 2, 0, 4},
		{"lengths of queries", Term{Kind: QueryLengths, Lengths: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, 2, 0, 8},
		{"more than there are", Term{Kind: Lengths, Lengths: []int{0, 99}}, 2, 0, 10},
		{"none", Term{Kind: None}, 2, 0, 10},
		{"keep", Term{Kind: Keep}, 2, 0, 10},
	} {
		const lenQ, past = 5, 3
		if lo, hi := c.term.Interval(1, c.q, lenQ, past, 0, 10); lo != c.lo || hi != c.hi {
			t.Errorf("%s: [%d, %d), want [%d, %d)", c.name, lo, hi, c.lo, c.hi)
		}
	}
	causal := Term{Kind: Window, Before: Unlimited}
	if lo, hi := causal.Interval(0, 0, 1, 0, 4, 9); lo < hi {
		t.Errorf("keys 4 to 8 are visible to query 0: [%d, %d)", lo, hi)
	}
}

// TestByQuery checks for which terms the keys may differ between the queries of a head.
func TestByQuery(t *testing.T) {
	one, each := [4]int{2, 3, 1, 5}, [4]int{2, 3, 4, 5}
	for _, c := range []struct {
		term Term
		want bool
	}{
		{Term{Kind: Window}, true}, {Term{Kind: QueryLengths}, true}, {Term{Kind: Lengths}, false}, {Term{Kind: None}, false},
		{Term{Kind: Keep, Shape: each}, true}, {Term{Kind: Keep, Shape: one}, false},
		{Term{Kind: Blocked, Shape: each}, true}, {Term{Kind: Blocked, Shape: one}, false}, {Term{Kind: Bias, Shape: each}, false},
	} {
		if got := c.term.ByQuery(); got != c.want {
			t.Errorf("%+v: %v", c.term, got)
		}
	}
}

// TestHides compares Hides and Hide of a boolean term with its elements, for runs of keys of every
// length.
func TestHides(t *testing.T) {
	keep := []bool{true, false, false, true, true, true, false, false, false, false} // of queries 0 and 1, 5 keys each
	for _, kind := range []Kind{Keep, Blocked} {
		hidden := func(q, k int) bool { return keep[5*q+k] == (kind == Blocked) }
		term := Term{Kind: kind, Keep: keep, Shape: [4]int{1, 1, 2, 5}}
		for q := range 2 {
			for from := range 5 {
				for to := from + 1; to <= 5; to++ {
					all := true
					scores := make([]float32, to-from)
					for k := from; k < to; k++ {
						all = all && hidden(q, k)
						scores[k-from] = float32(k)
					}
					if got := term.Hides(0, 0, q, from, to); got != all {
						t.Errorf("kind %d, query %d, keys [%d, %d): hidden %v", kind, q, from, to, got)
					}
					term.Hide(scores, -9, 0, 0, q, from)
					for k := from; k < to; k++ {
						if want := float32(k); (scores[k-from] == -9) != hidden(q, k) || scores[k-from] != -9 && scores[k-from] != want {
							t.Errorf("kind %d, query %d, keys [%d, %d): scores %v", kind, q, from, to, scores)
						}
					}
				}
			}
		}
		// This term has one element for all keys of a sequence.
		term = Term{Kind: kind, Keep: []bool{true, false}, Shape: [4]int{2, 1, 1, 1}}
		for b := range 2 {
			want := (b == 0) == (kind == Blocked)
			scores := []float32{1, 1}
			if term.Hide(scores, -9, b, 0, 3, 2); term.Hides(b, 2, 3, 1, 4) != want || (scores[0] == -9) != want || scores[1] != scores[0] {
				t.Errorf("kind %d, sequence %d: hides %v, scores %v", kind, b, term.Hides(b, 2, 3, 1, 4), scores)
			}
		}
	}
}

// TestAddBias adds the biases of the keys from a given one on, and one bias to all keys.
func TestAddBias(t *testing.T) {
	bias := []float32{1, 2, 3, 4, 5, 6, 7, 8}
	term := Term{Kind: Bias, Bias: bias, Shape: [4]int{1, 1, 2, 4}}
	scores := []float32{10, 20, 30}
	if term.AddBias(simd.Active(), scores, 1, 1, 1, 1, false); !slices.Equal(scores, []float32{16, 27, 38}) {
		t.Errorf("%v", scores)
	}
	term.Shape = [4]int{1, 2, 1, 1}
	if term.AddBias(simd.Active(), scores, 1, 1, 1, 2, false); !slices.Equal(scores, []float32{18, 29, 40}) {
		t.Errorf("one bias for a head: %v", scores)
	}
}
