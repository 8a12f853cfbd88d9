package attend

import (
	"math"
	"testing"
)

// contiguous completes the arguments of a call on contiguous tensors.
func contiguous(p Params) Params {
	p.KVHeads, p.ValueDim, p.Scale = p.Heads, p.HeadDim, float32(1/math.Sqrt(float64(p.HeadDim)))
	of := func(length int) Strides {
		return Strides{Batch: p.Heads * length * p.HeadDim, Head: length * p.HeadDim, Row: p.HeadDim}
	}
	p.DstStrides, p.QStrides, p.KStrides, p.VStrides = of(p.LenQ), of(p.LenQ), of(p.LenK), of(p.LenK)
	return p
}

// TestEvenTiles: keys that are a few more than a tile has are one tile, and no number of keys has more
// tiles than it needs.
func TestEvenTiles(t *testing.T) {
	limit := Size.TileKeys
	eachISA(t, func(t *testing.T) {
		for n := 1; n < 2000; n++ {
			c := Call{P: contiguous(Params{Batch: 1, Heads: 2, LenQ: 90, LenK: n, HeadDim: 20})}
			c.plan()
			tile := c.groups[0].tile
			tiles, most := (n+tile-1)/tile, (n+limit-1)/limit
			if n <= limit*5/4 {
				most = 1
			}
			if tiles > most || tile >= limit*5/4+c.nr {
				t.Fatalf("%d keys: %d tiles of %d, want at most %d", n, tiles, tile, most)
			}
		}
	})
}
