package kernels

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Products of one row of A. They are bound by reading B: what counts is that it
// comes in an order that the machine fetches ahead.

// row computes a block of one row and of columns of a packed B.
func (b *gemmBlock) row() {
	g := b.g
	c, x, nr := b.c[:b.n], b.a.data[:g.k], g.nr
	step := max(1, 1<<19/(g.k*nr)) * nr // columns of a call, some 2 MiB of B
	panels := func(sums []float32) {
		for q := 0; q < len(sums); q += step {
			simd.GemvPanels(g.isa, sums[q:min(q+step, len(sums))], x, b.b.packed.floats(b.b.column+q, 0), nr)
		}
	}
	if g.alpha == 1 && g.beta == 0 && !b.ep.any() && b.n%nr == 0 {
		panels(c)
		return
	}
	s := gemmScratchPool.Get().(*gemmScratch)
	s.sums = grow(s.sums, (b.n+nr-1)/nr*nr)
	panels(s.sums[:(b.n-b.tail+nr-1)/nr*nr])
	if b.tail > 0 {
		columns, ldb := b.tailOf(0, g.k, false)
		simd.GemmDot(g.isa, 1, b.tail, g.k, 1, x, g.k, columns, ldb, s.sums[b.n-b.tail:], nr)
	}
	for q := range c {
		s.sums[q] *= g.alpha
		if g.beta != 0 {
			s.sums[q] += g.beta * c[q]
		}
	}
	for q := 0; q < b.n; q += nr {
		b.finish(c[q:], s.sums[q:], 0, q, 1, min(nr, b.n-q))
	}
	gemmScratchPool.Put(s)
}

// rowCut is a product, or a batch of them, of one row and B in place, which is cut
// along k, so that each part reads one run of memory. All parts but the first of a
// product have their sums in partial.
type rowCut struct {
	g       gemmCall
	parts   int // of a product
	steps   int // of k in a part
	partial []float32
}

var rowCuts = sync.Pool{New: func() any { return new(rowCut) }}

// runRow computes such a product on up to t threads.
func runRow(g *gemmCall, t Threads) {
	var r rowCut
	r.g = *g
	r.cut()
	var s *gemmScratch
	if r.parts > 1 {
		s = gemmScratchPool.Get().(*gemmScratch)
		s.sums = grow(s.sums, g.batch*(r.parts-1)*g.n)
		r.partial = s.sums
	}
	r.run(t)
	if r.parts == 1 {
		return
	}
	const columns = 1 << 12 // of a call
	for item := range g.batch {
		for j := 0; j < g.n; j += columns {
			simd.AddRows(g.isa, g.c[item*g.strideC+j:], r.sumsOf(item, 1)[j:], r.parts-1, min(columns, g.n-j), 0, g.n)
		}
	}
	gemmScratchPool.Put(s)
}

func (r *rowCut) run(t Threads) {
	if !worthThreads(t, r.g.workOf()*r.g.batch) {
		r.Do(0, r.g.batch*r.parts)
		return
	}
	p := rowCuts.Get().(*rowCut)
	*p = *r
	par.Run(int(t), r.g.batch*r.parts, p)
	*p = rowCut{}
	rowCuts.Put(p)
}

// cut chooses the parts. They depend on the shape alone, since they decide in what
// order an element of C is summed up. They are few: a part's sums are a row of C,
// and B has 24 rows for it at least.
func (r *rowCut) cut() {
	const most, elements = 8, 1 << 17
	n, k := r.g.n, r.g.k
	parts := max(1, min(most, k/(4*gemvRowsGroup), n*k/elements))
	steps := (k + parts - 1) / parts
	r.steps = (steps + gemvRowsGroup - 1) / gemvRowsGroup * gemvRowsGroup
	r.parts = (k + r.steps - 1) / r.steps
}

// Do implements par.Task.
func (r *rowCut) Do(from, to int) {
	for i := from; i < to; i++ {
		r.part(i/r.parts, i%r.parts)
	}
}

// sumsOf is the memory for the sums of a part that is not the first, and of those
// after it.
func (r *rowCut) sumsOf(item, part int) []float32 {
	return r.partial[(item*(r.parts-1)+part-1)*r.g.n:]
}

// part computes one part of a product of the batch.
func (r *rowCut) part(item, part int) {
	g := &r.g
	p := part * r.steps
	k := min(r.steps, g.k-p)
	x, b := g.a.data[item*g.strideA+p:][:k], g.b.data[item*g.strideB+p*g.b.ld:]
	var c []float32
	if part == 0 {
		c = g.c[item*g.strideC:][:g.n]
		scaleMatrix(c, 1, g.n, g.n, g.beta)
	} else {
		c = r.sumsOf(item, part)[:g.n]
		clear(c)
	}
	var s *gemmScratch
	if g.alpha != 1 {
		s = gemmScratchPool.Get().(*gemmScratch)
		s.a = grow(s.a, k)
		simd.ScaleVec(g.isa, s.a, x, g.alpha)
		x = s.a
	}
	// Columns that stay in the first-level cache, and rows of some 1 MiB.
	const columns = 4096
	ahead := fetchAhead(g.n*g.k, gemvRowsGroup*g.b.ld)
	for j := 0; j < g.n; j += columns {
		w := min(columns, g.n-j)
		step := max(1, 1<<18/(w*gemvRowsGroup)) * gemvRowsGroup
		for p := 0; p < k; p += step {
			simd.GemvRows(g.isa, c[j:j+w], x[p:min(p+step, k)], b[p*g.b.ld+j:], g.b.ld, ahead)
		}
	}
	if s != nil {
		gemmScratchPool.Put(s)
	}
}

// fetchAhead is how far ahead of its use a B of some elements is fetched: ahead, or 0
// if it does not come from memory.
func fetchAhead(elements, ahead int) int {
	if elements < tuned.gemm.farElements {
		return 0
	}
	return ahead
}
