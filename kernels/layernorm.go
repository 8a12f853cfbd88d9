package kernels

// LayerNorm, the same after a residual connection, and RMSNorm.

import (
	"math"
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// LayerNorm normalises each row of x to mean 0 and variance 1 (the biased
// variance, plus eps) and applies weight and bias (Ba, Kiros and Hinton, 2016):
//
//	dst[r,c] = (x[r,c]-mean_r) / sqrt(var_r+eps) * weight[c] + bias[c]
//
// x and dst are contiguous rows x cols matrices; dst may be x, but may not
// overlap it otherwise. weight and bias have cols elements, or are nil for 1
// and 0. A row with NaN or an infinity becomes NaN.
//
// The variance is taken about a number within a standard deviation of the mean,
// so that a mean much larger than the deviation does no harm: with z the
// normalised element, the error is at most
//
//	2^-22 * (|dst| + |weight|*((1+cols/16)*(1+2*|z|) + 2^-16*|mean|/sqrt(var+eps)))
//
// and where the roundings of the row's sums average out, as they do unless most
// elements are the same, it stays below that without cols/16.
func LayerNorm(dst, x []float32, rows, cols int, weight, bias []float32, eps float32) {
	Threads(1).LayerNorm(dst, x, rows, cols, weight, bias, eps)
}

// LayerNorm is the function [LayerNorm] on up to t threads.
func (t Threads) LayerNorm(dst, x []float32, rows, cols int, weight, bias []float32, eps float32) {
	const fn = "LayerNorm"
	checkRows(fn, dst, x, rows, cols)
	weight = affineVec(fn, "weight", weight, cols, &sharedOnes, 1)
	bias = affineVec(fn, "bias", bias, cols, &sharedZeros, 0)
	isa, stream := Active(), streamed(dst, x)
	if t.alone(rows, len(x)) {
		layerNormRows(isa, dst, x, rows, cols, weight, bias, eps, stream)
		return
	}
	t.split(rows, cols, &rowCall{isa: isa, dst: dst, x: x, weight: weight, bias: bias, eps: eps, stream: stream, do: func(c *rowCall, i, j int) {
		layerNormRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, c.weight, c.bias, c.eps, c.stream)
	}})
}

// normElements is the longest row that one call of the assembly normalises. Longer rows
// are summed in pieces.
const normElements = 1 << 16

// layerNormRows is LayerNorm of some or all rows of a call, whose results go past the
// caches if stream is set.
func layerNormRows(isa ISA, dst, x []float32, rows, cols int, weight, bias []float32, eps float32, stream bool) {
	switch {
	case len(x) == 0:
	case cols > normElements:
		for r := range rows {
			layerNormLongRow(isa, dst[r*cols:][:cols], x[r*cols:][:cols], weight, bias, eps)
		}
	case stream:
		for from, to := range budgetOf(simd.KernelLayerNormRowsStream, isa).rows(rows, cols) {
			simd.LayerNormRowsStream(isa, dst[from*cols:to*cols], x[from*cols:to*cols], weight, bias, to-from, cols, eps)
		}
	default:
		for from, to := range budgetOf(simd.KernelLayerNormRows, isa).rows(rows, cols) {
			simd.LayerNormRows(isa, dst[from*cols:to*cols], x[from*cols:to*cols], weight, bias, to-from, cols, eps)
		}
	}
}

// AddLayerNorm is the residual connection and the LayerNorm after it in one
// pass over memory: sum = x + residual, dst = LayerNorm(sum). All are
// contiguous rows x cols matrices. sum may be nil, x or residual; dst may be
// sum, x or residual, and then ends with the normalised rows.
func AddLayerNorm(dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	Threads(1).AddLayerNorm(dst, sum, x, residual, rows, cols, weight, bias, eps)
}

// AddLayerNorm is the function [AddLayerNorm] on up to t threads.
func (t Threads) AddLayerNorm(dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	const fn = "AddLayerNorm"
	checkRows(fn, dst, x, rows, cols)
	if sum == nil {
		sum = dst // the kernel needs a place for the sum between its passes
	}
	checkLen(fn, "sum", len(sum), len(dst), "rows*cols")
	checkLen(fn, "residual", len(residual), len(dst), "rows*cols")
	weight = affineVec(fn, "weight", weight, cols, &sharedOnes, 1)
	bias = affineVec(fn, "bias", bias, cols, &sharedZeros, 0)
	isa := Active()
	if t.alone(rows, len(x)) {
		addLayerNormRows(isa, dst, sum, x, residual, rows, cols, weight, bias, eps)
		return
	}
	t.split(rows, cols, &rowCall{isa: isa, dst: dst, sum: sum, x: x, y: residual, weight: weight, bias: bias, eps: eps, do: func(c *rowCall, i, j int) {
		addLayerNormRows(c.isa, c.at(c.dst, i, j), c.at(c.sum, i, j), c.at(c.x, i, j), c.at(c.y, i, j), j-i, c.cols, c.weight, c.bias, c.eps)
	}})
}

// addLayerNormRows is AddLayerNorm of some or all rows of a call.
func addLayerNormRows(isa ISA, dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	if cols > normElements {
		for i, j := range budgetOf(simd.KernelAddVec, isa).pieces(len(x)) {
			simd.AddVec(isa, sum[i:j], x[i:j], residual[i:j])
		}
		layerNormRows(isa, dst, sum, rows, cols, weight, bias, eps, false)
		return
	}
	for from, to := range budgetOf(simd.KernelAddLayerNormRows, isa).rows(rows, cols) {
		i, j := from*cols, to*cols
		simd.AddLayerNormRows(isa, dst[i:j], sum[i:j], x[i:j], residual[i:j], weight, bias, to-from, cols, eps)
	}
}

// RMSNorm divides each row of x by its root mean square (Zhang and Sennrich,
// 2019) and applies weight:
//
//	dst[r,c] = x[r,c] / sqrt(mean_c(x[r,c]^2)+eps) * weight[c]
//
// Shapes and aliasing are those of LayerNorm. The relative error is at most
// (cols/8 + 8) * 2^-24.
func RMSNorm(dst, x []float32, rows, cols int, weight []float32, eps float32) {
	Threads(1).RMSNorm(dst, x, rows, cols, weight, eps)
}

// RMSNorm is the function [RMSNorm] on up to t threads.
func (t Threads) RMSNorm(dst, x []float32, rows, cols int, weight []float32, eps float32) {
	const fn = "RMSNorm"
	checkRows(fn, dst, x, rows, cols)
	weight = affineVec(fn, "weight", weight, cols, &sharedOnes, 1)
	isa := Active()
	if t.alone(rows, len(x)) {
		rmsNormRows(isa, dst, x, rows, cols, weight, eps)
		return
	}
	t.split(rows, cols, &rowCall{isa: isa, dst: dst, x: x, weight: weight, eps: eps, do: func(c *rowCall, i, j int) {
		rmsNormRows(c.isa, c.at(c.dst, i, j), c.at(c.x, i, j), j-i, c.cols, c.weight, c.eps)
	}})
}

// rmsNormRows is RMSNorm of some or all rows of a call.
func rmsNormRows(isa ISA, dst, x []float32, rows, cols int, weight []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	if cols > normElements {
		for r := range rows {
			rmsNormLongRow(isa, dst[r*cols:][:cols], x[r*cols:][:cols], weight, eps)
		}
		return
	}
	for from, to := range budgetOf(simd.KernelRMSNormRows, isa).rows(rows, cols) {
		simd.RMSNormRows(isa, dst[from*cols:to*cols], x[from*cols:to*cols], weight, to-from, cols, eps)
	}
}

// layerNormLongRow is LayerNorm of a row that is too long for one call of the
// assembly, piece by piece, with sums of pieces added in float64. The first estimate of
// the mean is the first element; twice, the mean of the differences from the estimate
// improves it. So the mean is exact where all elements are the same, and good wherever
// the first element lies.
func layerNormLongRow(isa ISA, dst, x, weight, bias []float32, eps float32) {
	buffer := rowBuffers.Get().(*rowBuffer)
	ones := affineVec("LayerNorm", "weight", nil, sumElements, &sharedOnes, 1)
	n := float64(len(x))
	mean, rest, square := x[0], 0.0, 0.0 // of the differences from mean, and of their squares
	for range 3 {
		mean += float32(rest / n)
		rest, square = 0, 0
		for i, end := range budget(sumElements).pieces(len(x)) {
			d := buffer[:end-i]
			simd.SubSubVec(isa, d, x[i:end], mean, 0)
			rest += float64(dotVec(isa, d, ones[:end-i]))
			square += float64(dotVec(isa, d, d))
		}
	}
	rest /= n
	scale := float32(1 / math.Sqrt(max(square/n-rest*rest, 0)+float64(eps)))
	for i, end := range budget(sumElements).pieces(len(x)) {
		d := buffer[:end-i]
		simd.SubSubVec(isa, d, x[i:end], mean, float32(rest))
		simd.ScaleVec(isa, d, d, scale)
		simd.MulVec(isa, d, d, weight[i:end])
		simd.AddVec(isa, dst[i:end], d, bias[i:end])
	}
	rowBuffers.Put(buffer)
}

// rmsNormLongRow is RMSNorm of a row that is too long for one call of the assembly.
func rmsNormLongRow(isa ISA, dst, x, weight []float32, eps float32) {
	square := 0.0
	for i, end := range budget(sumElements).pieces(len(x)) {
		square += float64(dotVec(isa, x[i:end], x[i:end]))
	}
	scale := float32(1 / math.Sqrt(square/float64(len(x))+float64(eps)))
	for i, end := range budget(sumElements).pieces(len(x)) {
		simd.ScaleVec(isa, dst[i:end], x[i:end], scale)
		simd.MulVec(isa, dst[i:end], dst[i:end], weight[i:end])
	}
}

// dotVec is the dot product of two vectors.
func dotVec(isa ISA, x, y []float32) float32 {
	var sum [1]float32
	simd.GemmDot(isa, 1, 1, len(x), 1, x, len(x), y, len(x), sum[:], 1)
	return sum[0]
}

// affineVec is v, checked to have cols elements, or where v is nil cols times
// fill, from a vector that all calls share.
func affineVec(fn, arg string, v []float32, cols int, shared *atomic.Pointer[[]float32], fill float32) []float32 {
	if v != nil {
		checkLen(fn, arg, len(v), cols, "cols")
		return v
	}
	if c := shared.Load(); c != nil && len(*c) >= cols {
		return (*c)[:cols]
	}
	c := make([]float32, cols)
	for i := range c {
		c[i] = fill
	}
	shared.Store(&c)
	return c
}

var sharedOnes, sharedZeros atomic.Pointer[[]float32]
