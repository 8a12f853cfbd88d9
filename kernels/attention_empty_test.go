package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestEmptyUniformHeadMask expects the mean of all values, times the head's factor, for a query
// that sees no key. It tests each way to compute a head, query heads that share keys, and weights,
// to which the factor does not apply.
func TestEmptyUniformHeadMask(t *testing.T) {
	factors := []float32{2, 0.5, 0, -3}
	eachISA(t, func(t *testing.T) {
		for _, s := range [][2]int{{1, 5}, {2, 3}, {40, 70}, {1, 3000}} {
			for _, kvHeads := range []int{4, 2} {
				for _, weights := range []bool{false, true} {
					t.Run(fmt.Sprintf("%v/%d/weights=%v", s, kvHeads, weights), func(t *testing.T) {
						const heads, dim = 4, 16
						lenQ, lenK := s[0], s[1]
						p := AttentionParams{Batch: 1, Heads: heads, KVHeads: kvHeads, LenQ: lenQ, LenK: lenK, HeadDim: dim, Empty: EmptyUniform, HeadMask: factors,
							Dst: full(heads * lenQ * dim), Q: make([]float32, heads*lenQ*dim), K: make([]float32, kvHeads*lenK*dim), V: make([]float32, kvHeads*lenK*dim)}
						for i := range p.V {
							p.V[i] = float32(1 + i/(lenK*dim)) // the value of its head
						}
						hidden := make([]bool, lenK) // hides all keys
						p.Mask = []MaskTerm{KeepMask(hidden, 1, 1, 1, lenK)}
						if weights {
							p.Weights = full(heads * lenQ * lenK)
						}
						Attention(p)
						for h, factor := range factors {
							want := factor * float32(1+h/(heads/kvHeads))
							for i, v := range p.Dst[h*lenQ*dim:][:lenQ*dim] {
								if !(math.Abs(float64(v-want)) <= 1e-5) {
									t.Fatalf("head %d: element %d is %v, want %v", h, i, v, want)
								}
							}
						}
						for i, w := range p.Weights {
							if !(math.Abs(float64(w)*float64(lenK)-1) <= 1e-6) {
								t.Fatalf("weight %d is %v, want 1/%d", i, w, lenK)
							}
						}
					})
				}
			}
		}
	})
}

// TestNoFiniteScore expects a query whose scores are all -Inf to have the result of one that sees
// no key, with and without a mask, for each way to compute a head.
func TestNoFiniteScore(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, s := range [][2]int{{1, 2}, {4, 40}, {8, 36}, {40, 40}, {40, 70}, {1, 300}, {1, 3000}} {
			for empty, want := range map[EmptyRow]float32{EmptyZero: 0, EmptyNaN: nan32, EmptyUniform: 5} {
				for _, mask := range [][]MaskTerm{nil, {LengthMask([]int{s[1]})}} {
					const dim = 64
					lenQ, lenK := s[0], s[1]
					p := AttentionParams{Batch: 1, Heads: 1, LenQ: lenQ, LenK: lenK, HeadDim: dim, Empty: empty, Mask: mask, Dst: make([]float32, lenQ*dim),
						Q: slices.Repeat([]float32{-3e38}, lenQ*dim), K: slices.Repeat([]float32{3e38}, lenK*dim), V: slices.Repeat([]float32{5}, lenK*dim)}
					Attention(p)
					for i, v := range p.Dst {
						if v != want && (v == v || want == want) {
							t.Fatalf("%v, mask %t: element %d is %v, want %v", s, mask != nil, i, v, want)
						}
					}
				}
			}
		}
	})
}
