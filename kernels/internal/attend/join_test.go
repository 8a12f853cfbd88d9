package attend

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/mask"
)

// TestAttentionJoined: units that are computed together have the same bits as units that are
// computed one by one, since chance decides which units a thread computes. Units whose queries see
// different keys are not joined.
func TestAttentionJoined(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	const batch, heads = 2, 2
	slopes := []float32{0.5, 0.25}
	lengths := [][3]int{{130, 130, 64}, {197, 300, 33}, {127, 36, 20}, {64*31 + 1, 17, 8}, {64*63 + 1, 33, 8}}
	if testenv.Slow() {
		lengths = [][3]int{{130, 130, 16}, {127, 36, 20}, {64*31 + 1, 17, 8}}
	}
	for name, x := range map[string]struct {
		mask  func(lenQ, lenK int) mask.Term
		joins bool
	}{
		"unmasked": {func(int, int) mask.Term { return mask.Term{} }, true},
		"lengths":  {func(_, lenK int) mask.Term { return mask.Term{Kind: mask.Lengths, Lengths: []int{lenK - 5, lenK / 2}} }, true},
		"keep of keys": {func(_, lenK int) mask.Term {
			return mask.Term{Kind: mask.Keep, Keep: randomKeep(r, batch*lenK), Shape: [4]int{batch, 1, 1, lenK}}
		}, true},
		"bias of keys": {func(_, lenK int) mask.Term {
			return mask.Term{Kind: mask.Bias, Bias: normal(r, heads*lenK), Shape: [4]int{1, heads, 1, lenK}}
		}, true},
		"ALiBi":  {func(int, int) mask.Term { return mask.Term{Kind: mask.ALiBi, Bias: slopes} }, true},
		"causal": {func(int, int) mask.Term { return mask.Term{Kind: mask.Window, Before: mask.Unlimited} }, false},
		"window": {func(int, int) mask.Term { return mask.Term{Kind: mask.Window, Before: 20, After: 3} }, false},
		"query lengths": {func(lenQ, lenK int) mask.Term {
			return mask.Term{Kind: mask.QueryLengths, Lengths: queryLengths(batch*lenQ, lenK)}
		}, false},
		"keep of queries": {func(lenQ, lenK int) mask.Term {
			return mask.Term{Kind: mask.Keep, Keep: randomKeep(r, lenQ*lenK), Shape: [4]int{1, 1, lenQ, lenK}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range lengths {
				lenQ, lenK, dim := n[0], n[1], n[2]
				p := contiguous(Params{Batch: batch, Heads: heads, LenQ: lenQ, LenK: lenK, HeadDim: dim, Mask: []mask.Term{x.mask(lenQ, lenK)},
					Q: normal(r, batch*heads*lenQ*dim), K: normal(r, batch*heads*lenK*dim), V: normal(r, batch*heads*lenK*dim)})
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

// attendPieces computes the pieces one by one, or together in the largest numbers that the call
// allows.
func attendPieces(p Params, together bool) (dst []float32, joined bool) {
	p.Dst = make([]float32, p.Batch*p.DstStrides.Batch)
	c := &Call{P: p}
	c.plan()
	w := new(scratch)
	g := &c.groups[0]
	for i := 0; i < g.units; {
		n := 1
		if together {
			n = g.together(i, g.units)
			joined = joined || n > 1
		}
		c.piece(w, g, i, n)
		i += n
	}
	return p.Dst, joined
}

func normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func randomKeep(r *rand.Rand, n int) []bool {
	keep := make([]bool, n)
	for i := range keep {
		keep[i] = r.IntN(4) > 0
	}
	return keep
}

// queryLengths returns n lengths from 1 to most.
func queryLengths(n, most int) []int {
	lengths := make([]int, n)
	for i := range lengths {
		lengths[i] = 1 + i*7%most
	}
	return lengths
}
