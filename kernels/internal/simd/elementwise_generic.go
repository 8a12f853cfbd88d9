package simd

import "github.com/avoformer/avoformer/kernels/internal/order"

// This file has functions of one element, and of two.

func expVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = order.Exp(v)
	}
}

func reluVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = order.ReLU(v)
	}
}

func geluVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = order.GELU(v)
	}
}

func geluTanhVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = order.GELUTanh(v)
	}
}

func siluVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = order.SiLU(v)
	}
}

func sigmoidVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = order.Sigmoid(v)
	}
}

func tanhVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = order.Tanh(v)
	}
}

func erfVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = order.Erf(v)
	}
}

func addVecGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func mulVecGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func axpyVecGeneric(y, x []float32, alpha float32) {
	order.AddProducts(y[:len(x)], alpha, x)
}
