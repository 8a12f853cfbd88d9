package product

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// Products of one row of A. They are bound by reading B: what counts is that it
// comes in an order that the machine fetches ahead.

// row computes a block of one row and of columns of a packed B.
func (b *block) row() {
	g := b.g
	c, x, nr := b.c[:b.n], b.a.Data[:g.k], g.nr
	step := max(1, 1<<19/(g.k*nr)) * nr // columns of a call, some 2 MiB of float32
	panels := func(sums []float32) {
		for q := 0; q < len(sums); q += step {
			b.b.packed.Gemv(sums[q:min(q+step, len(sums))], x, b.b.column+q)
		}
	}
	if g.alpha == 1 && g.beta == 0 && !g.finish && b.n%nr == 0 {
		panels(c)
		return
	}
	s := scratches.Get().(*scratch)
	s.sums = mem.Grow(s.sums, (b.n+nr-1)/nr*nr)
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
	scratches.Put(s)
}

// gemvCall is a call of one row and B in place: a task of its own, whose parts are
// of k instead of C, so that each reads one run of memory. All parts but the first of a
// product have their sums in partial.
type gemvCall call

// run computes the products on up to t threads.
func (r *gemvCall) run(t int) {
	r.cut()
	var s *scratch
	if r.parts > 1 {
		s = scratches.Get().(*scratch)
		s.sums = mem.Grow(s.sums, r.batch*(r.parts-1)*r.n)
		r.partial = s.sums
	}
	r.runParts(t)
	if r.parts == 1 {
		return
	}
	const columns = 1 << 12 // of a call
	for item := range r.batch {
		for j := 0; j < r.n; j += columns {
			simd.AddRows(r.isa, r.c[item*r.strideC+j:], r.sumsOf(item, 1)[j:], r.parts-1, min(columns, r.n-j), 0, r.n)
		}
	}
	scratches.Put(s)
}

func (r *gemvCall) runParts(t int) {
	g := (*call)(r)
	if !worthThreads(t, g.workOf()*g.batch) {
		r.Do(0, r.batch*r.parts)
		return
	}
	p := calls.Get().(*call)
	*p = *g
	par.Run(t, r.batch*r.parts, (*gemvCall)(p))
	*p = call{}
	calls.Put(p)
}

// cut chooses the parts. They depend on the shape alone, since they decide in what
// order an element of C is summed up. They are few: a part's sums are a row of C,
// and B has 24 rows for it at least.
func (r *gemvCall) cut() {
	const most, elements = 8, 1 << 17
	n, k := r.n, r.k
	parts := max(1, min(most, k/(4*gemvRowsGroup), n*k/elements))
	steps := (k + parts - 1) / parts
	r.steps = (steps + gemvRowsGroup - 1) / gemvRowsGroup * gemvRowsGroup
	r.parts = (k + r.steps - 1) / r.steps
}

// Do implements par.Task.
func (r *gemvCall) Do(from, to int) {
	for i := from; i < to; i++ {
		r.part(i/r.parts, i%r.parts)
	}
}

// sumsOf is the memory for the sums of a part that is not the first, and of those
// after it.
func (r *gemvCall) sumsOf(item, part int) []float32 {
	return r.partial[(item*(r.parts-1)+part-1)*r.n:]
}

// part computes one part of a product of the batch.
func (r *gemvCall) part(item, part int) {
	p := part * r.steps
	k := min(r.steps, r.k-p)
	x, b := r.a.Data[item*r.strideA+p:][:k], r.b.Data[item*r.strideB+p*r.b.LD:]
	var c []float32
	if part == 0 {
		c = r.c[item*r.strideC:][:r.n]
		scaleMatrix(c, 1, r.n, r.n, r.beta)
	} else {
		c = r.sumsOf(item, part)[:r.n]
		clear(c)
	}
	var s *scratch
	if r.alpha != 1 {
		s = scratches.Get().(*scratch)
		s.a = mem.Grow(s.a, k)
		simd.ScaleVec(r.isa, s.a, x, r.alpha)
		x = s.a
	}
	columns, ahead := tune.Used.Gemm.RowColumns, (*call)(r).fetchAhead(gemvRowsGroup)
	for j := 0; j < r.n; j += columns {
		w := min(columns, r.n-j)
		step := max(1, 1<<18/(w*gemvRowsGroup)) * gemvRowsGroup // rows of some 1 MiB
		for p := 0; p < k; p += step {
			simd.GemvRows(r.isa, c[j:j+w], x[p:min(p+step, k)], b[p*r.b.LD+j:], r.b.LD, ahead)
		}
	}
	if s != nil {
		scratches.Put(s)
	}
}
