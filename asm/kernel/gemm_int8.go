package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Int8Panel is the micro-kernel of int8 products, whose integers are multiplied as dot says. The totals of a tile
// are in the frame, where there is one: rows of C may be far apart, and push each other out of the cache.
func Int8Panel(dot func() intDot) func(vec.Machine) {
	return Only(func(m vec.Tiler) {
		d := dot()
		mr := d.rows(m.Tier())
		t := newIntTile(m, d, mr)
		t.panel(mr, func() { int8Tile(t) })
	})
}

// int8Tile emits a tile.
func int8Tile(t *intTile) {
	a := t.rowsOfA()
	b, k, block := t.SlicePtr("b"), t.IntParam("k"), t.IntParam("block")
	if t.first > 0 {
		t.Bump(b, 4*t.first)
	}
	scale := t.scale.Ptr()
	_, isQuads := t.dot.(*quads)
	var start vec.Int // how far what a row's sums begin with lies from its scale
	if isQuads && !t.QuadsSigned() {
		start = vec.Int(t.SlicePtr("start"))
		t.SubtractInt(start, vec.Int(t.SlicePtr("scale")))
	}
	n, _ := t.dot.elements()
	bytes := n * t.Tier().Gemm.NR
	fetch, fetched := func(int) {}, func() {}
	if isQuads && t.Tier().Integers.FetchNext {
		next := t.afterPanel(b)
		fetch = func(s int) {
			for line := s * bytes / 4; line < (s+1)*bytes/4; line += cacheLine {
				t.Prefetch(next, line)
			}
		}
		fetched = func() { t.Bump(next, bytes) }
	}
	ahead := isQuads && t.Tier().Integers.FetchAhead && t.h == 1
	if ahead {
		t.startAhead()
	}
	t.blocks(k, block, scale, func(left vec.Int) {
		var from func(i int) vec.V
		if start != (vec.Int{}) {
			at := t.Beside(scale, start)
			from = func(i int) vec.V { return t.SpreadInt(at, 4*i) }
		}
		t.dot.start(t, from)
		t.Label(t.label("loop"))
		if ahead {
			t.fetchAhead(t.label("fetched"), b, 0, bytes)
		}
		t.dot.step(t, a, b, fetch)
		fetched()
		a.Next(n * t.elem / 4)
		t.Bump(b, bytes)
		t.CountDown(left, n, vec.NE, t.label("loop"))
	})
	t.finish()
}

// blocks emits the loop over blocks of k, which are block long except for the last. sum emits the
// sums of some elements of k; then they are scaled and added to the totals.
func (t *intTile) blocks(k, block vec.Int, scale vec.Ptr, sum func(n vec.Int)) {
	t.Label(t.label("block"))
	t.Comment("a block has some of the k elements")
	sum(t.TakeAtMost(k, block))
	t.scaleSums(scale)
	t.BumpBy(scale, t.ldscale())
	t.BranchUnlessZero(k, t.label("block"))
}

// afterPanel is where B goes on, with what is multiplied next.
func (t *intTile) afterPanel(b vec.Ptr) vec.Ptr {
	next := t.IntParam("k")
	t.MultiplyTo(next, t.Tier().Gemm.NR)
	t.BumpBytes(vec.Ptr(next), vec.Int(b), 1)
	return vec.Ptr(next)
}
