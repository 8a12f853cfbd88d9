package product

import (
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// This file has the state of a product between the check of its arguments and the loops.

// call is a product, or a batch of products of one shape. It is checked and not empty.
type call struct {
	isa         simd.ISA
	mr, nr      int // the register tile
	m, n, k     int
	alpha, beta float32
	a           pack.A
	b           operand
	prepared    *weights.RowsOfA // A as integers, if it was converted before; then a is empty
	c           []float32
	ldc         int
	ep          Epilogue

	batch                     int
	strideA, strideB, strideC int
	number                    uint64 // identifies a call on several goroutines that converts its rows; otherwise 0

	plan
}

// operand is op(B): packed by PackB, from some column on, or in the caller's memory.
type operand struct {
	packed *weights.Matrix
	column int
	pack.B
}

// set sets the fields that all products have. For a composite literal, the compiler would build a
// copy and move it, which waits for the stores: that takes the same time as planning a small
// product.
func (g *call) set(m, n, k int, alpha float32, a []float32, lda int, beta float32, c []float32, ldc int) {
	g.m, g.n, g.k = m, n, k
	g.alpha, g.beta = alpha, beta
	g.a.Data, g.a.LD = a, lda
	g.c, g.ldc = c, ldc
}

var calls = sync.Pool{New: func() any { return new(call) }}

// plan is the way in which a product is computed.
type plan struct {
	way       way
	wideTiles bool // tiles have half the height and twice the width
	oneCall   bool // a block of nearWork is one call of simd.GemmNear
	copyA     bool // blocks of A are copied

	// The loops around the micro-kernel; see planLoops.
	finish bool // there is an epilogue: sums are finished in scratch memory, and then written to C
	kc     int  // steps of k per call of the micro-kernel: a stretch of package order
	slice  int  // steps of k per iteration of the outer loop over k: some stretches, or all with an epilogue
	mc     int  // largest number of rows at a time

	// The partition of each product: cutM x cutN parts of tall x wide elements, numbered along rows
	// of C, or if byRows is set along its columns. The last parts have the remainder.
	cutM, cutN int
	tall, wide int
	byRows     bool

	partial []float32 // sums of a gemvCall
}

// block is some rows and columns of one product, as a product of its own: A, B, C and the operands
// of the epilogue begin at the block's first row and column, and so do all coordinates. g has the
// data of the whole product.
type block struct {
	g    *call
	m, n int
	a    pack.A
	b    operand
	c    []float32
	top  int // the block's first row; each product of the batch has m rows
	ep   Epilogue
	s    *scratch // nil if none is needed
}

// scratch holds the buffers of one running block. A variable returns it to the pool: if it were a
// block's field, everything that the block points to would escape to the heap.
type scratch struct {
	a        []float32 // a copy of A's rows
	b        []float32 // panels of B
	sums     []float32 // elements of C before the epilogue
	int8     weights.RowsOfA
	integers rowsOfCall // rows in integers
	rounded  weights.RoundedRows
	pairs    rowsOfCall // rows in rounded
	strip    []float32  // products by tiles that have not become elements of C yet
	tileWork []int32    // memory of the kernels of tiles
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// rowsOfCall identifies some rows of a call.
type rowsOfCall struct {
	call         uint64 // 0: no rows
	first, count int    // counted over all items of the batch
}

// numbers is the number of calls so far that numbered their rows.
var numbers atomic.Uint64

// held reports whether rows are m rows of the block, beginning with row i, and sets rows to these.
// A goroutine computes several blocks of a band one after the other, and the converted rows of the
// first block are used again for the next ones.
func (b *block) held(rows *rowsOfCall, i, m int) bool {
	before := *rows
	*rows = rowsOfCall{b.g.number, b.top + i, m}
	return *rows == before && rows.call != 0
}

// scaleMatrix sets C to beta*C. It does not read C if beta is 0.
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

// fetchAhead returns the distance in elements at which a B in place is fetched ahead, for a product
// of one row that reads group rows, or columns, of B at a time. It is 0 if B does not come from
// memory.
func (g *call) fetchAhead(group int) int {
	if g.n*g.k < gemvFar {
		return 0
	}
	if ahead := tune.Used.Gemm.RowAhead; ahead > 0 {
		return ahead
	}
	return group * g.b.LD
}
