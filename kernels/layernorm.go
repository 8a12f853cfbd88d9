package kernels

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
)

// This file has LayerNorm and RMSNorm, and both after a residual connection.

// LayerNorm normalises each row of x to mean 0 and variance 1 (the biased variance, plus eps) and
// applies weight and bias (Ba, Kiros and Hinton, 2016):
//
//	dst[r,c] = (x[r,c]-mean_r) / sqrt(var_r+eps) * weight[c] + bias[c]
//
// x and dst are contiguous rows x cols matrices; dst may be x, but may not overlap it otherwise.
// weight and bias have cols elements, or are nil for 1 and 0. A row with NaN or an infinity becomes
// NaN. A row of equal elements becomes bias, also if eps is 0. Elements may be as large or as small
// as a float32: in rows of up to 65536 elements, a deviation below 2^-128, with eps, counts as
// 2^-128.
//
// The variance is computed from the differences to a number within a standard deviation of the
// mean: a mean much larger than the deviation costs no accuracy. With z the normalised element, the
// error is at most
//
//	2^-22 * (|dst| + |weight|*((1+cols/16)*(1+2*|z|) + 2^-16*|mean|/sqrt(var+eps))) + 2^-149
//
// Unless most elements are equal, the roundings of the row's sums average out, and the error stays
// below this bound without the term cols/16.
func LayerNorm(dst, x []float32, rows, cols int, weight, bias []float32, eps float32) {
	Threads(1).LayerNorm(dst, x, rows, cols, weight, bias, eps)
}

// LayerNorm is the function [LayerNorm] on up to t threads.
func (t Threads) LayerNorm(dst, x []float32, rows, cols int, weight, bias []float32, eps float32) {
	const fn = "LayerNorm"
	mem.CheckRows(fn, dst, x, rows, cols)
	checkAffine(fn, "weight", weight, cols)
	checkAffine(fn, "bias", bias, cols)
	row.LayerNorm(int(t), dst, x, rows, cols, weight, bias, eps)
}

// AddLayerNorm computes a residual connection and the LayerNorm after it in one pass over memory:
// sum = x + residual, dst = LayerNorm(sum). All are contiguous rows x cols matrices. sum may be
// nil, x or residual. dst may be sum, x or residual, whose values are lost.
func AddLayerNorm(dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	Threads(1).AddLayerNorm(dst, sum, x, residual, rows, cols, weight, bias, eps)
}

// AddLayerNorm is the function [AddLayerNorm] on up to t threads.
func (t Threads) AddLayerNorm(dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	const fn = "AddLayerNorm"
	sum = checkSum(fn, dst, sum, x, residual, rows, cols)
	checkAffine(fn, "weight", weight, cols)
	checkAffine(fn, "bias", bias, cols)
	row.AddLayerNorm(int(t), dst, sum, x, residual, rows, cols, weight, bias, eps)
}

// RMSNorm divides each row of x by its root mean square (Zhang and Sennrich,
// 2019) and applies weight:
//
//	dst[r,c] = x[r,c] / sqrt(mean_c(x[r,c]^2)+eps) * weight[c]
//
// Shapes, aliasing and special values are those of LayerNorm; a row of zeros becomes zeros. The
// error is at most
//
//	(cols/8 + 8) * 2^-24 * |dst| + 2^-149 * (1 + |weight|)
//
// where cols is 8192 for rows of more than 65536 elements.
func RMSNorm(dst, x []float32, rows, cols int, weight []float32, eps float32) {
	Threads(1).RMSNorm(dst, x, rows, cols, weight, eps)
}

// RMSNorm is the function [RMSNorm] on up to t threads.
func (t Threads) RMSNorm(dst, x []float32, rows, cols int, weight []float32, eps float32) {
	const fn = "RMSNorm"
	mem.CheckRows(fn, dst, x, rows, cols)
	checkAffine(fn, "weight", weight, cols)
	row.RMSNorm(int(t), dst, x, rows, cols, weight, eps)
}

// AddRMSNorm is the residual connection and the RMSNorm after it in one pass over memory: sum = x +
// residual, dst = RMSNorm(sum). Shapes and aliasing are those of [AddLayerNorm].
func AddRMSNorm(dst, sum, x, residual []float32, rows, cols int, weight []float32, eps float32) {
	Threads(1).AddRMSNorm(dst, sum, x, residual, rows, cols, weight, eps)
}

// AddRMSNorm is the function [AddRMSNorm] on up to t threads.
func (t Threads) AddRMSNorm(dst, sum, x, residual []float32, rows, cols int, weight []float32, eps float32) {
	const fn = "AddRMSNorm"
	sum = checkSum(fn, dst, sum, x, residual, rows, cols)
	checkAffine(fn, "weight", weight, cols)
	row.AddRMSNorm(int(t), dst, sum, x, residual, rows, cols, weight, eps)
}

// checkSum checks the matrices of a residual connection. It returns the place for their sum: sum,
// or dst if sum is nil.
func checkSum(fn string, dst, sum, x, residual []float32, rows, cols int) []float32 {
	mem.CheckRows(fn, dst, x, rows, cols)
	if sum == nil {
		sum = dst // the kernel needs a place for the sum between its passes
	}
	mem.CheckLen(fn, "sum", len(sum), len(dst), "rows*cols")
	mem.CheckLen(fn, "residual", len(residual), len(dst), "rows*cols")
	return sum
}

// checkAffine panics unless v is nil or has cols elements.
func checkAffine(fn, arg string, v []float32, cols int) {
	if v != nil {
		mem.CheckLen(fn, arg, len(v), cols, "cols")
	}
}
