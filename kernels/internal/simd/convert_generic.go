package simd

import "github.com/avoformer/avoformer/internal/half"

func float16VecGeneric(dst []float32, x []uint16, _ int) {
	x = x[:len(dst)]
	for i, h := range x {
		dst[i] = half.Float16(h)
	}
}

func bfloat16VecGeneric(dst []float32, x []uint16, _ int) {
	x = x[:len(dst)]
	for i, h := range x {
		dst[i] = half.BFloat16(h)
	}
}

func widenInt8Generic(dst []float32, x []int8, scale []float32, rows, cols, ldx, ldscale, _ int) {
	for i := range rows {
		s, to := scale[i*ldscale], dst[i*cols:][:cols]
		for j, v := range x[i*ldx:][:cols] {
			to[j] = s * float32(v)
		}
	}
}

func widenInt8PanelGeneric(dst []float32, x []int8, scale []float32, rows, nr, _ int) {
	for i := range rows {
		to := dst[i*nr:][:nr]
		for j, v := range x[i*nr:][:nr] {
			to[j] = scale[j] * float32(v)
		}
	}
}
