package row

import "github.com/avoformer/avoformer/kernels/internal/simd"

// This file has weighted sums of rows that an index selects from a matrix. A mixture of experts
// gathers its experts' inputs and adds up their outputs in this way.

// gather holds the arguments of Gather.
type gather struct {
	isa      simd.ISA
	budget   budget
	dst, x   []float32
	cols     int
	index    []int32
	per      int // elements of index for each row of dst
	weight   []float32
	residual []float32
}

var gathers tasks[gather]

// Gather sets row r of dst, [rows, cols], to row r of residual plus the sum over j of
// weight[r*per+j] times row index[r*per+j] of x, added up in this order. A nil weight means 1, and
// a nil residual means 0.
func Gather(t, rows, cols, per int, dst, x []float32, index []int32, weight, residual []float32) {
	isa := simd.Active()
	a := gather{isa: isa, budget: BudgetOf(simd.KernelAXPYVec, isa), dst: dst, x: x, cols: cols, index: index, per: per, weight: weight, residual: residual}
	if alone(t, rows, rows*cols*per) {
		gatherRows(&a, 0, rows)
		return
	}
	gathers.split(t, rows, cols, &a, gatherRows)
}

func gatherRows(a *gather, from, to int) {
	for r := from; r < to; r++ {
		dst, begun := span(a.dst, r, r+1, a.cols), true
		switch {
		case a.residual == nil:
			begun = false
		case &dst[0] != &a.residual[r*a.cols]:
			copy(dst, span(a.residual, r, r+1, a.cols))
		}
		for j := r * a.per; j < (r+1)*a.per; j++ {
			i, by := int(a.index[j]), float32(1)
			x := span(a.x, i, i+1, a.cols)
			if a.weight != nil {
				by = a.weight[j]
			}
			switch {
			case begun:
				scaledPieces(simd.AXPYVec, a.isa, a.budget, by, dst, x)
			case a.weight == nil:
				copy(dst, x)
			default:
				scaledPieces(simd.ScaleVec, a.isa, a.budget, by, dst, x)
			}
			begun = true
		}
		if !begun {
			clear(dst)
		}
	}
}
