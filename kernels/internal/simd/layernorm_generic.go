package simd

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/order"
)

func layerNormRowsGeneric(dst, x, weight, bias []float32, rows, cols int, eps float32, _ int) int {
	for r := range rows {
		s := x[r*cols:][:cols]
		mean, off, variance := usualDeviation(s)
		variance += eps
		if order.IsFar(variance) {
			return rows - r
		}
		inverse := 1 / squareRoot(variance)
		normalise(dst[r*cols:][:cols], s, weight, bias, mean, inverse, float32((0-off)*inverse))
	}
	return 0
}

// normalise is the last step of LayerNorm: elements minus mean, times inverse, plus shift, and then
// weight and bias.
func normalise(dst, x, weight, bias []float32, mean, inverse, shift float32) {
	for i, v := range x {
		dst[i] = order.FMA(order.FMA(v-mean, inverse, shift), weight[i], bias[i])
	}
}

// usualDeviation returns a number near the mean of a row, the mean of the differences from it, and
// the variance.
func usualDeviation(x []float32) (mean, off, variance float32) {
	mean = guessOfMean(x)
	off, variance = deviation(x, 1, 0-mean, 1)
	if off*off > variance {
		mean += off
		off, variance = deviation(x, 1, 0-mean, 1)
	}
	return mean, off, max(0, variance)
}

// guessOfMean returns the mean of the first 16 elements, or the first element if there are fewer.
func guessOfMean(x []float32) float32 {
	const n = 16
	if len(x) < n {
		return x[0]
	}
	return order.Sum(x[:n]) * (1. / n)
}

// deviation returns the mean of the differences from a mean, which is passed with its sign changed,
// and the variance about the mean that results. Elements are multiplied by down before the
// subtraction, and differences by more.
func deviation(x []float32, down, mean, more float32) (off, variance float32) {
	var rest, square order.Sums
	for i, v := range x {
		d := v + mean
		if down != 1 {
			d = order.FMA(v, down, mean)
		}
		d = float32(d * more)
		rest[i%order.Lanes] += d
		square[i%order.Lanes] = order.FMA(d, d, square[i%order.Lanes])
	}
	n := float32(len(x))
	off = rest.Total() / n
	return off, order.FMA(-off, off, square.Total()/n)
}

// FarLayerNorm normalises one row whose variance plus eps is unusual, at which kernels stop. It
// begins with the first element as the mean and improves it once. If differences from the mean may
// be infinite, it does not subtract the mean before the division: the mean is then at most two
// times the square root of the length in deviations.
func FarLayerNorm(dst, x, weight, bias []float32, eps float32) {
	_, _, variance := usualDeviation(x)
	down, more := order.FarFactors(variance + eps)
	negative := float32((0 - x[0]) * down)
	var off float32
	for range 2 {
		negative = order.FMA(-off, 1/more, negative)
		off, variance = deviation(x, down, negative, more)
	}
	f, base := more*down, float32(0)
	variance = max(0, variance)
	inverse := order.InverseRoot(variance + float32(float32(eps*f)*f))
	if down != 1 && variance*float32(len(x)) > order.MostSquares {
		base = negative
	}
	normalise(dst, x, weight, bias, float32((base-negative)*(1/down)), min(math.MaxFloat32, float32(inverse*f)), float32((base-off)*inverse))
}

// squareRoot returns the square root, rounded once: float64 has more than twice the digits of
// float32, which is enough.
func squareRoot(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func addLayerNormRowsGeneric(dst, sum, x, residual, weight, bias []float32, rows, cols int, eps float32) int {
	for r := range rows {
		s := sum[r*cols:][:cols]
		addVecGeneric(s, x[r*cols:][:cols], residual[r*cols:][:cols])
		if layerNormRowsGeneric(dst[r*cols:][:cols], s, weight, bias, 1, cols, eps, 0) > 0 {
			return rows - r
		}
	}
	return 0
}

func addRMSNormRowsGeneric(dst, sum, x, residual, weight []float32, rows, cols int, eps float32) int {
	for r := range rows {
		s := sum[r*cols:][:cols]
		addVecGeneric(s, x[r*cols:][:cols], residual[r*cols:][:cols])
		if rmsNormRowsGeneric(dst[r*cols:][:cols], s, weight, 1, cols, eps) > 0 {
			return rows - r
		}
	}
	return 0
}

func rmsNormRowsGeneric(dst, x, weight []float32, rows, cols int, eps float32) int {
	for r := range rows {
		s := x[r*cols:][:cols]
		square := order.Dot(s, s)/float32(cols) + eps
		if order.IsFar(square) {
			return rows - r
		}
		scale(dst[r*cols:][:cols], s, weight, 1/squareRoot(square))
	}
	return 0
}

// scale is the last step of RMSNorm.
func scale(dst, x, weight []float32, factor float32) {
	for i, v := range x {
		dst[i] = float32(v*factor) * weight[i]
	}
}

// FarRMSNorm normalises one row whose mean square plus eps is unusual, at which kernels stop.
func FarRMSNorm(dst, x, weight []float32, eps float32) {
	down, more := order.FarFactors(order.Dot(x, x)/float32(len(x)) + eps)
	f := down * more
	var square order.Sums
	for i, v := range x {
		v *= f
		square[i%order.Lanes] = order.FMA(v, v, square[i%order.Lanes])
	}
	sum := square.Total()/float32(len(x)) + float32(float32(eps*f)*f)
	sum += sum - sum // NaN for a row with an infinity
	scale(dst, x, weight, min(math.MaxFloat32, float32(order.InverseRoot(sum)*f)))
}
