package simd

import "github.com/avoformer/avoformer/internal/half"

func float16VecGeneric(dst []float32, x []uint16) {
	x = x[:len(dst)]
	for i, h := range x {
		dst[i] = half.Float16(h)
	}
}

func bfloat16VecGeneric(dst []float32, x []uint16) {
	x = x[:len(dst)]
	for i, h := range x {
		dst[i] = half.BFloat16(h)
	}
}
