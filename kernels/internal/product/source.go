package product

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// The loops get their panels of B from a panelSource.

// panelSource has the panels of the current columns of B and steps of k: the element of
// column q and step p is offset(q, p) elements after first.
type panelSource struct {
	first    []float32
	ofColumn int // the distance of columns: a panel's, divided by NR
	ofStep   int // the distance of steps of k; both distances are 0 if panels replace one another
	ld       int // the distance of rows in a panel
}

func (s *panelSource) offset(q, p int) int { return q*s.ofColumn + p*s.ofStep }

// openPanels returns the fields of source for the columns and steps that are in turn. Setting
// them here would take the block to the heap.
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
		ofColumn, ofStep = l.k, g.nr // panels are kept for further rows
	}
	last := (l.n - 1) / g.nr * g.nr
	b.s.b = mem.Grow(b.s.b, last*ofColumn+min(l.k, g.kc)*g.nr)
	return b.s.b, ofColumn, ofStep, g.nr
}

// width is how many columns from column q on are multiplied next.
func (l *nest) width(q int) int {
	g, nr := l.b.g, l.b.g.nr
	if g.way == near { // as much as other calls do
		return min(max(2*nr, tune.Used.Gemm.MC*order.Stretch*nr/(l.m*max(l.k, 1))/nr*nr), l.n-q)
	}
	if (g.wideTiles || l.pairs) && l.n-q >= 2*nr {
		return 2 * nr
	}
	return min(nr, l.n-q)
}

// makePanel makes the panel of the n columns from column q, for k steps from step p, if
// it is not there yet. If a tile of A's rows can be multiplied on the way, done is how
// many rows of sums are finished.
func (l *nest) makePanel(panel []float32, q, p, n, k int, beta float32, sums []float32, lds int) (done int) {
	b, g := l.b, l.b.g
	switch {
	case g.way == widened: // to b.s.b, which is panel: a function value takes what holds its arguments to the heap
		b.b.packed.Widen(b.s.b, b.b.column+l.j+q, l.p+p, k)
	case l.i > 0: // it is there
	case b.b.Trans || n < g.nr || l.m <= g.mr:
		b.b.PackPanels(g.isa, panel, l.p+p, l.j+q, k, n, g.nr)
	default:
		simd.GemmPack(g.isa, g.mr, n, k, g.alpha, l.a, l.lda, b.b.Data[l.p*b.b.LD+l.j+q:], b.b.LD, panel, beta, sums, lds)
		return g.mr
	}
	return 0
}
