package simd

import "math"

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
			d[i] = float32((float64(v)-mean)*rstd*float64(weight[i]) + float64(bias[i]))
		}
	}
}

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
		square := 0.0
		for _, v := range s {
			square += float64(v) * float64(v)
		}
		rstd := 1 / math.Sqrt(square/float64(cols)+float64(eps))
		for i, v := range s {
			d[i] = float32(float64(v) * rstd * float64(weight[i]))
		}
	}
}
