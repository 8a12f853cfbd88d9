package product

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file has the panels of B for the loops.

// panelSource has the panels of the current columns of B and steps of k: the element of column q
// and step p is offset(q, p) elements after first.
type panelSource struct {
	first    []float32
	ofColumn int // distance between columns: that of panels, divided by NR
	ofStep   int // distance between steps of k; both distances are 0 if panels replace one another
	ld       int // distance between rows of a panel
}

func (s *panelSource) offset(q, p int) int { return q*s.ofColumn + p*s.ofStep }

// openPanels returns the fields of source for the current columns and steps. Setting them here
// would move the block to the heap.
func (l *nest) openPanels() (first []float32, ofColumn, ofStep, ld int) {
	b, g := l.b, l.b.g
	switch {
	case l.k == 0, g.way == halves: // no B, or the packed one itself
		return nil, 0, 0, 0
	case g.way == packedBefore:
		return b.b.packed.Floats(b.b.column+l.j, l.p), b.b.packed.K, g.nr, g.nr
	case g.way.inPlace():
		return b.b.Data[l.p*b.b.LD+l.j:], 1, b.b.LD, b.b.LD
	case g.way == packedHere && l.mc < b.m:
		ofColumn, ofStep = l.k, g.nr // panels are kept for the next rows
	}
	last := (l.n - 1) / g.nr * g.nr
	b.s.b = mem.Grow(b.s.b, last*ofColumn+min(l.k, g.kc)*g.nr)
	return b.s.b, ofColumn, ofStep, g.nr
}

// width returns the number of columns, beginning with column q, that are multiplied next.
func (l *nest) width(q int) int {
	g, nr := l.b.g, l.b.g.nr
	if g.way == near { // the amount of work of other calls
		return min(max(2*nr, tune.Used.Gemm.MC*order.Stretch*nr/(l.m*max(l.k, 1))/nr*nr), l.n-q)
	}
	if (g.wideTiles || l.pairs) && l.n-q >= 2*nr {
		return 2 * nr
	}
	return min(nr, l.n-q)
}

// makePanel packs or widens the panel of the n columns from column q on, for k steps from step p
// on, unless it exists. If it can multiply a tile of A's rows at the same time, done is the number
// of rows of finished sums.
func (l *nest) makePanel(panel []float32, q, p, n, k int, beta float32, sums []float32, lds int) (done int) {
	b, g := l.b, l.b.g
	switch {
	case g.way == widened: // to b.s.b, which is panel: a function value moves what holds its arguments to the heap
		b.b.packed.Widen(b.s.b, b.b.column+l.j+q, l.p+p, k)
	case l.i > 0: // it exists already
	case b.b.Trans || n < g.nr || l.m <= g.mr:
		b.b.PackPanels(g.isa, panel, l.p+p, l.j+q, k, n, g.nr)
	default:
		simd.GemmPack(g.isa, g.mr, n, k, g.alpha, l.a, l.lda, b.b.Data[l.p*b.b.LD+l.j+q:], b.b.LD, panel, beta, sums, lds)
		return g.mr
	}
	return 0
}
