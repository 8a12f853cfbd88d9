package product

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file has products of one row of A. Reading B limits their speed: the order must be one that
// the hardware prefetches.

// row computes a block of one row and of columns of a packed B.
func (b *block) row() {
	g, nr := b.g, b.g.nr
	c := b.c[:b.n]
	if !g.finish && b.n%nr == 0 {
		b.rowOfPanels(c)
		return
	}
	s := scratches.Get().(*scratch)
	s.sums = mem.Grow(s.sums, (b.n+nr-1)/nr*nr)
	if g.beta != 0 {
		copy(s.sums, c)
	}
	b.rowOfPanels(s.sums)
	for q := 0; q < b.n; q += nr {
		b.finish(c[q:], s.sums[q:], 0, q, 1, min(nr, b.n-q))
	}
	scratches.Put(s)
}

// rowOfPanels computes whole panels. Panels that it multiplies side by side are adjacent only if
// few are left. Otherwise each continues with its own neighbour, so that B is read as a few long
// runs of memory.
func (b *block) rowOfPanels(c []float32) {
	g, nr := b.g, b.g.nr
	for from, panels := 0, len(c)/nr; from < panels; {
		apart, together := max((panels-from)/simd.PanelsAtOnce, 1), min(panels-from, simd.PanelsAtOnce)
		for i := range apart {
			j, beta := (from+i)*nr, g.beta
			for p := 0; p < g.k; p += g.kc {
				b.b.packed.Gemv(together, apart, g.alpha, b.a.Data[p:min(p+g.kc, g.k)], b.b.column+j, p, beta, c[j:])
				beta = 1
			}
		}
		from += apart * together
	}
}

// gemvCall is a call with one row and B in place. It is a task of its own, whose parts are the
// stretches of k, each of which reads one run of memory; if there are few stretches, the parts are
// columns of stretches. The sums of all stretches except the first, and with a beta also those of
// the first, are in partial.
type gemvCall call

// run computes the products on up to t threads.
func (r *gemvCall) run(t int) {
	r.cut(t)
	var s *scratch
	if r.aside() > 0 {
		s = scratches.Get().(*scratch)
		s.sums = mem.Grow(s.sums, r.batch*r.aside()*r.n)
		r.partial = s.sums
	}
	r.runParts(t)
	const columns = 1 << 14 // per call
	if r.aside() > 0 || r.alpha != 1 {
		for item := range r.batch {
			for j := 0; j < r.n; j += columns {
				r.join(item, j, min(columns, r.n-j))
			}
		}
	}
	if s != nil {
		scratches.Put(s)
	}
}

func (r *gemvCall) runParts(t int) {
	g, parts := (*call)(r), r.batch*r.cutM*r.cutN
	if !worthThreads(t, g.workOf()*g.batch) {
		r.Do(0, parts)
		return
	}
	p := calls.Get().(*call)
	*p = *g
	par.Run(t, parts, (*gemvCall)(p))
	*p = call{}
	calls.Put(p)
}

// cut chooses the parts: stretches of k, and with several threads some columns of each.
func (r *gemvCall) cut(t int) {
	const most, elements, least = 8, 1 << 17, 1 << 7
	r.kc = order.StretchOf(r.k)
	r.cutM, r.cutN, r.wide = (r.k+r.kc-1)/r.kc, 1, r.n
	if !worthThreads(t, (*call)(r).workOf()*r.batch) {
		return
	}
	parts := min(most, r.n*r.k/elements)
	if cuts := min((parts+r.cutM-1)/r.cutM, r.n/least, t); cuts > 1 {
		r.wide = (r.n/cuts + least - 1) / least * least
		r.cutN = (r.n + r.wide - 1) / r.wide
	}
}

// aside returns the number of stretches of a product whose sums are in partial.
func (r *gemvCall) aside() int {
	if r.beta == 0 {
		return r.cutM - 1
	}
	return r.cutM
}

// Do implements par.Task.
func (r *gemvCall) Do(from, to int) {
	inItem := r.cutM * r.cutN
	for i := from; i < to; i++ {
		r.part(i/inItem, i%inItem/r.cutN, i%r.cutN*r.wide)
	}
}

// sumsOf returns the memory for the sums of a stretch.
func (r *gemvCall) sumsOf(item, stretch int) []float32 {
	if at := stretch - (r.cutM - r.aside()); at >= 0 {
		return r.partial[(item*r.aside()+at)*r.n:][:r.n]
	}
	return r.c[item*r.strideC:][:r.n]
}

// join computes n elements of C, beginning with column j, from the sums of their stretches.
func (r *gemvCall) join(item, j, n int) {
	c := r.c[item*r.strideC+j:][:n]
	for i := range r.cutM {
		sums := r.sumsOf(item, i)[j:][:n]
		if r.alpha != 1 {
			simd.ScaleVec(r.isa, sums, sums, r.alpha)
		}
		switch {
		case i > 0:
			simd.AddVec(r.isa, c, c, sums)
		case r.beta != 0:
			simd.AXPYVec(r.isa, sums, c, r.beta)
			copy(c, sums)
		}
	}
}

// part computes the sums of a stretch for the columns that begin with column first.
func (r *gemvCall) part(item, stretch, first int) {
	p, end := stretch*r.kc, min(first+r.wide, r.n)
	k := min(r.kc, r.k-p)
	x, b := r.a.Data[item*r.strideA+p:][:k], r.b.Data[item*r.strideB+p*r.b.LD:]
	sums := r.sumsOf(item, stretch)
	clear(sums[first:end])
	columns, ahead := tune.Used.Gemm.RowColumns, (*call)(r).fetchAhead(gemvRowsGroup)
	for j := first; j < end; j += columns {
		w := min(columns, end-j)
		step := max(1, 1<<18/(w*gemvRowsGroup)) * gemvRowsGroup // rows of about 1 MiB
		for p := 0; p < k; p += step {
			simd.GemvRows(r.isa, sums[j:j+w], x[p:min(p+step, k)], b[p*r.b.LD+j:], r.b.LD, ahead)
		}
	}
}
