package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/vec"
)

// Tiles of products of integers: rows of A by some vectors of columns of a panel of
// B. The integer sums stay in registers. Products of int8 and of words sum over all
// of k, and convert the sums to floats once. Products with weights in blocks sum
// over a block, and add each sum, scaled, to the tile's totals, which are floats.

// intTile is a tile, with what all tiles of a kernel share.
type intTile struct {
	vec.Tiler
	dot     intDot
	elem    int // bytes per element of A
	vectors int // of columns
	first   int // column of the panel, if a tile has only some of them

	m, a, c, scale    vec.Kept // rows left; the next tile's rows of A and C, and its scales
	lda, ldc, ldscale func() vec.Int
	scaled            bool // rows of A have scales
	totals            bool // sums of blocks are added up, in C or in registers
	inRegisters       bool

	h       int
	label   func(what string) string
	total   [][]vec.V // in registers
	totalAt vec.Rows  // in memory, or their destination
	// far and near are the distances in bytes at which B is fetched ahead.
	far, near vec.Int
}

// intDot is a way to multiply integers.
type intDot interface {
	// elements returns how many elements of k a step takes, and their bytes; columns returns how many
	// columns have sums at the same time, and rows how many rows a tile of an int8 product has.
	elements() (n, bytes int)
	columns(t arch.Tier) int
	rows(t arch.Tier) int
	// start makes fresh sums for the tile. They begin with the result of from for the row, or with zeros.
	start(t *intTile, from func(i int) vec.V)
	// step multiplies the next elements of the rows of A by those at b; it calls fetch before each quarter.
	step(t *intTile, a vec.Lanes, b vec.Ptr, fetch func(s int))
	// sum returns the final sum for vector v of row i, and is called once. The
	// caller may overwrite it.
	sum(i, v int) vec.V
}

// newIntTile returns the tile of a kernel that multiplies with dot.
func newIntTile(m vec.Tiler, dot intDot) *intTile {
	t := &intTile{Tiler: m, dot: dot}
	_, t.elem = dot.elements()
	t.vectors = dot.columns(m.Tier()) / m.Width()
	return t
}

// panel emits tiles of up to mr rows: all rows for some columns of the panel, and then those for
// the next columns.
func (t *intTile) panel(mr int, tile func()) {
	nr := t.Tier().Gemm.NR
	for suffix := ""; t.first < nr; t.first += t.vectors * t.Width() {
		if t.first > 0 {
			suffix = fmt.Sprintf("_%d", t.first)
		}
		t.m, t.a, t.c = t.KeepInt("m"), t.KeepPtr("a"), t.KeepPtr("c")
		if t.scaled {
			t.scale = t.KeepPtr("scale")
		}
		t.lda, t.ldc = t.Leading("lda"), t.Leading("ldc")
		if t.totals {
			t.ldscale = t.Leading("ldscale")
		}
		if t.first > 0 {
			t.c.Add(4 * t.first)
		}
		deal(t, mr, suffix, t.m.Int, func(h int, label func(string) string) {
			t.h, t.label = h, label
			if t.totals {
				t.startTotals()
			}
			tile()
			t.Comment(fmt.Sprintf("the next rows are %d further", h))
			t.a.AddRows(h, t.lda(), t.elem)
			t.c.AddRows(h, t.ldc(), 4)
			if t.scaled {
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

// zeros returns zero vectors for the sums of h rows.
func (t *intTile) zeros(h, vectors int) [][]vec.V {
	sums := make([][]vec.V, h)
	for i := range sums {
		for range vectors {
			sums[i] = append(sums[i], t.Zero())
		}
	}
	return sums
}

// rowsOfA and rowsOfC return the tile's rows of A and of C.
func (t *intTile) rowsOfA() vec.Lanes { return t.Lanes(t.a, t.lda, t.elem, t.h) }
func (t *intTile) rowsOfC() vec.Rows  { return t.Rows(t.c, t.ldc, 4, t.h) }

// startTotals sets the totals to zeros, or to C.
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
	t.BranchIfParam("add", false, fromC)
	zero := t.Zero()
	t.each(c, func(i, v int, _ vec.Ptr, _ int) {
		p, off := t.placeOf(i, v)
		t.Store(p, off, zero)
	})
	t.Label(fromC)
}

// placeOf returns the place in C of the totals of vector v of row i. Callers ask for rows in order.
func (t *intTile) placeOf(i, v int) (p vec.Ptr, off int) {
	return t.totalAt.Row(i), 4 * v * t.Width()
}

// finish adds the integer sums of earlier steps, which are in C, to those of the tile, if add is not 0. Then
// it stores them as they are. If the columns have scales, it converts the sums to floats, multiplies them by
// the scales of rows and columns, and adds the columns' bias, if any.
func (t *intTile) finish() {
	sums := make([][]vec.V, t.h)
	for i := range sums {
		for v := range t.vectors {
			sums[i] = append(sums[i], t.dot.sum(i, v))
		}
	}
	c := t.rowsOfC()
	added, scaled, biased, end := t.label("added"), t.label("scaled"), t.label("biased"), t.label("end")
	t.BranchIfParam("add", true, added)
	t.each(c, func(i, v int, p vec.Ptr, off int) { t.AddInt32To(sums[i][v], t.Load(p, off)) })
	t.Label(added)
	t.BranchUnlessZero(t.SliceLen("weight"), scaled)
	t.each(c, func(i, v int, p vec.Ptr, off int) { t.Store(p, off, sums[i][v]) })
	t.Jump(end)
	t.Label(scaled)
	scales := t.Column(t.scale.Ptr(), t.h)
	for i := range sums {
		scale := scales.Lane(i, 0)
		for _, sum := range sums[i] {
			t.IntToFloat(sum)
			t.MulLaneTo(sum, scale)
		}
	}
	weight := t.SlicePtr("weight")
	t.eachColumn(sums, func(v, off int, column []vec.V) {
		w := t.Load(weight, off)
		for _, sum := range column {
			t.MulTo(sum, w)
		}
	})
	t.BranchUnlessZero(t.SliceLen("bias"), biased)
	t.Label(t.label("store"))
	t.each(c, func(i, v int, p vec.Ptr, off int) { t.Store(p, off, sums[i][v]) })
	t.Jump(end)
	t.Label(biased)
	bias := t.SlicePtr("bias")
	t.eachColumn(sums, func(v, off int, column []vec.V) {
		b := t.Load(bias, off)
		for _, sum := range column {
			t.AddTo(sum, b)
		}
	})
	t.Jump(t.label("store"))
	t.Label(end)
}

// eachColumn runs do for each vector of columns: off is its offset in the data of the panel's columns, and
// column has its sums in all rows.
func (t *intTile) eachColumn(sums [][]vec.V, do func(v, off int, column []vec.V)) {
	for v := range t.vectors {
		var column []vec.V
		for i := range sums {
			column = append(column, sums[i][v])
		}
		do(v, 4*(t.first+v*t.Width()), column)
	}
}

// startAhead prepares for fetchAhead.
func (t *intTile) startAhead() {
	if t.Prefetches() {
		t.far = t.IntParam("ahead")
		t.near = t.CopyInt(t.far)
		t.Halve(t.near, 2)
	}
}

// fetchAhead fetches the memory ahead of n bytes of B: far ahead into the second-level cache, and nearer
// into the first. If B is not to be fetched, it jumps to label, which it puts after the prefetches.
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
