package transformer

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBestOfTies wants the experts in the order of a stable sort by score: of equal ones the first
// is picked first.
func TestBestOfTies(t *testing.T) {
	for _, c := range []struct {
		scores []float32
		want   []int32
	}{
		{[]float32{1, 3, 3, 2, 3}, []int32{1, 2}},
		{[]float32{1, 3, 3, 2, 3}, []int32{1, 2, 4, 3}},
		{[]float32{5, 5, 5, 5}, []int32{0, 1, 2}},
		{[]float32{5, 5, 5, 5}, []int32{0, 1, 2, 3}},
		{[]float32{2, 1, 2, 1, 2}, []int32{0, 2, 4, 1, 3}},
		{[]float32{-1, -1, 0}, []int32{2, 0}},
		{[]float32{0, 7}, []int32{1}},
	} {
		picked := make([]int32, len(c.want))
		if best(picked, c.scores); !slices.Equal(picked, c.want) {
			t.Errorf("of %v: %v, want %v", c.scores, picked, c.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 { // a stable sort is the definition
		scores, order := make([]float32, 9), make([]int32, 9)
		for i := range scores {
			scores[i], order[i] = float32(r.IntN(4)), int32(i)
		}
		slices.SortStableFunc(order, func(a, b int32) int { return int(scores[b] - scores[a]) })
		picked := make([]int32, 1+r.IntN(9))
		if best(picked, scores); !slices.Equal(picked, order[:len(picked)]) {
			t.Fatalf("of %v: %v, want %v", scores, picked, order)
		}
	}
}
