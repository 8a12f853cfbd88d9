package kernel

import "github.com/avoformer/avoformer/asm/vec"

// BFloat16Pairs is the micro-kernel of products of bfloat16 by vectors. It uses the tiles of products of
// words, with sums in float32.
var BFloat16Pairs = Only(func(m vec.Tiler) {
	d := FloatPairs()
	t := newIntTile(m, d)
	t.panel(m.Tier().Gemm.MR, func() { bfloat16Tile(t) })
})

// bfloat16Tile emits a tile.
func bfloat16Tile(t *intTile) {
	t.dot.start(t, nil)
	c, started := t.rowsOfC(), t.label("started")
	t.fetchC()
	t.BranchIfParam("add", true, started)
	t.each(c, func(i, v int, p vec.Ptr, off int) { t.LoadTo(t.dot.sum(i, v), p, off) })
	t.Label(started)
	a := t.rowsOfA()
	b, k := t.SlicePtr("b"), t.IntParam("k")
	n, _ := t.dot.elements()
	bytes := 2 * n * t.Tier().Gemm.NR
	t.startAhead()
	t.Label(t.label("loop"))
	t.fetchAhead(t.label("fetched"), b, 0, bytes)
	t.dot.step(t, a, b, nil)
	a.Next(n * t.elem / 4)
	t.Bump(b, bytes)
	t.CountDown(k, n, vec.NE, t.label("loop"))
	t.each(t.rowsOfC(), func(i, v int, p vec.Ptr, off int) { t.Store(p, off, t.dot.sum(i, v)) })
}
