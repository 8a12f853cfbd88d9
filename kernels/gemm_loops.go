package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// The loops around the micro-kernel: one nest for every product of several rows,
// unless it consists of dot products.

// nest is the loops over one block: their steps, what is in turn, and where the
// panels of B are. All positions count from the block's first row and column.
type nest struct {
	b        *gemmBlock
	nc, mc   int  // columns and rows that are in turn at a time
	slice    int  // steps of k that are in turn at a time: kc, or all with an epilogue
	kc       int  // steps of k in one call of the micro-kernel
	finish   bool // there is an epilogue: a slice is summed up aside, and then C written
	prefetch bool // a panel is fetched while the one before it is multiplied

	// In turn: columns [j, j+n), steps [p, p+k) of k, rows [i, i+m), and A at these rows
	// and steps, the rows lda apart.
	j, n   int
	p, k   int
	i, m   int
	a      []float32
	lda    int
	source panelSource
}

// panels computes a block with panels of B.
func (b *gemmBlock) panels() {
	var l nest
	l.b = b
	l.plan()
	var s *gemmScratch
	if l.finish || b.tail > 0 || b.g.copyA || b.g.source.made() {
		s = gemmScratchPool.Get().(*gemmScratch)
		b.s = s
	}
	if l.finish {
		s.sums = grow(s.sums, l.mc*b.g.nr)
	}
	for l.j = 0; l.j < b.n; l.j += l.nc { // all, or as many as are packed at a time
		l.n = min(l.nc, b.n-l.j)
		l.source.n = max(0, min(l.n, b.n-b.tail-l.j))
		for l.p = 0; l.p == 0 || l.p < b.g.k; l.p += l.slice { // once if k is 0
			l.k = min(l.slice, b.g.k-l.p)
			l.source.first, l.source.ofColumn, l.source.ofStep, l.source.ld = l.openPanels()
			for l.i = 0; l.i < b.m; l.i += l.mc { // as many as the second-level cache holds
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
		gemmScratchPool.Put(s)
	}
}

// plan chooses the steps.
func (l *nest) plan() {
	b, g, size := l.b, l.b.g, &tuned.gemm
	l.finish = b.ep.any()
	l.kc = g.kc
	l.slice = l.kc
	if l.finish {
		l.slice = max(g.k, 1)
	}
	l.mc = size.mc
	if l.slice > gemmOrder.kc { // fewer
		l.mc = min(max(size.mc*gemmOrder.kc/l.slice/g.mr, 2)*g.mr, size.mc)
	}
	l.mc = evenly(b.m, l.mc, g.mr)
	l.nc = b.n
	if g.source == packedHere && l.mc < b.m && b.n-b.tail > size.nc {
		l.nc = size.nc
	}
	l.prefetch = g.prefetches(b.m)
}

// panel multiplies the rows of A that are in turn with w columns of B, from column q of
// those in turn: a panel, or two, and the last columns as dot products.
func (l *nest) panel(q, w int) {
	b, g := l.b, l.b.g
	beta := g.beta
	if l.p > 0 {
		beta = 1
	}
	c := b.c[l.i*g.ldc+l.j+q:]
	sums, lds := c, g.ldc
	if l.finish {
		sums, lds = b.s.sums, g.nr
		if beta != 0 {
			simd.CopyRows(g.isa, sums, c, l.m, w, lds, g.ldc)
		}
	}
	inPanel := max(0, min(w, l.source.n-q))
	for p := 0; p == 0 || p < l.k; p += l.kc {
		k := min(l.kc, l.k-p)
		if inPanel > 0 {
			panel := l.source.first[l.source.offset(q, p):]
			done, next, pace := 0, 0, 0
			if g.source.made() {
				done = l.makePanel(panel, q, p, inPanel, k, beta, sums, lds)
			}
			if l.prefetch {
				next, pace = l.next(q, p, w, k)
			}
			simd.GemmPanel(g.isa, l.m-done, inPanel, k, g.alpha, l.a[done*l.lda+p:], l.lda, panel, l.source.ld, next, pace, beta, sums[done*lds:], lds)
		}
		if inPanel < w {
			columns, ldb := b.tailOf(l.p+p, k, l.i == 0)
			b.dotBlock(l.a[p:], l.lda, columns, ldb, beta, sums[inPanel:], lds, l.m, w-inPanel, k)
		}
		beta = 1
	}
	if l.finish {
		b.finish(c, sums, l.i, l.j+q, l.m, w)
	}
}

// next is how far behind this panel the one begins that is multiplied next, or 0 if
// it is not to be fetched, and the pace at which it is fetched; see gemmPanel.
func (l *nest) next(q, p, w, k int) (next, pace int) {
	s, g := &l.source, l.b.g
	switch {
	case g.source == packedHere && l.i == 0: // it is not there yet
		return 0, 0
	case p+k < l.k:
		next = k * s.ofStep
	case q+w < s.n:
		next = s.offset(q+w, 0) - s.offset(q, p)
	case l.i+l.m < l.b.m:
		next = -s.offset(q, p)
	}
	if next != 0 && g.source != inPlace {
		tiles := (l.m + g.mr - 1) / g.mr
		pace = (4*g.nr + tiles - 1) / tiles
	}
	return next, pace
}

// stepsOfK is the number of steps of k in one call of the micro-kernel: gemmOrder's, but
// all calls alike, and more where A has few rows.
func (g *gemmCall) stepsOfK() int {
	limit := gemmOrder.kc
	if g.m <= g.mr {
		limit *= 4
	}
	unit := 8
	if g.b.packed != nil {
		unit = max(unit, g.b.packed.format.steps)
	}
	return evenly(g.k, limit, unit)
}

// evenly is a block size of at most limit that cuts n into blocks of about the
// same size, a multiple of unit where there are several.
func evenly(n, limit, unit int) int {
	if n <= limit {
		return max(n, 1)
	}
	units, most := (n+unit-1)/unit, max(limit/unit, 1)
	blocks := (units + most - 1) / most
	return (units + blocks - 1) / blocks * unit
}
