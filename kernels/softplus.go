package kernels

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
)

// Softplus sets dst[i] = log(1 + exp(x[i])), within 2 ULP where the result is a normal number.
// Above 20 the result is x[i], which is the same number in float32. Softplus(+Inf) = +Inf,
// Softplus(-Inf) = 0, Softplus(NaN) = NaN.
func Softplus(dst, x []float32) { Threads(1).Softplus(dst, x) }

// Softplus is the function [Softplus] on up to t threads.
func (t Threads) Softplus(dst, x []float32) {
	mem.CheckLen("Softplus", "dst", len(dst), len(x), "len(x)")
	row.Softplus(int(t), dst, x)
}
