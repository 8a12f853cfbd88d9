package row

import "github.com/avoformer/avoformer/kernels/internal/simd"

// This file has LayerNorm and RMSNorm, each also after a residual connection.

// NormElements is the length of the longest row that one call of the assembly normalises. Longer
// rows are summed in pieces.
const NormElements = 1 << 16

// norm holds the arguments of a normalisation. sum and residual are for normalisations after a
// residual connection, and bias is for LayerNorm.
type norm struct {
	isa                   simd.ISA
	dst, sum, x, residual []float32
	cols                  int
	weight, bias          []float32
	eps                   float32
	stream                int // not 0 if results are written past the caches
}

var norms tasks[norm]

// set sets the fields that all normalisations have. For a composite literal, the compiler would
// build a copy and move it, which takes a tenth of the time of a short row.
func (a *norm) set(dst, x []float32, cols int, weight []float32, eps float32) {
	a.isa, a.dst, a.x, a.cols, a.weight, a.eps = simd.Active(), dst, x, cols, SharedOnes.orNil(weight, cols), eps
}

// LayerNorm is kernels.LayerNorm on up to t threads.
func LayerNorm(t int, dst, x []float32, rows, cols int, weight, bias []float32, eps float32) {
	var a norm
	a.set(dst, x, cols, weight, eps)
	a.bias = SharedZeros.orNil(bias, cols)
	if Streamed(dst, x) {
		a.stream = 1
	}
	if alone(t, rows, len(x)) {
		layerNormRows(&a, 0, rows)
		return
	}
	norms.split(t, rows, cols, &a, layerNormRows)
}

// layerNormRows computes the rows [from, to) of LayerNorm.
func layerNormRows(a *norm, from, to int) {
	isa, cols := a.isa, a.cols
	switch {
	case cols == 0:
	case cols > NormElements:
		for r := from; r < to; r++ {
			layerNormLongRow(isa, span(a.dst, r, r+1, cols), span(a.x, r, r+1, cols), a.weight, a.bias, a.eps)
		}
	default:
		for i, j := range BudgetOf(simd.KernelLayerNormRows, isa).Rows(from, to, cols) {
			for i < j {
				left := simd.LayerNormRows(isa, span(a.dst, i, j, cols), span(a.x, i, j, cols), a.weight, a.bias, j-i, cols, a.eps, a.stream)
				if i = j - left; left > 0 {
					a.farLayerNorm(a.x, i)
					i++
				}
			}
		}
	}
}

// AddLayerNorm is kernels.AddLayerNorm on up to t threads.
func AddLayerNorm(t int, dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	var a norm
	a.set(dst, x, cols, weight, eps)
	a.sum, a.residual, a.bias = sum, residual, SharedZeros.orNil(bias, cols)
	if alone(t, rows, len(x)) {
		addLayerNormRows(&a, 0, rows)
		return
	}
	norms.split(t, rows, cols, &a, addLayerNormRows)
}

// addLayerNormRows computes the rows [from, to) of AddLayerNorm.
func addLayerNormRows(a *norm, from, to int) {
	isa, cols := a.isa, a.cols
	switch {
	case cols == 0:
	case cols > NormElements:
		addRows(isa, span(a.sum, from, to, cols), span(a.x, from, to, cols), span(a.residual, from, to, cols))
		for r := from; r < to; r++ {
			layerNormLongRow(isa, span(a.dst, r, r+1, cols), span(a.sum, r, r+1, cols), a.weight, a.bias, a.eps)
		}
	default:
		for i, j := range BudgetOf(simd.KernelAddLayerNormRows, isa).Rows(from, to, cols) {
			for i < j {
				left := simd.AddLayerNormRows(isa, span(a.dst, i, j, cols), span(a.sum, i, j, cols), span(a.x, i, j, cols), span(a.residual, i, j, cols), a.weight, a.bias, j-i, cols, a.eps)
				if i = j - left; left > 0 {
					a.farLayerNorm(a.sum, i)
					i++
				}
			}
		}
	}
}

// RMSNorm is kernels.RMSNorm on up to t threads.
func RMSNorm(t int, dst, x []float32, rows, cols int, weight []float32, eps float32) {
	var a norm
	a.set(dst, x, cols, weight, eps)
	if alone(t, rows, len(x)) {
		rmsNormRows(&a, 0, rows)
		return
	}
	norms.split(t, rows, cols, &a, rmsNormRows)
}

// rmsNormRows computes the rows [from, to) of RMSNorm.
func rmsNormRows(a *norm, from, to int) {
	isa, cols := a.isa, a.cols
	switch {
	case cols == 0:
	case cols > NormElements:
		for r := from; r < to; r++ {
			rmsNormLongRow(isa, span(a.dst, r, r+1, cols), span(a.x, r, r+1, cols), a.weight, a.eps)
		}
	default:
		for i, j := range BudgetOf(simd.KernelRMSNormRows, isa).Rows(from, to, cols) {
			for i < j {
				left := simd.RMSNormRows(isa, span(a.dst, i, j, cols), span(a.x, i, j, cols), a.weight, j-i, cols, a.eps)
				if i = j - left; left > 0 {
					a.farRMSNorm(a.x, i)
					i++
				}
			}
		}
	}
}

// AddRMSNorm is kernels.AddRMSNorm on up to t threads.
func AddRMSNorm(t int, dst, sum, x, residual []float32, rows, cols int, weight []float32, eps float32) {
	var a norm
	a.set(dst, x, cols, weight, eps)
	a.sum, a.residual = sum, residual
	if alone(t, rows, len(x)) {
		addRMSNormRows(&a, 0, rows)
		return
	}
	norms.split(t, rows, cols, &a, addRMSNormRows)
}

// addRMSNormRows computes the rows [from, to) of AddRMSNorm.
func addRMSNormRows(a *norm, from, to int) {
	isa, cols := a.isa, a.cols
	switch {
	case cols == 0:
	case cols > NormElements:
		addRows(isa, span(a.sum, from, to, cols), span(a.x, from, to, cols), span(a.residual, from, to, cols))
		for r := from; r < to; r++ {
			rmsNormLongRow(isa, span(a.dst, r, r+1, cols), span(a.sum, r, r+1, cols), a.weight, a.eps)
		}
	default:
		for i, j := range BudgetOf(simd.KernelAddRMSNormRows, isa).Rows(from, to, cols) {
			for i < j {
				left := simd.AddRMSNormRows(isa, span(a.dst, i, j, cols), span(a.sum, i, j, cols), span(a.x, i, j, cols), span(a.residual, i, j, cols), a.weight, j-i, cols, a.eps)
				if i = j - left; left > 0 {
					a.farRMSNorm(a.sum, i)
					i++
				}
			}
		}
	}
}

// addRows sets sum to x + residual, piece by piece.
func addRows(isa simd.ISA, sum, x, residual []float32) {
	for i, j := range BudgetOf(simd.KernelAddVec, isa).pieces(len(x)) {
		simd.AddVec(isa, sum[i:j], x[i:j], residual[i:j])
	}
}

// farLayerNorm normalises row i of x, at which a kernel stopped.
func (a *norm) farLayerNorm(x []float32, i int) {
	simd.FarLayerNorm(span(a.dst, i, i+1, a.cols), span(x, i, i+1, a.cols), a.weight, a.bias, a.eps)
}

// farRMSNorm does the same for RMSNorm.
func (a *norm) farRMSNorm(x []float32, i int) {
	simd.FarRMSNorm(span(a.dst, i, i+1, a.cols), span(x, i, i+1, a.cols), a.weight, a.eps)
}
