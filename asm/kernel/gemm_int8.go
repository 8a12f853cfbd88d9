package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Int8Panel returns the micro-kernel of int8 products. dot multiplies the integers.
func Int8Panel(dot func() intDot) func(vec.Machine) {
	return Only(func(m vec.Tiler) {
		d := dot()
		t := newIntTile(m, d)
		t.scaled = true
		t.panel(d.rows(m.Tier()), func() { int8Tile(t) })
	})
}

// int8Tile emits a tile.
func int8Tile(t *intTile) {
	a := t.rowsOfA()
	b, k := t.SlicePtr("b"), t.IntParam("k")
	if t.first > 0 {
		t.Bump(b, 4*t.first)
	}
	t.fetchC()
	_, isQuads := t.dot.(*quads)
	var from func(i int) vec.V
	if isQuads && !t.QuadsSigned() {
		starts := t.besideScales("start")
		from = func(i int) vec.V { return t.SpreadInt(starts, 4*i) }
	}
	t.dot.start(t, from)
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
	t.Label(t.label("loop"))
	if ahead {
		t.fetchAhead(t.label("fetched"), b, 0, bytes)
	}
	t.dot.step(t, a, b, fetch)
	fetched()
	a.Next(n * t.elem / 4)
	t.Bump(b, bytes)
	t.CountDown(k, n, vec.NE, t.label("loop"))
	t.finish()
}

// besideScales returns the address of the tile's rows in
// a parameter that, like scale, has one element per row.
func (t *intTile) besideScales(param string) vec.Ptr {
	p := t.SlicePtr(param)
	distance := vec.Int(t.scale.Ptr())
	t.SubtractInt(distance, vec.Int(t.SlicePtr("scale")))
	t.BumpBytes(p, distance, 1)
	return p
}

// fetchC fetches the tile's rows of C for the stores at the end of the tile, if the tier needs that.
func (t *intTile) fetchC() {
	if t.Tier().Integers.FetchC {
		t.each(t.rowsOfC(), func(_, _ int, p vec.Ptr, off int) { t.PrefetchFar(p, off+4*t.Width()-4, vec.Int{}, 1) })
	}
}

// afterPanel returns the address in B of the data that is multiplied next.
func (t *intTile) afterPanel(b vec.Ptr) vec.Ptr {
	next := t.IntParam("k")
	t.MultiplyTo(next, t.Tier().Gemm.NR)
	t.BumpBytes(vec.Ptr(next), vec.Int(b), 1)
	return vec.Ptr(next)
}
