package kernels

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
	checkRows("LayerNorm", dst, x, rows, cols)
	weight = affineVec("LayerNorm", "weight", weight, cols, &sharedOnes, 1)
	bias = affineVec("LayerNorm", "bias", bias, cols, &sharedZeros, 0)
	layerNorm(dst, x, rows, cols, weight, bias, eps, streamed(dst, x))
}

// layerNorm is LayerNorm of some or all rows of a call, whose results go past the
// caches if stream is set.
func layerNorm(dst, x []float32, rows, cols int, weight, bias []float32, eps float32, stream bool) {
	if len(x) == 0 {
		return
	}
	if cols > callElements && Active() != Generic {
		for r := range rows {
			layerNormLongRow(dst[r*cols:][:cols], x[r*cols:][:cols], weight, bias, eps)
		}
		return
	}
	for from, to := range rowPieces(rows, cols) {
		if stream {
			simd.LayerNormRowsStream(Active(), dst[from*cols:to*cols], x[from*cols:to*cols], weight, bias, to-from, cols, eps)
			continue
		}
		simd.LayerNormRows(Active(), dst[from*cols:to*cols], x[from*cols:to*cols], weight, bias, to-from, cols, eps)
	}
}

// AddLayerNorm is the residual connection and the LayerNorm after it in one
// pass over memory: sum = x + residual, dst = LayerNorm(sum). All are
// contiguous rows x cols matrices. sum may be nil, x or residual; dst may be
// any of the others, in which case it ends with the normalised rows.
func AddLayerNorm(dst, sum, x, residual []float32, rows, cols int, weight, bias []float32, eps float32) {
	const fn = "AddLayerNorm"
	checkRows(fn, dst, x, rows, cols)
	if sum == nil {
		sum = dst // the kernel needs a place for the sum between its passes
	}
	checkLen(fn, "sum", len(sum), len(dst), "rows*cols")
	checkLen(fn, "residual", len(residual), len(dst), "rows*cols")
	weight = affineVec(fn, "weight", weight, cols, &sharedOnes, 1)
	bias = affineVec(fn, "bias", bias, cols, &sharedZeros, 0)
	if len(x) == 0 {
		return
	}
	if cols > callElements && Active() != Generic {
		Add(sum, x, residual)
		layerNorm(dst, sum, rows, cols, weight, bias, eps, false)
		return
	}
	for from, to := range rowPieces(rows, cols) {
		i, j := from*cols, to*cols
		simd.AddLayerNormRows(Active(), dst[i:j], sum[i:j], x[i:j], residual[i:j], weight, bias, to-from, cols, eps)
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
	checkRows("RMSNorm", dst, x, rows, cols)
	weight = affineVec("RMSNorm", "weight", weight, cols, &sharedOnes, 1)
	if len(x) == 0 {
		return
	}
	if cols > callElements && Active() != Generic {
		for r := range rows {
			rmsNormLongRow(dst[r*cols:][:cols], x[r*cols:][:cols], weight, eps)
		}
		return
	}
	for from, to := range rowPieces(rows, cols) {
		simd.RMSNormRows(Active(), dst[from*cols:to*cols], x[from*cols:to*cols], weight, to-from, cols, eps)
	}
}

// layerNormLongRow is LayerNorm of a row that is too long for one call of the
// assembly, piece by piece, with sums of pieces added in float64. The mean is
// that of the differences from the first element, and again of those from what
// was found, so that it is exact where all elements are the same and good
// wherever the first one lies.
func layerNormLongRow(dst, x, weight, bias []float32, eps float32) {
	buffer := rowBuffers.Get().(*[sumElements]float32)
	ones := affineVec("LayerNorm", "weight", nil, sumElements, &sharedOnes, 1)
	n := float64(len(x))
	mean, rest, square := x[0], 0.0, 0.0 // of the differences from mean, and of their squares
	for range 3 {
		mean += float32(rest / n)
		rest, square = 0, 0
		for i, end := range piecesOf(sumElements, len(x)) {
			d := buffer[:end-i]
			simd.SubSubVec(Active(), d, x[i:end], mean, 0)
			rest += float64(dotVec(d, ones[:end-i]))
			square += float64(dotVec(d, d))
		}
	}
	rest /= n
	scale := float32(1 / math.Sqrt(max(square/n-rest*rest, 0)+float64(eps)))
	for i, end := range piecesOf(sumElements, len(x)) {
		d := buffer[:end-i]
		simd.SubSubVec(Active(), d, x[i:end], mean, float32(rest))
		simd.ScaleVec(Active(), d, d, scale)
		simd.MulVec(Active(), d, d, weight[i:end])
		simd.AddVec(Active(), dst[i:end], d, bias[i:end])
	}
	rowBuffers.Put(buffer)
}

// rmsNormLongRow is the same for RMSNorm.
func rmsNormLongRow(dst, x, weight []float32, eps float32) {
	square := 0.0
	for i, end := range piecesOf(sumElements, len(x)) {
		square += float64(dotVec(x[i:end], x[i:end]))
	}
	scale := float32(1 / math.Sqrt(square/float64(len(x))+float64(eps)))
	for i, end := range piecesOf(sumElements, len(x)) {
		simd.ScaleVec(Active(), dst[i:end], x[i:end], scale)
		simd.MulVec(Active(), dst[i:end], dst[i:end], weight[i:end])
	}
}

// dotVec is the dot product of two vectors.
func dotVec(x, y []float32) float32 {
	var sum [1]float32
	simd.GemmDot(Active(), 1, 1, len(x), 1, x, len(x), y, len(x), sum[:], 1)
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
