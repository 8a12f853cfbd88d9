package row

import "github.com/avoformer/avoformer/kernels/internal/simd"

// LayerNorm and RMSNorm, and both after a residual connection.

// NormElements is the length of the longest row that one call of the assembly normalises. Longer rows are summed in pieces.
const NormElements = 1 << 16

// norm is the arguments of a normalisation. sum and residual belong to those after a residual connection, and bias to
// LayerNorm.
type norm struct {
	isa                   simd.ISA
	dst, sum, x, residual []float32
	cols                  int
	weight, bias          []float32
	eps                   float32
	stream                bool // results go past the caches
}

var norms tasks[norm]

// LayerNorm is kernels.LayerNorm on up to t threads.
func LayerNorm(t int, dst, x []float32, rows, cols int, weight, bias []float32, eps float32) {
	a := norm{isa: simd.Active(), dst: dst, x: x, cols: cols, weight: SharedOnes.orNil(weight, cols), bias: SharedZeros.orNil(bias, cols), eps: eps, stream: Streamed(dst, x)}
	if alone(t, rows, len(x)) {
		layerNormRows(&a, 0, rows)
		return
	}
	norms.split(t, rows, cols, &a, layerNormRows)
}

// layerNormRows computes the rows [from, to) of LayerNorm.
func layerNormRows(a *norm, from, to int) {
	isa, cols, rows := a.isa, a.cols, to-from
	dst, x := span(a.dst, from, to, cols), span(a.x, from, to, cols)
	switch {
	case len(x) == 0:
	case cols > NormElements:
		for r := range rows {
			layerNormLongRow(isa, span(dst, r, r+1, cols), span(x, r, r+1, cols), a.weight, a.bias, a.eps)
		}
	case a.stream:
		for i, j := range BudgetOf(simd.KernelLayerNormRowsStream, isa).Rows(rows, cols) {
			simd.LayerNormRowsStream(isa, span(dst, i, j, cols), span(x, i, j, cols), a.weight, a.bias, j-i, cols, a.eps)
		}
	default:
		for i, j := range BudgetOf(simd.KernelLayerNormRows, isa).Rows(rows, cols) {
			simd.LayerNormRows(isa, span(dst, i, j, cols), span(x, i, j, cols), a.weight, a.bias, j-i, cols, a.eps)
		}
	}
}

// AddLayerNorm is kernels.AddLayerNorm on up to t threads.
func AddLayerNorm(t int, dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	a := norm{isa: simd.Active(), dst: dst, sum: sum, x: x, residual: residual, cols: cols, weight: SharedOnes.orNil(weight, cols), bias: SharedZeros.orNil(bias, cols), eps: eps}
	if alone(t, rows, len(x)) {
		addLayerNormRows(&a, 0, rows)
		return
	}
	norms.split(t, rows, cols, &a, addLayerNormRows)
}

// addLayerNormRows computes the rows [from, to) of AddLayerNorm.
func addLayerNormRows(a *norm, from, to int) {
	isa, cols, rows := a.isa, a.cols, to-from
	dst, sum, x, residual := span(a.dst, from, to, cols), span(a.sum, from, to, cols), span(a.x, from, to, cols), span(a.residual, from, to, cols)
	switch {
	case len(x) == 0:
	case cols > NormElements:
		addRows(isa, sum, x, residual)
		for r := range rows {
			layerNormLongRow(isa, span(dst, r, r+1, cols), span(sum, r, r+1, cols), a.weight, a.bias, a.eps)
		}
	default:
		for i, j := range BudgetOf(simd.KernelAddLayerNormRows, isa).Rows(rows, cols) {
			simd.AddLayerNormRows(isa, span(dst, i, j, cols), span(sum, i, j, cols), span(x, i, j, cols), span(residual, i, j, cols), a.weight, a.bias, j-i, cols, a.eps)
		}
	}
}

// RMSNorm is kernels.RMSNorm on up to t threads.
func RMSNorm(t int, dst, x []float32, rows, cols int, weight []float32, eps float32) {
	a := norm{isa: simd.Active(), dst: dst, x: x, cols: cols, weight: SharedOnes.orNil(weight, cols), eps: eps}
	if alone(t, rows, len(x)) {
		rmsNormRows(&a, 0, rows)
		return
	}
	norms.split(t, rows, cols, &a, rmsNormRows)
}

// rmsNormRows computes the rows [from, to) of RMSNorm.
func rmsNormRows(a *norm, from, to int) {
	isa, cols, rows := a.isa, a.cols, to-from
	dst, x := span(a.dst, from, to, cols), span(a.x, from, to, cols)
	switch {
	case len(x) == 0:
	case cols > NormElements:
		for r := range rows {
			rmsNormLongRow(isa, span(dst, r, r+1, cols), span(x, r, r+1, cols), a.weight, a.eps)
		}
	default:
		for i, j := range BudgetOf(simd.KernelRMSNormRows, isa).Rows(rows, cols) {
			simd.RMSNormRows(isa, span(dst, i, j, cols), span(x, i, j, cols), a.weight, j-i, cols, a.eps)
		}
	}
}

// AddRMSNorm is kernels.AddRMSNorm on up to t threads.
func AddRMSNorm(t int, dst, sum, x, residual []float32, rows, cols int, weight []float32, eps float32) {
	a := norm{isa: simd.Active(), dst: dst, sum: sum, x: x, residual: residual, cols: cols, weight: SharedOnes.orNil(weight, cols), eps: eps}
	if alone(t, rows, len(x)) {
		addRMSNormRows(&a, 0, rows)
		return
	}
	norms.split(t, rows, cols, &a, addRMSNormRows)
}

// addRMSNormRows computes the rows [from, to) of AddRMSNorm.
func addRMSNormRows(a *norm, from, to int) {
	isa, cols, rows := a.isa, a.cols, to-from
	dst, sum, x, residual := span(a.dst, from, to, cols), span(a.sum, from, to, cols), span(a.x, from, to, cols), span(a.residual, from, to, cols)
	switch {
	case len(x) == 0:
	case cols > NormElements:
		addRows(isa, sum, x, residual)
		for r := range rows {
			rmsNormLongRow(isa, span(dst, r, r+1, cols), span(sum, r, r+1, cols), a.weight, a.eps)
		}
	default:
		for i, j := range BudgetOf(simd.KernelAddRMSNormRows, isa).Rows(rows, cols) {
			simd.AddRMSNormRows(isa, span(dst, i, j, cols), span(sum, i, j, cols), span(x, i, j, cols), span(residual, i, j, cols), a.weight, j-i, cols, a.eps)
		}
	}
}

// addRows sets sum to x + residual, piece by piece.
func addRows(isa simd.ISA, sum, x, residual []float32) {
	for i, j := range BudgetOf(simd.KernelAddVec, isa).pieces(len(x)) {
		simd.AddVec(isa, sum[i:j], x[i:j], residual[i:j])
	}
}
