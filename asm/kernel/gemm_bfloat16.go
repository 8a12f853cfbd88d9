package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// BFloat16Pairs is the micro-kernel of products of bfloat16 by vectors. It uses the tiles of
// products of words, with sums in float32.
var BFloat16Pairs = Only(func(m vec.Tiler) {
	d := FloatPairs()
	t := newIntTile(m, d)
	var b vec.Ptr
	var k vec.Int
	t.rows(m.Tier().Gemm.MR, rowParts{
		begin: func() func(i int) vec.V {
			b, k = t.SlicePtr("b"), t.IntParam("k")
			t.startAhead()
			return nil
		},
		beginRow: func(i int, c vec.Ptr) {
			started := fmt.Sprintf("started_%d", i+1)
			if t.Tier().Integers.FetchC {
				t.fetchC(i, c)
			}
			t.BranchIfParam("add", true, started)
			for v := range t.vectors {
				t.LoadTo(d.sum(i, v), c, 4*v*t.Width())
			}
			t.Label(started)
		},
		sum: func() { t.loop(b, k, 2, nil) },
		endRows: func() func(label func(string) string, sums []vec.V, c, scale vec.Ptr) {
			return func(_ func(string) string, sums []vec.V, c, _ vec.Ptr) {
				for v, sum := range sums {
					t.Store(c, 4*v*t.Width(), sum)
				}
			}
		},
	})
})
