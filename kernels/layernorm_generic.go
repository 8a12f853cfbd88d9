package kernels

import "math"

// An empty weight stands for ones, an empty bias for zeros.

func layerNormRowsGeneric(dst, x, weight, bias []float32, rows, cols int, eps float32) {
	for r := range rows {
		d, s := dst[r*cols:][:cols], x[r*cols:][:cols]
		mean := 0.0
		for _, v := range s {
			mean += float64(v)
		}
		mean /= float64(cols)
		variance := 0.0
		for _, v := range s {
			variance += (float64(v) - mean) * (float64(v) - mean)
		}
		rstd := 1 / math.Sqrt(variance/float64(cols)+float64(eps))
		for i, v := range s {
			y := (float64(v) - mean) * rstd
			if len(weight) > 0 {
				y *= float64(weight[i])
			}
			if len(bias) > 0 {
				y += float64(bias[i])
			}
			d[i] = float32(y)
		}
	}
}

func addLayerNormRowsGeneric(dst, sum, x, residual, weight, bias []float32, rows, cols int, eps float32) {
	addVecGeneric(sum, x, residual)
	layerNormRowsGeneric(dst, sum, weight, bias, rows, cols, eps)
}

func rmsNormRowsGeneric(dst, x, weight []float32, rows, cols int, eps float32) {
	for r := range rows {
		d, s := dst[r*cols:][:cols], x[r*cols:][:cols]
		square := 0.0
		for _, v := range s {
			square += float64(v) * float64(v)
		}
		rstd := 1 / math.Sqrt(square/float64(cols)+float64(eps))
		for i, v := range s {
			y := float64(v) * rstd
			if len(weight) > 0 {
				y *= float64(weight[i])
			}
			d[i] = float32(y)
		}
	}
}
