package product

import (
	"math/bits"
	"unsafe"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// The loops around the micro-kernel: one nest for every product of several rows, unless it consists
// of dot products.

// nest has the loops over one block: their steps, their current positions, and the place of the
// panels of B. All positions count from the block's first row and column.
type nest struct {
	b        *block
	nc, mc   int  // columns and rows at a time
	prefetch bool // a panel is fetched while the one before it is multiplied
	pairs    bool // two panels of a packed B are multiplied together

	// The current columns [j, j+n), steps [p, p+k) of k, rows [i, i+m), and A at these rows and
	// steps, with the rows lda apart.
	j, n   int
	p, k   int
	i, m   int
	a      []float32
	lda    int
	source panelSource
}

// panels computes a block with panels of B.
func (b *block) panels() {
	g, size := b.g, &tune.Used.Gemm
	var l nest
	l.b = b
	l.mc, l.nc = order.Evenly(b.m, g.mc, g.mr), b.n
	if g.way == packedHere && l.mc < b.m && b.n > size.NC {
		l.nc = size.NC
	}
	l.prefetch = g.prefetches(b.m)
	l.pairs = g.way == packedBefore && g.k > 0 && b.m <= pairRows && simd.KernelGemmPair.On(g.isa).ISA == g.isa
	var s *scratch
	if g.finish || g.copyA || ways[g.way].makes {
		s = scratches.Get().(*scratch)
		b.s = s
	}
	if g.finish {
		s.sums = mem.Grow(s.sums, max(l.mc, 2*pairRows)*g.nr)
	}
	for l.j = 0; l.j < b.n; l.j += l.nc { // all columns, or nc if panels are kept
		l.n = min(l.nc, b.n-l.j)
		for l.p = 0; l.p == 0 || l.p < g.k; l.p += g.slice { // once if k is 0
			l.k = min(g.slice, g.k-l.p)
			l.source.first, l.source.ofColumn, l.source.ofStep, l.source.ld = l.openPanels()
			for l.i = 0; l.i < b.m; l.i += l.mc { // mc rows stay in the second-level cache
				l.m = min(l.mc, b.m-l.i)
				l.a, l.lda = b.rowsOfA(l.i, l.p, l.m, l.k)
				for q, w := 0, 0; q < l.n; q += w {
					w = l.width(q)
					l.panel(q, w)
				}
			}
		}
	}
	if s != nil {
		scratches.Put(s)
	}
}

// rowsOfA returns rows [i, i+m) and steps [p, p+k) of op(A), with the rows ld apart: in place, or
// as a copy, which the next one overwrites.
func (b *block) rowsOfA(i, p, m, k int) (rows []float32, ld int) {
	switch {
	case k == 0: // there is no A
		return nil, 0
	case !b.g.copyA:
		return b.a.Data[i*b.a.LD+p:], b.a.LD
	}
	return b.a.CopyBlock(b.g.isa, &b.s.a, i, p, m, k)
}

// panel multiplies the current rows of A by w columns of B, beginning with column q of the current
// columns: one panel, or two.
func (l *nest) panel(q, w int) {
	b, g := l.b, l.b.g
	beta := g.beta
	if l.p > 0 {
		beta = 1
	}
	c := b.c[l.i*g.ldc+l.j+q:]
	sums, lds := c, g.ldc
	if g.finish { // in scratch memory, one panel after the other
		sums, lds = b.s.sums, g.nr
		for at := 0; beta != 0 && at < w; at += g.nr {
			simd.CopyRows(g.isa, sums[at*l.m:], c[at:], l.m, min(g.nr, w-at), lds, g.ldc)
		}
	}
	for p := 0; p == 0 || p < l.k; p += g.kc {
		k := min(g.kc, l.k-p)
		switch {
		case k > 0 && g.way == halves:
			b.b.packed.MultiplyHalves(b.b.column+l.j+q, l.p+p, l.m, k, g.alpha, l.a[p:], l.lda, beta, sums, lds)
		case k > 0 && g.way == near:
			simd.GemmNear(g.isa, l.m, w, k, g.alpha, l.a[p:], l.lda, l.source.first[l.source.offset(q, p):], l.source.ld, beta, sums, lds)
		case k > 0 && w == 2*g.nr && l.pairs:
			second := g.nr
			if g.finish {
				second *= l.m
			}
			simd.GemmPair(g.isa, l.m, g.nr, k, g.alpha, l.a[p:], l.lda, l.source.first[l.source.offset(q, p):], l.source.ld, l.source.offset(g.nr, 0), beta, sums, lds, second)
		default:
			panel := l.source.first[l.source.offset(q, p):]
			done := 0
			if ways[g.way].makes {
				done = l.makePanel(panel, q, p, w, k, beta, sums, lds)
			}
			var f fetched
			if l.fetchesRows() && w == g.nr {
				f = l.nextRows(panel, q+w, l.m-done)
			} else if l.prefetch {
				f = l.next(q, p, w, k)
			}
			if f.rows > 0 {
				simd.Panel(g.isa, f.rows, w, k, g.alpha, l.a[done*l.lda+p:], l.lda, panel, l.source.ld, beta, sums[done*lds:], lds)
				done += f.rows
			}
			simd.GemmPanel(g.isa, l.m-done, w, k, g.alpha, l.a[done*l.lda+p:], l.lda, panel, l.source.ld, f.next, f.pace, f.turn, f.steps, beta, sums[done*lds:], lds)
		}
		beta = 1
	}
	switch {
	case b.ep.any():
		for at := 0; at < w; at += g.nr {
			b.finish(c[at:], sums[at*l.m:], l.i, l.j+q+at, l.m, min(g.nr, w-at))
		}
	case g.finish:
		simd.CopyRows(g.isa, c, sums, l.m, w, g.ldc, lds)
	}
}

// fetched describes the prefetches of gemmPanel during the product with a panel: nothing during the
// first rows, then the memory that its hints name.
type fetched struct{ rows, next, pace, turn, steps int }

// next returns the prefetches of the panel that is multiplied next. It is zero if there is nothing
// to prefetch.
func (l *nest) next(q, p, w, k int) (f fetched) {
	s, g := &l.source, l.b.g
	switch {
	case g.way == packedHere && l.i == 0: // the panel is not made yet
		return f
	case g.way == widened:
		return l.nextNarrow(q, p, w, k)
	case g.way.inPlace() && l.m <= g.mr && tune.CrowdsFar(g.k, s.ld):
		f.next = farRows * s.ld
		return f
	case p+k < l.k:
		f.next = k * s.ofStep
	case q+w < l.n:
		f.next = s.offset(q+w, 0) - s.offset(q, p)
	case l.i+l.m < l.b.m:
		f.next = -s.offset(q, p)
	}
	switch tiles := (l.m + g.mr - 1) / g.mr; {
	case f.next == 0:
	case !g.way.inPlace():
		f.pace = l.evenPace()
	case tiles >= 4 && g.k*s.ld >= tune.Used.Gemm.Spread: // one row of B per f.steps steps of k: as many tiles fetch the panel
		f.steps = 1 << (bits.Len(uint(tiles)) - 1)
		f.turn = mem.Element * s.ld
		f.rows = (tiles - f.steps) * g.mr
	}
	return f
}

const (
	// farRows is the number of rows that a B in place is fetched ahead if none of its panels stays
	// in the second-level cache: the number of lines that are in transit from the third-level cache
	// at the same time.
	farRows = 24
	// Up to pairRows rows, two panels of a packed B are multiplied together: a single one has at
	// most six vectors of sums, and AVX2 has eight multiply-adds in flight.
	pairRows = 3
)

// nextNarrow returns the panel of a packed B that is converted to float32 next, after the panel in
// scratch memory.
func (l *nest) nextNarrow(q, p, w, k int) (f fetched) {
	b := &l.b.b
	j := l.j + q
	switch {
	case p+k < l.k:
		p += k
	case q+w < l.n:
		p, j = 0, j+w
	case l.i+l.m < l.b.m:
		p, j = 0, l.j
	default:
		return f
	}
	narrow := b.packed.Panel(b.column+j, l.p+p)
	f.next = (int(uintptr(unsafe.Pointer(unsafe.SliceData(narrow)))) - int(uintptr(unsafe.Pointer(unsafe.SliceData(l.source.first))))) / mem.Element
	f.pace = (l.evenPace() + 1) / 2
	return f
}

// evenPace returns the pace at which the tiles of all current rows fetch a panel, each a part of
// it.
func (l *nest) evenPace() int {
	g := l.b.g
	tiles := (l.m + g.mr - 1) / g.mr
	return (4*g.nr + tiles - 1) / tiles
}

// fetchesRows reports whether the rows of a transposed B that become the next panel are fetched
// during the product with this panel.
func (l *nest) fetchesRows() bool {
	return l.b.g.way == packedHere && l.b.b.Trans && l.i == 0
}

// nextRows returns where the rows of B^T begin that are packed next, after a panel whose columns
// end at column q of the current columns, and how they are fetched: the same elements of NR rows,
// then the next elements of these rows. All tiles fetch rows without gaps between them, as they
// fetch a panel, because a single tile would wait for memory. The last of the m rows fetches rows
// with gaps.
func (l *nest) nextRows(panel []float32, q, m int) (f fetched) {
	b, nr := &l.b.b, l.b.g.nr
	j, p := l.j+q, l.p
	if q >= l.n {
		j, p = l.j, l.p+l.k
	}
	if p >= l.b.g.k || j >= l.b.n {
		return f
	}
	rows := unsafe.Pointer(&b.Data[j*b.LD+p])
	f.next = (int(uintptr(rows)) - int(uintptr(unsafe.Pointer(unsafe.SliceData(panel))))) / mem.Element
	if b.LD == l.k {
		f.pace = l.evenPace()
		return f
	}
	f.pace, f.turn, f.steps = mem.Element*b.LD, mem.Element*(nr-nr*b.LD), nr
	f.rows = m - lastTile(m, l.b.g.mr)
	return f
}

// lastTile returns the height of the last tile of some rows; see the micro-kernel.
func lastTile(rows, mr int) int {
	if rows >= 2*mr {
		rows = mr + rows%mr
	}
	if rows > mr {
		rows /= 2
	}
	return rows
}
