package simd

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/order"
)

func layerNormRowsGeneric(dst, x, weight, bias []float32, rows, cols int, eps float32) {
	for r := range rows {
		d, s := dst[r*cols:][:cols], x[r*cols:][:cols]
		mean := guessOfMean(s)
		off, variance := deviation(s, mean)
		if off*off > variance {
			mean += off
			off, variance = deviation(s, mean)
		}
		rstd := 1 / squareRoot(max(0, variance)+eps)
		shift := float32((0 - off) * rstd)
		for i, v := range s {
			d[i] = order.FMA(order.FMA(v-mean, rstd, shift), weight[i], bias[i])
		}
	}
}

// guessOfMean returns the mean of the first 16 elements, or the first one where there are fewer.
func guessOfMean(x []float32) float32 {
	const n = 16
	if len(x) < n {
		return x[0]
	}
	return order.Sum(x[:n]) * (1. / n)
}

// deviation returns the mean of the differences from mean, and the variance about the mean that this makes.
func deviation(x []float32, mean float32) (off, variance float32) {
	var rest, square order.Sums
	for i, v := range x {
		d := v - mean
		rest[i%order.Lanes] += d
		square[i%order.Lanes] = order.FMA(d, d, square[i%order.Lanes])
	}
	n := float32(len(x))
	off = rest.Total() / n
	return off, order.FMA(-off, off, square.Total()/n)
}

// squareRoot returns the root, rounded once: twice the digits are enough for that.
func squareRoot(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func layerNormRowsStreamGeneric(dst, x, weight, bias []float32, rows, cols int, eps float32) {
	layerNormRowsGeneric(dst, x, weight, bias, rows, cols, eps)
}

func addLayerNormRowsGeneric(dst, sum, x, residual, weight, bias []float32, rows, cols int, eps float32) {
	addVecGeneric(sum, x, residual)
	layerNormRowsGeneric(dst, sum, weight, bias, rows, cols, eps)
}

func addRMSNormRowsGeneric(dst, sum, x, residual, weight []float32, rows, cols int, eps float32) {
	addVecGeneric(sum, x, residual)
	rmsNormRowsGeneric(dst, sum, weight, rows, cols, eps)
}

func rmsNormRowsGeneric(dst, x, weight []float32, rows, cols int, eps float32) {
	for r := range rows {
		d, s := dst[r*cols:][:cols], x[r*cols:][:cols]
		rstd := 1 / squareRoot(order.Dot(s, s)/float32(cols)+eps)
		for i, v := range s {
			d[i] = float32(v*rstd) * weight[i]
		}
	}
}
