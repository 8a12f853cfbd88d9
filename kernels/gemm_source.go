package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// Where the loops get their panels of B from.

// sourceKind says what is done about the panels of a product's B.
type sourceKind uint8

const (
	packedBefore sourceKind = iota // by PackB, with elements that the micro-kernel reads
	widened                        // by PackB, with others: made float32 each time they are used
	packedHere                     // from B in the caller's memory, when they are used first
	inPlace                        // B's own memory serves
)

// panelSource is the panels of those columns of B and steps of k that are in turn:
// the one with column q begins, at step p, offset(q, p) elements behind first.
type panelSource struct {
	kind   sourceKind
	wide   bool // the micro-kernel takes two panels at once
	nr, n  int  // columns of a panel, and of all of them
	first  []float32
	stride int // from one panel to the next, 0 if each replaces the one before
	ld     int // from one step of k to the next
}

// openSource is the source for the columns and steps that are in turn. It returns what
// it could set, since that would have the call escape to the heap.
func (l *nest) openSource() panelSource {
	b, g := l.b, l.b.g
	s := panelSource{kind: g.source, nr: g.nr, ld: g.nr}
	s.n = max(0, min(l.n, b.n-b.tail-l.j))
	if s.n == 0 {
		return s // dot products alone
	}
	switch s.kind {
	case packedBefore:
		s.stride = b.b.packed.k * s.nr
		s.first = b.b.packed.floats(b.b.column+l.j, l.p)
	case inPlace:
		s.stride, s.ld, s.wide = s.nr, b.b.ld, g.wideTiles
		s.first = b.b.data[l.p*b.b.ld+l.j:]
	default:
		if s.kind == packedHere && l.rows < b.m {
			s.stride = l.k * s.nr // panels are kept for further rows
		}
		b.s.b = grow(b.s.b, (s.n-1)/s.nr*s.stride+min(l.k, l.kc)*s.nr)
		s.first = b.s.b
	}
	return s
}

func (s *panelSource) offset(q, p int) int { return q/s.nr*s.stride + p*s.ld }

// width is how many columns from column q on are multiplied next.
func (s *panelSource) width(q, n int) int {
	if s.wide && s.n-q >= 2*s.nr {
		return 2 * s.nr
	}
	return min(s.nr, n-q)
}

// panel is the panel of the n columns from column q at step p. If it must be made
// for k steps and a tile of A's rows can be multiplied on the way, done is how many
// rows of sums are finished.
func (s *panelSource) panel(l *nest, q, p, n, k int, beta float32, sums []float32, lds int) (panel []float32, done int) {
	b, g := l.b, l.b.g
	switch s.kind {
	case widened:
		b.b.packed.widen(b.s.b, b.b.column+l.j+q, l.p+p, k) // s.first would take b to the heap
		return b.s.b, 0
	case packedHere:
	default:
		return s.first[s.offset(q, p):], 0
	}
	panel = s.first[s.offset(q, p):]
	switch {
	case l.i > 0: // it has been packed
	case bool(b.b.trans) || n < s.nr || l.m <= g.mr:
		b.b.packPanels(g.isa, panel, l.p, l.j+q, k, n, s.nr)
	default:
		simd.GemmPack(g.isa, g.mr, n, k, g.alpha, l.a, l.lda, b.b.data[l.p*b.b.ld+l.j+q:], b.b.ld, panel, beta, sums, lds)
		done = g.mr
	}
	return panel, done
}
