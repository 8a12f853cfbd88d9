// Package row computes functions that work row by row, or element by element. Package kernels has
// checked their arguments.
//
//   - task.go hands the rows of a call to threads.
//   - budget.go limits the size of one call of the assembly, and buffer.go has memory for parts of
//     a row.
//   - The other files have the functions: elementwise.go, norm.go with norm_long.go, softmax.go
//     with softmax_long.go and softmax_masked.go, gather.go, glu.go, signs.go and recurrence.go.
//
// A function of rows has a record of its arguments, and computes some of the rows: all of them in a
// serial call, and the rows of a part on each thread.
package row

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// tasks runs calls of one function, whose arguments are A, on several threads. It keeps the memory
// of a call for the next one, so that calls do not allocate.
type tasks[A any] struct{ pool sync.Pool }

// split computes the rows of a checked call on t threads: do is called for the rows [from, to),
// which have cols elements each. Each row is computed by one call of do, so results do not depend
// on the number of threads.
func (p *tasks[A]) split(t, rows, cols int, args *A, do func(args *A, from, to int)) {
	c, _ := p.pool.Get().(*task[A])
	if c == nil {
		c = new(task[A])
	}
	*c = task[A]{args: *args, do: do, rows: rows, perPart: max(1, tune.Used.Rows.PartElements/cols)}
	par.Run(t, (rows+c.perPart-1)/c.perPart, c)
	*c = task[A]{}
	p.pool.Put(c)
}

// task is one call.
type task[A any] struct {
	args          A
	do            func(args *A, from, to int)
	rows, perPart int
}

// Do implements par.Task.
func (c *task[A]) Do(from, to int) { c.do(&c.args, from*c.perPart, min(to*c.perPart, c.rows)) }

// alone reports whether a call on t threads is serial, because its rows, with n elements together,
// are fewer than two parts.
func alone(t, rows, n int) bool {
	return t <= 1 || rows <= 1 || n < 2*tune.Used.Rows.PartElements
}

// Streamed reports whether a call on whole matrices writes past the caches. In place that is
// slower, since the call has just read the memory that it overwrites.
func Streamed(dst, x []float32) bool {
	return len(dst) >= tune.Used.Rows.StreamElements && &dst[0] != &x[0]
}

// span returns the rows [from, to) of a matrix.
func span(x []float32, from, to, cols int) []float32 { return x[from*cols : to*cols] }
