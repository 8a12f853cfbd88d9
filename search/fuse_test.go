package search

import (
	"math"
	"testing"
)

// TestFuseRanks verifies that scores are sums of 1/(k + rank) from rank 1, that an id counts once
// per list, and that of equal scores the smaller id is first.
func TestFuseRanks(t *testing.T) {
	list := func(ids ...int64) (hits []Hit) {
		for i, id := range ids {
			hits = append(hits, Hit{id, float32(-i)})
		}
		return hits
	}
	for name, c := range map[string]struct {
		k     float64
		lists [][]Hit
		want  []float64 // ids and scores
	}{
		"none":         {60, nil, nil},
		"empty":        {60, [][]Hit{nil, {}}, nil},
		"one":          {60, [][]Hit{list(7, 5)}, []float64{7, 1. / 61, 5, 1. / 62}},
		"two":          {60, [][]Hit{list(1, 2, 3), list(3, 4)}, []float64{3, 1./63 + 1./61, 1, 1. / 61, 2, 1. / 62, 4, 1. / 62}},
		"ties":         {60, [][]Hit{list(9, -4), list(-4, 9)}, []float64{-4, 1./61 + 1./62, 9, 1./61 + 1./62}},
		"twice":        {60, [][]Hit{list(1, 2, 1, 3)}, []float64{1, 1. / 61, 2, 1. / 62, 3, 1. / 64}},
		"another k":    {0, [][]Hit{list(5), list(6, 5)}, []float64{5, 1.5, 6, 1}},
		"three of one": {60, [][]Hit{list(1), list(1), list(2, 1)}, []float64{1, 2./61 + 1./62, 2, 1. / 61}},
	} {
		got := FuseRanks(c.k, c.lists...)
		if len(got) != len(c.want)/2 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
			continue
		}
		for i, h := range got {
			if h.ID != int64(c.want[2*i]) || math.Abs(float64(h.Score)-c.want[2*i+1]) > 1e-7 {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
}
