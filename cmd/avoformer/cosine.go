package main

import "math"

// cosine returns the cosine of two vectors, or 0 if one of them is zero.
func cosine(x, y []float32) float64 {
	var xy, xx, yy float64
	for i, v := range x {
		xy += float64(v) * float64(y[i])
		xx += float64(v) * float64(v)
		yy += float64(y[i]) * float64(y[i])
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}
