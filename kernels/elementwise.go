package kernels

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has activations and other functions that work element by element, on slices of equal
// length. dst may be one of the inputs, but must not overlap one partly. As methods of Threads they
// run on several threads.

// Exp sets dst[i] = exp(x[i]), within 1.5 ULP, denormal results included. exp(+Inf) = +Inf,
// exp(-Inf) = 0, exp(NaN) = NaN.
func Exp(dst, x []float32) { Threads(1).Exp(dst, x) }

// Exp is the function [Exp] on up to t threads.
func (t Threads) Exp(dst, x []float32) {
	mem.CheckLen("Exp", "dst", len(dst), len(x), "len(x)")
	row.Unary(int(t), simd.ExpVec, simd.KernelExpVec, dst, x)
}

// ReLU sets dst[i] = max(x[i], 0). NaN stays.
func ReLU(dst, x []float32) { Threads(1).ReLU(dst, x) }

// ReLU is the function [ReLU] on up to t threads.
func (t Threads) ReLU(dst, x []float32) {
	mem.CheckLen("ReLU", "dst", len(dst), len(x), "len(x)")
	row.Unary(int(t), simd.ReLUVec, simd.KernelReLUVec, dst, x)
}

// GELU sets dst[i] = x*Phi(x), the erf form of Hendrycks and Gimpel (2016): within 4 ULP for x >=
// 0, and within 2e-7*max(1, |x|) everywhere. GELU(-Inf) = -0, the limit.
func GELU(dst, x []float32) { Threads(1).GELU(dst, x) }

// GELU is the function [GELU] on up to t threads.
func (t Threads) GELU(dst, x []float32) {
	mem.CheckLen("GELU", "dst", len(dst), len(x), "len(x)")
	row.Unary(int(t), simd.GELUVec, simd.KernelGELUVec, dst, x)
}

// GELUTanh sets dst[i] = 0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x^3))), the tanh form of GELU,
// within 2e-7*max(1, |x|). GELUTanh(-Inf) = -0.
func GELUTanh(dst, x []float32) { Threads(1).GELUTanh(dst, x) }

// GELUTanh is the function [GELUTanh] on up to t threads.
func (t Threads) GELUTanh(dst, x []float32) {
	mem.CheckLen("GELUTanh", "dst", len(dst), len(x), "len(x)")
	row.Unary(int(t), simd.GELUTanhVec, simd.KernelGELUTanhVec, dst, x)
}

// SiLU sets dst[i] = x/(1 + exp(-x)), within 4 ULP where the result is a normal number. SiLU(-Inf) =
// -0, the limit.
func SiLU(dst, x []float32) { Threads(1).SiLU(dst, x) }

// SiLU is the function [SiLU] on up to t threads.
func (t Threads) SiLU(dst, x []float32) {
	mem.CheckLen("SiLU", "dst", len(dst), len(x), "len(x)")
	row.Unary(int(t), simd.SiLUVec, simd.KernelSiLUVec, dst, x)
}

// Sigmoid sets dst[i] = 1/(1 + exp(-x)), within 4 ULP where the result is a normal number.
func Sigmoid(dst, x []float32) { Threads(1).Sigmoid(dst, x) }

// Sigmoid is the function [Sigmoid] on up to t threads.
func (t Threads) Sigmoid(dst, x []float32) {
	mem.CheckLen("Sigmoid", "dst", len(dst), len(x), "len(x)")
	row.Unary(int(t), simd.SigmoidVec, simd.KernelSigmoidVec, dst, x)
}

// Tanh sets dst[i] = tanh(x), within 4 ULP. Tanh(-0) = -0.
func Tanh(dst, x []float32) { Threads(1).Tanh(dst, x) }

// Tanh is the function [Tanh] on up to t threads.
func (t Threads) Tanh(dst, x []float32) {
	mem.CheckLen("Tanh", "dst", len(dst), len(x), "len(x)")
	row.Unary(int(t), simd.TanhVec, simd.KernelTanhVec, dst, x)
}

// Erf sets dst[i] = erf(x), within 5 ULP where the result is a normal number.
func Erf(dst, x []float32) { Threads(1).Erf(dst, x) }

// Erf is the function [Erf] on up to t threads.
func (t Threads) Erf(dst, x []float32) {
	mem.CheckLen("Erf", "dst", len(dst), len(x), "len(x)")
	row.Unary(int(t), simd.ErfVec, simd.KernelErfVec, dst, x)
}

// Add sets dst[i] = a[i] + b[i].
func Add(dst, a, b []float32) { Threads(1).Add(dst, a, b) }

// Add is the function [Add] on up to t threads.
func (t Threads) Add(dst, a, b []float32) {
	mem.CheckLen("Add", "b", len(b), len(a), "len(a)")
	mem.CheckLen("Add", "dst", len(dst), len(a), "len(a)")
	row.Binary(int(t), simd.AddVec, simd.KernelAddVec, dst, a, b)
}

// Mul sets dst[i] = a[i] * b[i].
func Mul(dst, a, b []float32) { Threads(1).Mul(dst, a, b) }

// Mul is the function [Mul] on up to t threads.
func (t Threads) Mul(dst, a, b []float32) {
	mem.CheckLen("Mul", "b", len(b), len(a), "len(a)")
	mem.CheckLen("Mul", "dst", len(dst), len(a), "len(a)")
	row.Binary(int(t), simd.MulVec, simd.KernelMulVec, dst, a, b)
}

// Scale sets dst[i] = alpha*x[i].
func Scale(dst, x []float32, alpha float32) { Threads(1).Scale(dst, x, alpha) }

// Scale is the function [Scale] on up to t threads.
func (t Threads) Scale(dst, x []float32, alpha float32) {
	mem.CheckLen("Scale", "dst", len(dst), len(x), "len(x)")
	row.Scaled(int(t), simd.ScaleVec, simd.KernelScaleVec, alpha, dst, x)
}

// AXPY sets y[i] = alpha*x[i] + y[i]. y may be x itself.
func AXPY(alpha float32, x, y []float32) { Threads(1).AXPY(alpha, x, y) }

// AXPY is the function [AXPY] on up to t threads.
func (t Threads) AXPY(alpha float32, x, y []float32) {
	mem.CheckLen("AXPY", "y", len(y), len(x), "len(x)")
	row.Scaled(int(t), simd.AXPYVec, simd.KernelAXPYVec, alpha, y, x)
}
