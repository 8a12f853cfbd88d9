package simd

import "math"

func softmaxRowsGeneric(dst, x []float32, rows, cols int) {
	for r := range rows {
		d, s := dst[r*cols:][:cols], x[r*cols:][:cols]
		sum := expSumVecGeneric(d, s, maxVecGeneric(s))
		scaleVecGeneric(d, d, 1/sum)
	}
}

func softmaxRowsStreamGeneric(dst, x, tmp []float32, rows, cols int) {
	for r := range rows {
		s := x[r*cols:][:cols]
		sum := expSumVecGeneric(tmp, s, maxVecGeneric(s))
		scaleVecGeneric(dst[r*cols:][:cols], tmp[:cols], 1/sum)
	}
}

func expSumRowsGeneric(dst, x, max, sum []float32, rows, cols int) {
	for r := range rows {
		s := x[r*cols:][:cols]
		m := maxVecGeneric(s)
		if m < -math.MaxFloat32 {
			m = -math.MaxFloat32
		}
		max[r], sum[r] = m, expSumVecGeneric(dst[r*cols:], s, m)
	}
}

// maxVecGeneric is the maximum of x, -Inf if x is empty. It ignores NaN: that
// comes back in the sum of the exponentials.
func maxVecGeneric(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	return m
}

// expSumVecGeneric sets dst[i] = exp(x[i]-max) for x[i] <= max and returns the sum.
func expSumVecGeneric(dst, x []float32, max float32) float32 {
	var sum float64
	dst = dst[:len(x)]
	for i, v := range x {
		e := expDifference(v, max)
		dst[i] = float32(e)
		sum += e
	}
	return float32(sum)
}

func sumExpVecGeneric(x []float32, max float32) float32 {
	var sum float64
	for _, v := range x {
		sum += expDifference(v, max)
	}
	return float32(sum)
}

// expDifference is exp(x-max) for x <= max, 0 where that is below float32's
// range, and NaN if either is NaN or both are infinite.
func expDifference(x, max float32) float64 {
	t := (float64(x) - float64(max)) * math.Log2E
	if t < -150 {
		return 0
	}
	return exp2(t)
}

func scaleVecGeneric(dst, x []float32, alpha float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = alpha * v
	}
}

func subSubVecGeneric(dst, x []float32, a, b float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = (v - a) - b
	}
}
