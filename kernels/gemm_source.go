package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// Where the loops get their panels of B from.

// sourceKind says what is done about the panels of a product's B.
type sourceKind uint8

const (
	packedBefore sourceKind = iota // by PackB, with elements that the micro-kernel reads
	inPlace                        // B's own memory serves
	inHalves                       // by PackB, with elements of 16 bits that the micro-kernel for them reads
	widened                        // by PackB, with other elements: made float32 each time they are used
	packedHere                     // from B in the caller's memory, when they are used first
)

// made reports whether panels are made in the block's scratch memory.
func (k sourceKind) made() bool { return k >= widened }

// panelSource is where the panels of those columns of B and steps of k are that are in turn:
// what belongs to column q and step p lies offset(q, p) elements behind first.
type panelSource struct {
	first    []float32
	n        int // columns; those behind them are dot products
	ofColumn int // the distance of columns: a panel's, divided by NR
	ofStep   int // the distance of steps of k; both distances are 0 if panels replace one another
	ld       int // the distance of rows in a panel
}

func (s *panelSource) offset(q, p int) int { return q*s.ofColumn + p*s.ofStep }

// openPanels is the fields of source for the columns and steps that are in turn. Setting
// them here would take the block to the heap.
func (l *nest) openPanels() (first []float32, ofColumn, ofStep, ld int) {
	b, g := l.b, l.b.g
	switch {
	case l.source.n == 0, l.k == 0, g.source == inHalves: // dot products alone, no B, or the packed one itself
		return nil, 0, 0, 0
	case g.source == packedBefore:
		return b.b.packed.floats(b.b.column+l.j, l.p), b.b.packed.k, g.nr, g.nr
	case g.source == inPlace:
		return b.b.data[l.p*b.b.ld+l.j:], 1, b.b.ld, b.b.ld
	case g.source == packedHere && l.mc < b.m:
		ofColumn, ofStep = l.k, g.nr // panels are kept for further rows
	}
	last := (l.source.n - 1) / g.nr * g.nr
	b.s.b = grow(b.s.b, last*ofColumn+min(l.k, g.kc)*g.nr)
	return b.s.b, ofColumn, ofStep, g.nr
}

// width is how many columns from column q on are multiplied next.
func (l *nest) width(q int) int {
	g, nr := l.b.g, l.b.g.nr
	if g.source == inPlace && g.near { // as much as other calls do
		return min(max(2*nr, tuned.gemm.mc*gemmOrder.kc*nr/(l.m*max(l.k, 1))/nr*nr), l.n-q)
	}
	if g.wideTiles && l.source.n-q >= 2*nr {
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
	case g.source == widened: // to b.s.b, which is panel: a function value takes what holds its arguments to the heap
		b.b.packed.widen(b.s.b, b.b.column+l.j+q, l.p+p, k)
	case l.i > 0: // it is there
	case bool(b.b.trans) || n < g.nr || l.m <= g.mr:
		b.b.packPanels(g.isa, panel, l.p, l.j+q, k, n, g.nr)
	default:
		simd.GemmPack(g.isa, g.mr, n, k, g.alpha, l.a, l.lda, b.b.data[l.p*b.b.ld+l.j+q:], b.b.ld, panel, beta, sums, lds)
		return g.mr
	}
	return 0
}
