package kernels

import (
	"fmt"
	"math"
	"testing"
)

// TestEmptyUniformHeadMask expects the mean of all values, times the head's factor, for a query that sees no
// key. It tests each way to compute a head, query heads that share keys, and weights, to which the factor
// does not apply.
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
