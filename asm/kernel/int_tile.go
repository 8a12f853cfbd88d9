package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/vec"
)

// The tiles of products of integers: rows of A by some vectors of columns of a panel of B. The
// integer sums of a block of k stay in registers; then they are scaled and added to the tile's totals, which are
// floats.

// intTile is a tile, and what all tiles of a kernel share.
type intTile struct {
	vec.Tiler
	dot     intDot
	elem    int // bytes of an element of A
	vectors int // of columns
	first   int // column of the panel, where a tile has some of them

	m, a, c, scale    vec.Kept // rows left; the next tile's rows of A and C, and its scales
	lda, ldc, ldscale func() vec.Int
	// The totals are in C, unless in registers or in the frame.
	inRegisters bool
	whole       bool // there are none: the sums of all of k are what is stored
	frame       func() vec.Ptr
	inFrame     vec.Ptr

	h       int
	label   func(what string) string
	total   [][]vec.V // in registers
	totalAt vec.Rows  // in memory, or where they go
	// far and near are how many bytes ahead B is fetched.
	far, near vec.Int
}

// intDot is a way to multiply integers.
type intDot interface {
	// elements is how many of k a step takes, of some bytes; columns is how many have sums at once, and rows
	// how many rows a tile of an int8 product has.
	elements() (n, bytes int)
	columns(t arch.Tier) int
	rows(t arch.Tier) int
	// start has fresh sums for the tile, which begin with what from gives for a row, or with zeros.
	start(t *intTile, from func(i int) vec.V)
	// step multiplies what follows of the rows of A, and what is at b; fetch goes before each quarter.
	step(t *intTile, a vec.Lanes, b vec.Ptr, fetch func(s int))
	// sum is what vector v of row i comes to, asked for once. It may be overwritten.
	sum(i, v int) vec.V
}

// newIntTile has the totals of tiles of up to mr rows in the frame if mr is not 0 and there is one.
func newIntTile(m vec.Tiler, dot intDot, mr int) *intTile {
	t := &intTile{Tiler: m, dot: dot}
	_, t.elem = dot.elements()
	t.vectors = dot.columns(m.Tier()) / m.Width()
	if mr > 0 {
		t.frame = m.Frame(4 * mr * t.vectors * m.Width())
	}
	return t
}

// panel emits tiles of up to mr rows: all of some columns of the panel, and then those of the next.
func (t *intTile) panel(mr int, tile func()) {
	nr := t.Tier().Gemm.NR
	for suffix := ""; t.first < nr; t.first += t.vectors * t.Width() {
		if t.first > 0 {
			suffix = fmt.Sprintf("_%d", t.first)
		}
		t.m, t.a, t.c = t.KeepInt("m"), t.KeepPtr("a"), t.KeepPtr("c")
		if !t.whole {
			t.scale = t.KeepPtr("scale")
		}
		t.lda, t.ldc = t.Leading("lda"), t.Leading("ldc")
		if !t.whole {
			t.ldscale = t.Leading("ldscale")
		}
		if t.first > 0 {
			t.c.Add(4 * t.first)
		}
		deal(t, mr, suffix, t.m.Int, func(h int, label func(string) string) {
			t.h, t.label = h, label
			if !t.whole {
				t.startTotals()
			}
			tile()
			t.Comment(fmt.Sprintf("the next rows are %d further", h))
			t.a.AddRows(h, t.lda(), t.elem)
			t.c.AddRows(h, t.ldc(), 4)
			if !t.whole {
				t.scale.Add(4 * h)
			}
			t.m.Add(-h)
		})
	}
}

// each runs do for every vector of the tile, at p in rows that lie in memory.
func (t *intTile) each(rows vec.Rows, do func(i, v int, p vec.Ptr, off int)) {
	rows.Begin()
	for i := range t.h {
		p := rows.Row(i)
		for v := range t.vectors {
			do(i, v, p, 4*v*t.Width())
		}
	}
}

// zeros are vectors for the sums of rows.
func (t *intTile) zeros(h, vectors int) [][]vec.V {
	sums := make([][]vec.V, h)
	for i := range sums {
		for range vectors {
			sums[i] = append(sums[i], t.Zero())
		}
	}
	return sums
}

// rowsOfA are the tile's rows of A, and rowsOfC of C.
func (t *intTile) rowsOfA() vec.Lanes { return t.Lanes(t.a, t.lda, t.elem, t.h) }
func (t *intTile) rowsOfC() vec.Rows  { return t.Rows(t.c, t.ldc, 4, t.h) }

// startTotals begins with zeros, or with C.
func (t *intTile) startTotals() {
	c := t.rowsOfC()
	fromC, started := t.label("fromC"), t.label("started")
	if t.inRegisters {
		t.totalAt, t.total = c, t.zeros(t.h, t.vectors)
		t.BranchIfParam("add", true, started)
		t.each(c, func(i, v int, p vec.Ptr, off int) { t.LoadTo(t.total[i][v], p, off) })
		t.Label(started)
		return
	}
	t.totalAt = c
	if t.frame != nil {
		if t.Tier().Integers.FetchC { // C is written after the last block
			t.each(c, func(_, _ int, p vec.Ptr, off int) { t.PrefetchFar(p, off+4*t.Width()-4, vec.Int{}, 1) })
		}
		t.inFrame = t.frame()
	}
	t.BranchIfParam("add", false, fromC)
	zero := t.Zero()
	t.each(c, func(i, v int, _ vec.Ptr, _ int) {
		p, off := t.placeOf(i, v)
		t.Store(p, off, zero)
	})
	if t.frame == nil {
		t.Label(fromC)
		return
	}
	t.Jump(started)
	t.Label(fromC)
	t.each(c, func(i, v int, p vec.Ptr, off int) {
		place, at := t.placeOf(i, v)
		t.Store(place, at, t.Load(p, off))
	})
	t.Label(started)
}

// placeOf is where in memory the totals are of vector v of row i, of which rows are asked for in order.
func (t *intTile) placeOf(i, v int) (p vec.Ptr, off int) {
	if t.frame != nil {
		return t.inFrame, 4 * (i*t.vectors + v) * t.Width()
	}
	return t.totalAt.Row(i), 4 * v * t.Width()
}

// scaleSums adds a block's sums to the totals, each row with its scale.
func (t *intTile) scaleSums(scale vec.Ptr) {
	scales := t.Column(scale, t.h)
	t.totalAt.Begin()
	for i := range t.h {
		s := scales.Lane(i, 0)
		for v := range t.vectors {
			sum := t.dot.sum(i, v)
			t.IntToFloat(sum)
			t.MulLaneTo(sum, s)
			t.addToTotal(i, v, sum)
		}
	}
}

// addToTotal adds a vector to the total, of which rows are asked for in order.
func (t *intTile) addToTotal(i, v int, sum vec.V) {
	if t.inRegisters {
		t.AddTo(t.total[i][v], sum)
		return
	}
	p, off := t.placeOf(i, v)
	t.AddLoad(sum, p, off)
	t.Store(p, off, sum)
}

// finish multiplies the totals with the scales of the columns and adds their bias, if they are given, and
// stores.
func (t *intTile) finish() {
	to := t.totalAt
	if t.frame != nil {
		to = t.rowsOfC()
	}
	plain, scaled, end := t.label("plain"), t.label("scaled"), t.label("end")
	t.BranchIfZero(t.SliceLen("weight"), plain)
	t.BranchIfZero(t.SliceLen("bias"), scaled)
	t.store(to, "weight", "bias")
	t.Jump(end)
	t.Label(scaled)
	t.store(to, "weight")
	if t.frame != nil || t.inRegisters {
		t.Jump(end)
		t.Label(plain)
		t.store(to)
	} else {
		t.Label(plain) // they are in their place
	}
	t.Label(end)
}

// store writes the totals, multiplied with the first of the parameters, to which the second is
// added, in the same columns.
func (t *intTile) store(to vec.Rows, params ...string) {
	for v := range t.vectors {
		var rows []vec.V
		off := 4 * v * t.Width()
		for _, param := range params {
			rows = append(rows, t.Load(t.SlicePtr(param), 4*t.first+off))
		}
		to.Begin()
		for i := range t.h {
			p := to.Row(i)
			var y vec.V
			switch {
			case t.inRegisters:
				y = t.total[i][v]
			case t.frame != nil:
				y = t.Load(t.placeOf(i, v))
			default:
				y = t.Load(p, off)
			}
			if len(rows) > 0 {
				t.MulTo(y, rows[0])
			}
			if len(rows) > 1 {
				t.AddTo(y, rows[1])
			}
			t.Store(p, off, y)
		}
	}
}

// startAhead is for fetchAhead.
func (t *intTile) startAhead() {
	if t.Prefetches() {
		t.far = t.IntParam("ahead")
		t.near = t.CopyInt(t.far)
		t.Halve(t.near, 2)
	}
}

// fetchAhead fetches what lies ahead of n bytes of B, unless nothing is to be, and then goes on at the
// label: far ahead into the second-level cache, and nearer into the first.
func (t *intTile) fetchAhead(label string, b vec.Ptr, off, n int) {
	if !t.Prefetches() {
		return
	}
	t.BranchIfZero(t.far, label)
	for line := off; line < off+n; line += cacheLine {
		t.PrefetchFar(b, line, t.far, 1)
		t.Prefetch(t.Beside(b, t.near), line)
	}
	t.Label(label)
}
