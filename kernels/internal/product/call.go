package product

import (
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has a product between the checked arguments and the loops.

// call is one product or a batch of products of one shape, checked and not empty.
type call struct {
	isa         simd.ISA
	mr, nr      int // the register tile
	m, n, k     int
	alpha, beta float32
	a           pack.A
	b           operand
	prepared    *weights.RowsOfA // A as integers, if it was made before; a is empty then
	c           []float32
	ldc         int
	ep          Epilogue

	batch                     int
	strideA, strideB, strideC int
	number                    uint64 // of a call on several goroutines that converts its rows, which no other call has; otherwise 0

	plan
}

// operand is op(B): packed by PackB, from some column on, or in the caller's memory.
type operand struct {
	packed *weights.Matrix
	column int
	pack.B
}

// set fills in what all products have. A composite literal would be built aside
// and copied, which waits for the stores: as long as a small product's plan.
func (g *call) set(m, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	g.m, g.n, g.k = m, n, k
	g.alpha, g.beta = alpha, beta
	g.a.Data, g.a.LD = a, lda
	g.c, g.ldc = c, ldc
}

var calls = sync.Pool{New: func() any { return new(call) }}

// plan is how a product is computed.
type plan struct {
	way       way
	wideTiles bool // the micro-kernel's tiles have half the height and twice the width
	oneCall   bool // a block of nearWork is one call of simd.GemmNear
	copyA     bool // A's blocks are copied

	// The loops around the micro-kernel; see planLoops.
	finish bool // there is an epilogue: sums are finished aside, and then C is written
	kc     int  // steps of k in one call of the micro-kernel, a stretch of package order
	slice  int  // steps of k that are in turn at a time: some stretches, or all with an epilogue
	mc     int  // rows that are in turn at a time, at most

	// The partition of each product: cutM x cutN parts of tall x wide elements,
	// numbered along rows of C, or byRows along its columns. The tail belongs to the
	// last parts.
	cutM, cutN int
	tall, wide int
	byRows     bool

	partial []float32 // sums of a gemvCall
}

// block is some rows and columns of one product, as a product of its own: A, B,
// C and what the epilogue adds begin at the block's first row and column, and so do
// all coordinates. What concerns the whole product is in g.
type block struct {
	g    *call
	m, n int
	a    pack.A
	b    operand
	c    []float32
	top  int // the block's first row, where each product of the batch has m
	ep   Epilogue
	s    *scratch // nil if none is needed
}

// scratch holds the buffers of one running block. It goes back to the pool from a
// variable of its own: from a block's field, all that the block points to would
// escape to the heap.
type scratch struct {
	a        []float32 // a copy of A's rows
	b        []float32 // panels of B
	sums     []float32 // elements of C before the epilogue
	int8     weights.RowsOfA
	integers rowsOfCall // those in int8
	rounded  weights.RoundedRows
	pairs    rowsOfCall // those in rounded
	strip    []float32  // products by tiles that are not C's elements yet
	tileSums []int32    // of simd.Int8Tiles
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// rowsOfCall are some rows of a call.
type rowsOfCall struct {
	call         uint64 // 0: none
	first, count int    // counted through all items of the batch
}

// numbers is the number of calls whose rows goroutines hold.
var numbers atomic.Uint64

// held reports whether rows are m rows of the block, from row i on, and notes that they are now. A goroutine computes several blocks of a
// band one after the other: what it made of the rows for the first one is there for the others.
func (b *block) held(rows *rowsOfCall, i, m int) bool {
	before := *rows
	*rows = rowsOfCall{b.g.number, b.top + i, m}
	return *rows == before && rows.call != 0
}

// scaleMatrix is C = beta*C, without reading C when beta is 0.
func scaleMatrix(c []float32, m, n, ldc int, beta float32) {
	for i := range m {
		row := c[i*ldc:][:n]
		if beta == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] *= beta
		}
	}
}

// fetchAhead is how many elements ahead of its use a B in place is fetched for one row that goes through its rows, or
// columns, group at a time: 0 if it does not come from memory.
func (g *call) fetchAhead(group int) int {
	if g.n*g.k < gemvFar {
		return 0
	}
	if ahead := tune.Used.Gemm.RowAhead; ahead > 0 {
		return ahead
	}
	return group * g.b.LD
}
