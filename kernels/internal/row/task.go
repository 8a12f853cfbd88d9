// Package row has the functions that work row by row or element by element.
//
// task.go has what they have in common: how much one call of the assembly takes, and how rows are
// handed to threads. The arguments are those of package kernels, which has checked them.
package row

import (
	"iter"
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// budget is how many elements one call of an assembly kernel takes at most.
// Goroutines cannot be preempted inside it, so it is to end within 100 µs on a slow
// core: at 2 GHz, with memory that delivers 4 GB/s. How a call is cut by it changes no result.
type budget int

// BudgetOf is the budget of a kernel on a tier, from its record.
func BudgetOf(k simd.Kernel, isa simd.ISA) budget { return budget(k.On(isa).Elements) }

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

// Rows yields the bounds of runs of rows that have at most b elements together, or
// one row if a row alone has more.
func (b budget) Rows(rows, cols int) iter.Seq2[int, int] {
	step := max(1, int(b)/max(cols, 1))
	return func(yield func(from, to int) bool) {
		for r := 0; r < rows; r += step {
			if !yield(r, min(r+step, rows)) {
				return
			}
		}
	}
}

// SumElements is the longest row that is summed in one piece. The sums of the
// pieces of longer rows are added in float64, which bounds the error.
const SumElements = 1 << 13

// rowBuffers are places for a row's exponentials or differences.
var rowBuffers = sync.Pool{New: func() any { return new(rowBuffer) }}

// rowBuffer has room for two vectors more than the longest row, SoftmaxPiece, as softmaxRowsStream wants it.
type rowBuffer [2*SumElements + TwoVectors]float32

const TwoVectors = 32 // of the widest tier

// Streamed reports whether a call on whole matrices writes past the caches.
// In place that does not pay, since what is written has just been read.
func Streamed(dst, x []float32) bool {
	return len(dst) >= tune.Used.Rows.StreamElements && &dst[0] != &x[0]
}

// alone reports whether a call on t threads with n elements in several rows is serial:
// if it has fewer than two parts.
func alone(t, rows, n int) bool {
	return t <= 1 || rows <= 1 || n < 2*tune.Used.Rows.PartElements
}

// task is a call on several threads: its arguments, and do for the rows
// [from, to). Rows are computed one by one, so results do not depend on how they are
// handed out. Elementwise functions have rows of one element.
type task struct {
	do               func(c *task, from, to int)
	isa              simd.ISA
	dst, sum, x, y   []float32
	weight, bias     []float32
	masked           *Masked
	eps, alpha       float32
	unary            unaryKernel
	binary           binaryKernel
	scaled           scaledKernel
	budget           budget // of unary and binary
	index            []int32
	per              int // rows that index has for each
	gate             Gate
	n, cols, perPart int
	stream           bool
}

// Gate is what GLU does to gate and up.
type Gate struct {
	Unary     func(isa simd.ISA, dst, x []float32) // the activation
	Kernel    simd.Kernel                          // its kernel
	Sharpness float32                              // s: activation(s*gate)/s; 0: 1
	Limit     float32                              // of gate above, and of up on both sides; 0: none
	Offset    float32                              // added to up
}

var tasks = sync.Pool{New: func() any { return new(task) }}

// split runs a checked call for n rows on t threads.
func split(t, n, cols int, call *task) {
	c := tasks.Get().(*task)
	*c = *call
	c.n, c.cols = n, cols
	c.perPart = max(1, tune.Used.Rows.PartElements/cols)
	par.Run(t, (n+c.perPart-1)/c.perPart, c)
	*c = task{}
	tasks.Put(c)
}

// Do implements par.Task.
func (c *task) Do(from, to int) { c.do(c, from*c.perPart, min(to*c.perPart, c.n)) }

// at is the rows [from, to) of a matrix of the call.
func (c *task) at(x []float32, from, to int) []float32 { return x[from*c.cols : to*c.cols] }

// The dispatching functions of the kinds of kernels.
type (
	unaryKernel  func(isa simd.ISA, dst, x []float32)
	binaryKernel func(isa simd.ISA, dst, x, y []float32)
	scaledKernel func(isa simd.ISA, dst, x []float32, alpha float32)
)
