package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/vec"
)

// Tiles of products of integers: rows of A by some vectors of columns of a panel of B. The integer
// sums stay in registers. Products of int8 and of words sum over all of k, and convert the sums to
// floats once. Products with weights in blocks sum over a block, and add each sum, scaled, to the
// tile's totals, which are floats.

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

	lanes   vec.Lanes // the rows of A
	h       int
	label   func(what string) string
	total   [][]vec.V // in registers
	totalAt vec.Rows  // in memory, or their destination
	// far and near are the distances in bytes at which B is fetched ahead.
	far, near vec.Int
}

// intDot is a way to multiply integers.
type intDot interface {
	// elements returns how many elements of k four quarters take, and their bytes; columns returns
	// how many columns have sums at the same time, and rows how many rows a tile of an int8 product
	// has.
	elements() (n, bytes int)
	columns(t arch.Tier) int
	rows(t arch.Tier) int
	// start makes fresh sums for the tile. They begin with the result of from for the row, or with
	// zeros.
	start(t *intTile, from func(i int) vec.V)
	// step multiplies the elements of some quarters in the rows of A by those at b; it calls fetch
	// before each quarter. Machines that multiply by lanes of a vector take four.
	step(t *intTile, a vec.Lanes, b vec.Ptr, quarters int, fetch func(s int))
	// sum returns the final sum for vector v of row i, and is called once. The caller may overwrite
	// it.
	sum(i, v int) vec.V
}

// rowDot is an intDot for tiles whose rows begin and end one after the other.
type rowDot interface {
	intDot
	// startRow makes fresh sums for the next row, as start does for all. undefine lets the sums of
	// rows from h on hold anything.
	startRow(t *intTile, i int, from func(i int) vec.V)
	undefine(t *intTile, h int)
}

func startRows(t *intTile, d rowDot, from func(i int) vec.V) {
	for i := range t.h {
		d.startRow(t, i, from)
	}
}

// newIntTile returns the tile of a kernel that multiplies with dot.
func newIntTile(m vec.Tiler, dot intDot) *intTile {
	t := &intTile{Tiler: m, dot: dot}
	_, t.elem = dot.elements()
	t.vectors = dot.columns(m.Tier()) / m.Width()
	return t
}

// panel runs tiles for some columns of the panel, and then for the next columns.
func (t *intTile) panel(tiles func(suffix string)) {
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
		tiles(suffix)
	}
}

// whole emits tiles of up to mr rows, each height as a whole.
func (t *intTile) whole(mr int, tile func()) {
	t.panel(func(suffix string) {
		dealWhole(t, mr, suffix, t.m.Int, func(h int, label func(string) string) {
			t.h, t.label = h, label
			if t.totals {
				t.startTotals()
			}
			tile()
			t.Comment(fmt.Sprintf("the next rows are %d further", h))
			t.lanes.Passed(t.Number(h))
			t.c.AddRows(h, t.ldc(), 4)
			if t.scaled {
				t.scale.Add(4 * h)
			}
			t.m.Add(-h)
		})
	})
}

// rowParts are the parts of tiles whose rows begin and end one after the other.
type rowParts struct {
	// begin prepares for a tile. It returns what the sums of a row begin with; nil means zeros.
	begin func() (from func(i int) vec.V)
	// beginRow and endRow are for the row at c. endRow, which endRows returns, gets the row's label
	// and sums.
	beginRow func(i int, c vec.Ptr)
	sum      func()
	endRows  func() (endRow func(label func(string) string, sums []vec.V, c, scale vec.Ptr))
}

// rows emits tiles of up to mr rows.
func (t *intTile) rows(mr int, parts rowParts) {
	dot := t.dot.(rowDot)
	t.panel(func(suffix string) {
		var from func(i int) vec.V
		var begun, c, scale vec.Ptr
		deal(t, mr, suffix, t.m.Int, ladders{
			begin: func(vec.Int) {
				t.lanes = t.Lanes(t.a, t.lda, t.elem, mr)
				begun = t.c.Ptr()
				from = parts.begin()
			},
			beginRow: func(i int) {
				t.lanes.Begin()
				dot.startRow(t, i, from)
				if parts.beginRow != nil {
					parts.beginRow(i, begun)
					t.BumpBytes(begun, t.ldc(), 4)
				}
			},
			sum: func(h int, label func(string) string) {
				t.h, t.label = h, label
				t.lanes.Take(h)
				parts.sum()
				dot.undefine(t, h)
			},
			endRows: func(last func(i int)) {
				if c = t.c.Ptr(); t.scaled {
					scale = t.scale.Ptr()
				}
				endRow := parts.endRows()
				for i := range mr {
					var sums []vec.V
					for v := range t.vectors {
						sums = append(sums, t.dot.sum(i, v))
					}
					endRow(func(what string) string { return fmt.Sprintf("%s_%d%s", what, i+1, suffix) }, sums, c, scale)
					t.BumpBytes(c, t.ldc(), 4)
					if t.scaled {
						t.Bump(scale, 4)
					}
					last(i)
				}
			},
			next: func(h vec.Int) {
				t.c.Put(vec.Int(c))
				if t.scaled {
					t.scale.Put(vec.Int(scale))
				}
				t.lanes.Passed(h)
				left := t.m.Int()
				t.SubtractInt(left, h)
				t.m.Put(left)
			},
		})
	})
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
func (t *intTile) zeros(h, vectors int) (sums [][]vec.V) {
	for range h {
		sums = t.addZeros(sums, vectors)
	}
	return sums
}

// addZeros appends a row of zero vectors to sums.
func (t *intTile) addZeros(sums [][]vec.V, vectors int) [][]vec.V {
	var row []vec.V
	for range vectors {
		row = append(row, t.Zero())
	}
	return append(sums, row)
}

// undefine makes the values of sums arbitrary.
func (t *intTile) undefine(sums [][]vec.V) {
	for _, row := range sums {
		t.Undefine(row...)
	}
}

// rowsOfA and rowsOfC return the tile's rows of A and of C.
func (t *intTile) rowsOfA() vec.Lanes {
	t.lanes = t.Lanes(t.a, t.lda, t.elem, t.h)
	for range t.h {
		t.lanes.Begin()
	}
	return t.lanes
}

func (t *intTile) rowsOfC() vec.Rows { return t.Rows(t.c, t.ldc, 4, t.h) }

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

// endRow adds the integer sums of earlier steps, which are in C, to those of a row, if add is not 0.
// Then it stores them as they are. If the columns have scales, it converts the sums to floats,
// multiplies them by the scales of rows and columns, and adds the columns' bias, if any.
func (t *intTile) endRow() func(label func(string) string, sums []vec.V, c, scale vec.Ptr) {
	weight, bias := t.SlicePtr("weight"), t.SlicePtr("bias")
	return func(label func(string) string, sums []vec.V, c, scale vec.Ptr) {
		each := func(do func(sum vec.V, off int)) {
			for v, sum := range sums {
				do(sum, 4*v*t.Width())
			}
		}
		first := 4 * t.first
		t.BranchIfParam("add", true, label("added"))
		each(func(sum vec.V, off int) { t.AddInt32To(sum, t.Load(c, off)) })
		t.Label(label("added"))
		t.BranchIfZero(t.SliceLen("weight"), label("stored"))
		of := t.Column(scale, 1).Lane(0, 0)
		each(func(sum vec.V, off int) {
			t.IntToFloat(sum)
			t.MulLaneTo(sum, of)
			t.MulTo(sum, t.Load(weight, first+off))
		})
		t.BranchIfZero(t.SliceLen("bias"), label("stored"))
		each(func(sum vec.V, off int) { t.AddLoad(sum, bias, first+off) })
		t.Label(label("stored"))
		each(func(sum vec.V, off int) { t.Store(c, off, sum) })
	}
}

// loop emits the loop over k. An element of B has size bytes; fetch, which may be nil, is for
// quarters of a step.
func (t *intTile) loop(b vec.Ptr, k vec.Int, size int, fetch func(s int)) {
	quarters := t.quarters()
	n, _ := t.dot.elements()
	n = n * quarters / 4
	bytes := n * size * t.Tier().Gemm.NR
	t.Label(t.label("loop"))
	if t.far != (vec.Int{}) {
		t.fetchAhead(t.label("fetched"), b, 0, bytes)
	}
	t.dot.step(t, t.lanes, b, quarters, fetch)
	t.lanes.Next(n * t.elem / 4)
	t.Bump(b, bytes)
	t.CountDown(k, n, vec.NE, t.label("loop"))
}

// quarters returns the number of quarters that an iteration takes. High tiles of long vectors wait
// for the two ports that multiply, and the instructions that count cost nothing.
func (t *intTile) quarters() int {
	switch sums := t.h * t.vectors; {
	case t.Tier().ByLane || len(t.Tier().Vectors) <= 16 || sums < 6:
		return 4
	case sums < 12:
		return 2
	}
	return 1
}

// startAhead prepares for fetchAhead.
func (t *intTile) startAhead() {
	if t.Prefetches() {
		t.far = t.IntParam("ahead")
		t.near = t.CopyInt(t.far)
		t.Halve(t.near, 2)
	}
}

// fetchAhead fetches the memory ahead of n bytes of B: far ahead into the second-level cache, and
// nearer into the first. If B is not to be fetched, it jumps to label, which it puts after the
// prefetches.
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
