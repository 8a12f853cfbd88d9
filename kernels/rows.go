package kernels

// What the functions that work row by row or element by element have in common: how
// much one call of the assembly takes, and how rows are handed to threads.

import (
	"iter"
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// budget is how many elements one call of an assembly kernel takes at most.
// Goroutines cannot be preempted inside it, so it is to end within 100 µs on a slow
// core: at 2 GHz, with memory that delivers 4 GB/s. How a call is cut by it changes no result.
type budget int

// budgetOf is the budget of a kernel on a tier, from its record.
func budgetOf(k simd.Kernel, isa ISA) budget { return budget(k.On(isa).Elements) }

// pieces yields the bounds of the pieces, of at most b elements, of n elements.
func (b budget) pieces(n int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for i := 0; i < n; i += int(b) {
			if !yield(i, min(i+int(b), n)) {
				return
			}
		}
	}
}

// rows yields the bounds of runs of rows that have at most b elements together, or
// one row if a row alone has more.
func (b budget) rows(rows, cols int) iter.Seq2[int, int] {
	step := max(1, int(b)/max(cols, 1))
	return func(yield func(from, to int) bool) {
		for r := 0; r < rows; r += step {
			if !yield(r, min(r+step, rows)) {
				return
			}
		}
	}
}

// sumElements is the longest row that is summed in one piece. The sums of the
// pieces of longer rows are added in float64, which bounds the error.
const sumElements = 1 << 13

// rowBuffers are places for a row's exponentials or differences.
var rowBuffers = sync.Pool{New: func() any { return new(rowBuffer) }}

// rowBuffer has room for two vectors more than the longest row of softmaxPiece, as softmaxRowsStream wants it.
type rowBuffer [2*sumElements + twoVectors]float32

const twoVectors = 32 // of the widest tier

// streamed reports whether a call on whole matrices writes past the caches.
// In place that does not pay, since what is written has just been read.
func streamed(dst, x []float32) bool {
	return len(dst) >= tuned.rows.streamElements && &dst[0] != &x[0]
}

// checkRows panics unless dst and x are rows x cols.
func checkRows(fn string, dst, x []float32, rows, cols int) {
	n := mulLen(fn, rows, cols)
	checkLen(fn, "dst", len(dst), n, "rows*cols")
	checkLen(fn, "x", len(x), n, "rows*cols")
}

// alone reports whether a call on t threads with n elements in several rows is serial:
// if it has fewer than two parts.
func (t Threads) alone(rows, n int) bool { return t <= 1 || rows <= 1 || n < 2*tuned.rows.partElements }

// rowCall is a call on several threads: its arguments, and do for the rows
// [from, to). Rows are computed one by one, so results do not depend on how they are
// handed out. Elementwise functions have rows of one element.
type rowCall struct {
	do               func(c *rowCall, from, to int)
	isa              ISA
	dst, sum, x, y   []float32
	weight, bias     []float32
	mask             SoftmaxMask
	eps, alpha       float32
	unary            unaryKernel
	binary           binaryKernel
	scaled           scaledKernel
	budget           budget // of unary and binary
	n, cols, perPart int
	stream           bool
}

var rowCalls = sync.Pool{New: func() any { return new(rowCall) }}

// split runs a checked call for n rows on t threads.
func (t Threads) split(n, cols int, call *rowCall) {
	c := rowCalls.Get().(*rowCall)
	*c = *call
	c.n, c.cols = n, cols
	c.perPart = max(1, tuned.rows.partElements/cols)
	par.Run(int(t), (n+c.perPart-1)/c.perPart, c)
	*c = rowCall{}
	rowCalls.Put(c)
}

// Do implements par.Task.
func (c *rowCall) Do(from, to int) { c.do(c, from*c.perPart, min(to*c.perPart, c.n)) }

// at is the rows [from, to) of a matrix of the call.
func (c *rowCall) at(x []float32, from, to int) []float32 { return x[from*c.cols : to*c.cols] }
