package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAttentionJoined: units that are computed together give the bits that they give one by
// one, since which of them a thread has is a matter of chance. Units whose queries see
// different keys are not joined.
func TestAttentionJoined(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	const batch, heads = 2, 2
	slopes := []float32{0.5, 0.25}
	for name, x := range map[string]struct {
		mask  func(lenQ, lenK int) MaskTerm
		joins bool
	}{
		"unmasked": {func(int, int) MaskTerm { return MaskTerm{} }, true},
		"lengths":  {func(_, lenK int) MaskTerm { return LengthMask([]int{lenK - 5, lenK / 2}) }, true},
		"keep of keys": {func(_, lenK int) MaskTerm {
			return KeepMask(randomKeep(r, batch*lenK), batch, 1, 1, lenK)
		}, true},
		"bias of keys":  {func(_, lenK int) MaskTerm { return BiasMask(randomSlice(r, heads*lenK), 1, heads, 1, lenK) }, true},
		"ALiBi":         {func(int, int) MaskTerm { return ALiBiMask(slopes) }, true},
		"causal":        {func(int, int) MaskTerm { return CausalMask() }, false},
		"window":        {func(int, int) MaskTerm { return WindowMask(20, 3) }, false},
		"query lengths": {func(lenQ, lenK int) MaskTerm { return QueryLengthMask(queryLengths(batch*lenQ, lenK)) }, false},
		"keep of queries": {func(lenQ, lenK int) MaskTerm {
			return KeepMask(randomKeep(r, lenQ*lenK), 1, 1, lenQ, lenK)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range [][3]int{{130, 130, 64}, {197, 300, 33}, {127, 36, 20}, {64*31 + 1, 17, 8}, {64*63 + 1, 33, 8}} {
				lenQ, lenK, dim := n[0], n[1], n[2]
				p := AttentionParams{Batch: batch, Heads: heads, LenQ: lenQ, LenK: lenK, HeadDim: dim, Mask: []MaskTerm{x.mask(lenQ, lenK)},
					Q: randomSlice(r, batch*heads*lenQ*dim), K: randomSlice(r, batch*heads*lenK*dim), V: randomSlice(r, batch*heads*lenK*dim)}
				want, _ := attendPieces(p, false)
				got, joined := attendPieces(p, true)
				if joined != x.joins {
					t.Errorf("%v: units are joined: %v, want %v", n, joined, x.joins)
				}
				for i, v := range want {
					if math.Float32bits(v) != math.Float32bits(got[i]) {
						t.Fatalf("%v: element %d is %v, and %v where units are joined", n, i, v, got[i])
					}
				}
			}
		})
	}
}

// attendPieces computes piece by piece, or with as many together as the call allows.
func attendPieces(p AttentionParams, together bool) (dst []float32, joined bool) {
	p.setDefaults()
	p.Dst = make([]float32, p.Batch*p.DstStrides.Batch)
	p.check()
	c := &attentionCall{p: p}
	c.plan()
	w := new(attentionScratch)
	for i := 0; i < c.units; {
		n := 1
		if together {
			n = c.together(i, c.units)
			joined = joined || n > 1
		}
		c.piece(w, i, n)
		i += n
	}
	return p.Dst, joined
}

func randomKeep(r *rand.Rand, n int) []bool {
	keep := make([]bool, n)
	for i := range keep {
		keep[i] = r.IntN(4) > 0
	}
	return keep
}

// queryLengths are n lengths from 1 to most.
func queryLengths(n, most int) []int {
	lengths := make([]int, n)
	for i := range lengths {
		lengths[i] = 1 + i*7%most
	}
	return lengths
}
