package kernels

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// A product on its way from the checked arguments to the loops: the call, its
// parts, which threads take, and blocks of neighbouring parts, which are computed
// as products of their own.

// gemmCall is one product or a batch of products of one shape, checked and with
// something to do.
type gemmCall struct {
	isa         ISA
	mr, nr      int // the register tile
	m, n, k     int
	alpha, beta float32
	a           operandA
	b           operandB
	c           []float32
	ldc         int
	ep          Epilogue

	batch                     int
	strideA, strideB, strideC int

	gemmPlan
}

// set fills in what all products have. A composite literal would be built aside
// and copied, which waits for the stores: as long as a small product's plan.
func (g *gemmCall) set(m, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	g.m, g.n, g.k = m, n, k
	g.alpha, g.beta = alpha, beta
	g.a.data, g.a.ld = a, lda
	g.c, g.ldc = c, ldc
}

var gemmCalls = sync.Pool{New: func() any { return new(gemmCall) }}

// run computes the product on up to t threads.
func (g *gemmCall) run(t Threads) {
	if g.m == 1 && g.b.packed == nil && !bool(g.b.trans) && (!bool(g.a.trans) || g.a.ld == 1) {
		(*gemvCall)(g).run(t)
		return
	}
	g.mr, g.nr = simd.GemmTile(g.isa)
	g.plan(t)
	parts := g.cutM * g.cutN * g.batch
	switch {
	case parts == 1:
		g.block(0, 0, 0, g.m, g.n)
		return
	case t <= 1:
		g.Do(0, parts)
		return
	}
	p := gemmCalls.Get().(*gemmCall)
	*p = *g
	par.Run(int(t), parts, p)
	*p = gemmCall{}
	gemmCalls.Put(p)
}

// Do implements par.Task: neighbouring parts of a band are one block.
func (g *gemmCall) Do(from, to int) {
	bands, inBand := g.cutM, g.cutN
	if g.byRows {
		bands, inBand = g.cutN, g.cutM
	}
	for from < to {
		item, band, first := from/(bands*inBand), from/inBand%bands, from%inBand
		last := min(first+to-from, inBand)
		i0, i1, j0, j1 := band, band+1, first, last
		if g.byRows {
			i0, i1, j0, j1 = j0, j1, i0, i1
		}
		i, j := i0*g.tall, j0*g.wide
		m, n := min(i1*g.tall, g.m)-i, min(j1*g.wide, g.n)-j
		if j1 == g.cutN {
			n = g.n - j // with the tail
		}
		g.block(item, i, j, m, n)
		from += last - first
	}
}

// gemmBlock is some rows and columns of one product, as a product of its own: A, B,
// C and what the epilogue adds begin at the block's first row and column, and so do
// all coordinates. What concerns the whole product is in g.
type gemmBlock struct {
	g    *gemmCall
	m, n int
	tail int // the last columns, which are dot products
	a    operandA
	b    operandB
	c    []float32
	ep   Epilogue
	s    *gemmScratch // nil if none is needed
}

// block computes m rows from row i and n columns from column j of a product of the
// batch. It sets field by field, as set does.
func (g *gemmCall) block(item, i, j, m, n int) {
	if m <= 0 || n <= 0 {
		return
	}
	if g.oneCall && m*n <= nearWork/g.k {
		simd.GemmNear(g.isa, m, n, g.k, g.alpha, g.a.at(item*g.strideA, i), g.a.ld, g.b.at(item*g.strideB, j), g.b.ld, g.beta, g.c[item*g.strideC+i*g.ldc+j:], g.ldc)
		return
	}
	var b gemmBlock
	b.g, b.m, b.n = g, m, n
	if j+n == g.n {
		b.tail = g.tail
	}
	b.a.data, b.a.ld, b.a.trans = g.a.at(item*g.strideA, i), g.a.ld, g.a.trans
	if b.b.packed, b.b.column = g.b.packed, j; b.b.packed == nil {
		b.b.data, b.b.ld, b.b.trans = g.b.at(item*g.strideB, j), g.b.ld, g.b.trans
	}
	b.c = g.c[item*g.strideC+i*g.ldc+j:]
	if g.finish {
		b.ep = g.ep.from(i, j)
	}
	switch g.path {
	case pathRow:
		b.row()
	case pathDot:
		b.dot()
	case pathInt8:
		b.int8Panels()
	default:
		b.panels()
	}
}

// gemmScratch holds the buffers of one running block. It goes back to the pool from a
// variable of its own: from a block's field, all that the block points to would
// escape to the heap.
type gemmScratch struct {
	a       []float32 // a copy of A's rows
	b       []float32 // panels of B
	columns []float32 // columns of B for dot products
	sums    []float32 // elements of C before the epilogue
	int8    int8Rows
}

var gemmScratchPool = sync.Pool{New: func() any { return new(gemmScratch) }}

// grow is a slice of n elements, buf itself if it is large enough. Slices of
// this size begin on a page, so vectors in them are aligned.
func grow[T float32 | int8 | int16 | int32](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n, max(n, 1<<13))
	}
	return buf[:n]
}
