package row

import (
	"iter"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// budget is the largest number of elements of one call of an assembly kernel. Goroutines cannot be
// preempted inside such a call, so it has to end within 100 µs on a slow core: at 2 GHz, with
// memory that delivers 4 GB/s. No result depends on the budget.
type budget int

// BudgetOf returns the budget of a kernel on a tier, from the kernel's record.
func BudgetOf(k simd.Kernel, isa simd.ISA) budget { return budget(k.On(isa).Elements) }

// pieces cuts n elements into pieces of at most b, and yields the bounds of each.
func (b budget) pieces(n int) iter.Seq2[int, int] { return cut(0, n, int(b)) }

// Rows cuts the rows [from, to) into runs that have at most b elements together, or one row, and
// yields the bounds of each.
func (b budget) Rows(from, to, cols int) iter.Seq2[int, int] {
	return cut(from, to, max(1, int(b)/max(cols, 1)))
}

// cut cuts [from, to) into runs of at most step, and yields the bounds of each.
func cut(from, to, step int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for i := from; i < to; {
			size := min(step, to-i) // i+step may overflow: without assembly a budget is the largest int
			if !yield(i, i+size) {
				return
			}
			i += size
		}
	}
}
