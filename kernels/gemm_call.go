package kernels

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/weights"
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
	a           pack.A
	b           operand
	c           []float32
	ldc         int
	ep          Epilogue

	batch                     int
	strideA, strideB, strideC int

	gemmPlan
}

// operand is op(B): packed by PackB, from some column on, or in the caller's memory.
type operand struct {
	packed *weights.Matrix
	column int
	pack.B
}

// set fills in what all products have. A composite literal would be built aside
// and copied, which waits for the stores: as long as a small product's plan.
func (g *gemmCall) set(m, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	g.m, g.n, g.k = m, n, k
	g.alpha, g.beta = alpha, beta
	g.a.Data, g.a.LD = a, lda
	g.c, g.ldc = c, ldc
}

var gemmCalls = sync.Pool{New: func() any { return new(gemmCall) }}

// run computes the product on up to t threads.
func (g *gemmCall) run(t Threads) {
	if g.m == 1 && g.b.packed == nil && !g.b.Trans && (!g.a.Trans || g.a.LD == 1) {
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
	a    pack.A
	b    operand
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
		simd.GemmNear(g.isa, m, n, g.k, g.alpha, g.a.At(item*g.strideA, i), g.a.LD, g.b.At(item*g.strideB, j), g.b.LD, g.beta, g.c[item*g.strideC+i*g.ldc+j:], g.ldc)
		return
	}
	var b gemmBlock
	b.g, b.m, b.n = g, m, n
	if j+n == g.n {
		b.tail = g.tail
	}
	b.a.Data, b.a.LD, b.a.Trans = g.a.At(item*g.strideA, i), g.a.LD, g.a.Trans
	if b.b.packed, b.b.column = g.b.packed, j; b.b.packed == nil {
		b.b.Data, b.b.LD, b.b.Trans = g.b.At(item*g.strideB, j), g.b.LD, g.b.Trans
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
	int8    weights.RowsOfA
}

var gemmScratchPool = sync.Pool{New: func() any { return new(gemmScratch) }}
