package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// The functions of this file work element by element on slices of one length.
// dst may be an input, but may not overlap one otherwise.

// Exp sets dst[i] = exp(x[i]), within 1.5 ULP, denormal results included.
// exp(+Inf) = +Inf, exp(-Inf) = 0, exp(NaN) = NaN.
func Exp(dst, x []float32) {
	checkLen("Exp", "dst", len(dst), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.ExpVec(Active(), dst[i:end], x[i:end])
	}
}

// ReLU sets dst[i] = max(x[i], 0). NaN stays.
func ReLU(dst, x []float32) {
	checkLen("ReLU", "dst", len(dst), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.ReLUVec(Active(), dst[i:end], x[i:end])
	}
}

// GELU sets dst[i] = x*Phi(x), the erf form of Hendrycks and Gimpel (2016):
// within 4 ULP for x >= 0, and within 2e-7*max(1, |x|) everywhere.
// GELU(-Inf) = -0, the limit.
func GELU(dst, x []float32) {
	checkLen("GELU", "dst", len(dst), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.GELUVec(Active(), dst[i:end], x[i:end])
	}
}

// GELUTanh sets dst[i] = 0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x^3))),
// the tanh form of GELU, within 2e-7*max(1, |x|). GELUTanh(-Inf) = -0.
func GELUTanh(dst, x []float32) {
	checkLen("GELUTanh", "dst", len(dst), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.GELUTanhVec(Active(), dst[i:end], x[i:end])
	}
}

// SiLU sets dst[i] = x/(1 + exp(-x)), within 4 ULP where the result is a
// normal number. SiLU(-Inf) = -0, the limit.
func SiLU(dst, x []float32) {
	checkLen("SiLU", "dst", len(dst), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.SiLUVec(Active(), dst[i:end], x[i:end])
	}
}

// Sigmoid sets dst[i] = 1/(1 + exp(-x)), within 4 ULP where the result is a
// normal number.
func Sigmoid(dst, x []float32) {
	checkLen("Sigmoid", "dst", len(dst), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.SigmoidVec(Active(), dst[i:end], x[i:end])
	}
}

// Tanh sets dst[i] = tanh(x), within 4 ULP. Tanh(-0) = -0.
func Tanh(dst, x []float32) {
	checkLen("Tanh", "dst", len(dst), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.TanhVec(Active(), dst[i:end], x[i:end])
	}
}

// Erf sets dst[i] = erf(x), within 5 ULP where the result is a normal number.
func Erf(dst, x []float32) {
	checkLen("Erf", "dst", len(dst), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.ErfVec(Active(), dst[i:end], x[i:end])
	}
}

// Add sets dst[i] = a[i] + b[i].
func Add(dst, a, b []float32) {
	checkLen("Add", "b", len(b), len(a), "len(a)")
	checkLen("Add", "dst", len(dst), len(a), "len(a)")
	for i, end := range pieces(len(a)) {
		simd.AddVec(Active(), dst[i:end], a[i:end], b[i:end])
	}
}

// Mul sets dst[i] = a[i] * b[i].
func Mul(dst, a, b []float32) {
	checkLen("Mul", "b", len(b), len(a), "len(a)")
	checkLen("Mul", "dst", len(dst), len(a), "len(a)")
	for i, end := range pieces(len(a)) {
		simd.MulVec(Active(), dst[i:end], a[i:end], b[i:end])
	}
}

// Scale sets dst[i] = alpha*x[i].
func Scale(dst, x []float32, alpha float32) {
	checkLen("Scale", "dst", len(dst), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.ScaleVec(Active(), dst[i:end], x[i:end], alpha)
	}
}

// AXPY sets y[i] = alpha*x[i] + y[i]. y may be x itself.
func AXPY(alpha float32, x, y []float32) {
	checkLen("AXPY", "y", len(y), len(x), "len(x)")
	for i, end := range pieces(len(x)) {
		simd.AXPYVec(Active(), y[i:end], x[i:end], alpha)
	}
}
