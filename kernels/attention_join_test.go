package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestAttentionJoined: units that are computed together give the bits that they give one by
// one, since which of them a thread has is a matter of chance.
func TestAttentionJoined(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	compare := func(name string, p AttentionParams) (joined bool) {
		t.Run(name, func(t *testing.T) {
			p.setDefaults()
			if p.Q == nil {
				p.Q = randomSlice(r, p.Batch*p.QStrides.Batch+p.HeadDim)
				p.K = randomSlice(r, p.Batch*p.KStrides.Batch+p.HeadDim)
				p.V = randomSlice(r, p.Batch*p.VStrides.Batch+p.ValueDim)
			}
			dst := [2][]float32{}
			for i := range dst {
				dst[i] = make([]float32, p.Batch*p.DstStrides.Batch)
				p.Dst = dst[i]
				p.check()
				c := &attentionCall{p: p}
				c.plan()
				if c.splits > 1 || c.strategy != attendTiles {
					return
				}
				w := new(attentionScratch)
				for j := 0; j < c.units; {
					n := 1
					if i == 1 {
						n = c.together(j, c.units)
						joined = joined || n > 1
					}
					c.piece(w, j, n)
					j += n
				}
			}
			for i, v := range dst[0] {
				if math.Float32bits(v) != math.Float32bits(dst[1][i]) {
					t.Fatalf("element %d is %v, and %v where units are joined", i, v, dst[1][i])
				}
			}
		})
		return joined
	}
	for _, n := range [][3]int{{130, 130, 64}, {197, 300, 33}, {127, 36, 20}, {64*31 + 1, 17, 8}, {64*63 + 1, 33, 8}} {
		if !compare("long", AttentionParams{Batch: 1, Heads: 1, LenQ: n[0], LenK: n[1], HeadDim: n[2]}) {
			t.Errorf("units of %v are not joined", n)
		}
	}
}
