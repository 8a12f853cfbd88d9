package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// A goroutine cannot be preempted inside a call of the assembly. This file cuts calls that would
// take too long because heads have hundreds of thousands of features. No result depends on the
// cuts.

// One call does at most callSteps multiply-adds on at most callElements elements.
const callSteps, callElements = 1 << 22, 1 << 18

// perCall returns the number of vectors of dim elements that one call multiplies by rows vectors
// each: at least one.
func perCall(rows, dim int) int {
	return max(1, min(callSteps/rows, callElements)/max(dim, 1))
}

// gemmDot calls simd.GemmDot, several times if few rows of vectors are long.
func gemmDot(isa simd.ISA, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	step := perCall(n, k)
	for i := 0; i < m; i += step {
		simd.GemmDot(isa, min(step, m-i), n, k, alpha, a[i*lda:], lda, b, ldb, c[i*ldc:], ldc)
	}
}

// scaleRows multiplies each row of x, [rows, cols], by its factor.
func scaleRows(isa simd.ISA, x []float32, rows, cols, ld int, factor []float32) {
	for from, to := range row.BudgetOf(simd.KernelAttnScaleRows, isa).Rows(0, rows, cols) {
		simd.AttnScaleRows(isa, x[from*ld:], to-from, cols, ld, factor[from:to])
	}
}

// addRows adds x to dst, both [rows, cols].
func addRows(isa simd.ISA, dst, x []float32, rows, cols, lddst, ldx int) {
	for from, to := range row.BudgetOf(simd.KernelAddRows, isa).Rows(0, rows, cols) {
		simd.AddRows(isa, dst[from*lddst:], x[from*ldx:], to-from, cols, lddst, ldx)
	}
}
