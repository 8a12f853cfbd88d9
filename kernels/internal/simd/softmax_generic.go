package simd

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/order"
)

func softmaxRowsGeneric(dst, x, _ []float32, rows, cols, _ int) {
	for r := range rows {
		d, s := dst[r*cols:][:cols], x[r*cols:][:cols]
		sum := expSumVecGeneric(d, s, maxVecGeneric(s))
		scaleVecGeneric(d, d, 1/sum)
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

// maxVecGeneric returns the maximum of x, or -Inf if x is empty. It ignores NaN, which reaches the
// result through the sum of the exponentials.
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
	var sums order.Sums
	dst = dst[:len(x)]
	for i, v := range x {
		e := order.ExpDifference(v, max)
		dst[i] = e
		sums[i%order.Lanes] += e
	}
	return sums.Total()
}

func sumExpVecGeneric(x []float32, max float32) float32 {
	var sums order.Sums
	for i, v := range x {
		sums[i%order.Lanes] += order.ExpDifference(v, max)
	}
	return sums.Total()
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
