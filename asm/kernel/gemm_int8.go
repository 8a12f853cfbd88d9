package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Int8Panel returns the micro-kernel of int8 products. dot multiplies the integers.
func Int8Panel(dot func() intDot) func(vec.Machine) {
	return Only(func(m vec.Tiler) {
		d := dot()
		t := newIntTile(m, d)
		t.scaled = true
		t.rows(d.rows(m.Tier()), int8Parts(t))
	})
}

// int8Parts returns the parts of tiles.
func int8Parts(t *intTile) rowParts {
	var b, next vec.Ptr
	var k vec.Int
	_, isQuads := t.dot.(*quads)
	fetchesNext := isQuads && t.Tier().Integers.FetchNext
	n, _ := t.dot.elements()
	quarter := n / 4 * t.Tier().Gemm.NR
	parts := rowParts{endRows: t.endRow}
	parts.begin = func() (from func(i int) vec.V) {
		b, k = t.SlicePtr("b"), t.IntParam("k")
		if t.first > 0 {
			t.Bump(b, 4*t.first)
		}
		if fetchesNext {
			next = t.afterPanel(b)
		}
		if isQuads && !t.QuadsSigned() {
			starts := t.besideScales("start")
			from = func(i int) vec.V { return t.SpreadInt(starts, 4*i) }
		}
		return from
	}
	if t.Tier().Integers.FetchC {
		parts.beginRow = t.fetchC
	}
	parts.sum = func() {
		if t.far = (vec.Int{}); isQuads && t.Tier().Integers.FetchAhead && t.h == 1 {
			t.startAhead()
		}
		if !fetchesNext {
			t.loop(b, k, 1, nil)
			return
		}
		t.loop(b, k, 1, func(s int) {
			for line := s * quarter; line < (s+1)*quarter; line += cacheLine {
				t.Prefetch(next, line)
			}
			if s+1 == t.quarters() {
				t.Bump(next, (s+1)*quarter)
			}
		})
	}
	return parts
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

// fetchC fetches a row of C for the stores at the end of the tile.
func (t *intTile) fetchC(_ int, c vec.Ptr) {
	for v := range t.vectors {
		t.PrefetchFar(c, 4*(v+1)*t.Width()-4, vec.Int{}, 1)
	}
}

// afterPanel returns the address in B of the data that is multiplied next.
func (t *intTile) afterPanel(b vec.Ptr) vec.Ptr {
	next := t.IntParam("k")
	t.MultiplyTo(next, t.Tier().Gemm.NR)
	t.BumpBytes(vec.Ptr(next), vec.Int(b), 1)
	return vec.Ptr(next)
}
