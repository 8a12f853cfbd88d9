package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
)

// This file has softmax, its logarithm, and softmax with a mask.

// Softmax sets each row of dst to the softmax of the row of x:
//
//	dst[r,c] = exp(x[r,c] - max_r) / sum_c exp(x[r,c] - max_r)
//
// x and dst are contiguous rows x cols matrices; dst may be x, but may not overlap it otherwise. A
// row with a NaN, with +Inf, or with only -Inf becomes NaN; -Inf in a row with finite elements
// becomes 0. Results below 2^-126 may be 0 instead. The relative error is at most (16
// + 1.25*|x[r,c]-max_r| + min(cols, 8192)/8)*2^-24.
func Softmax(dst, x []float32, rows, cols int) { Threads(1).Softmax(dst, x, rows, cols) }

// Softmax is the function [Softmax] on up to t threads.
func (t Threads) Softmax(dst, x []float32, rows, cols int) {
	mem.CheckRows("Softmax", dst, x, rows, cols)
	row.Softmax(int(t), dst, x, rows, cols)
}

// LogSoftmax sets each row of dst to the logarithm of the softmax of the row of x, as (x - max) -
// log(sum exp(x - max)). Shapes, aliasing and special values are as for Softmax, except that -Inf
// in a row with finite elements stays -Inf. The error is at most 2^-22*(1 + |dst[r,c]| + min(cols,
// 8192)/64).
func LogSoftmax(dst, x []float32, rows, cols int) { Threads(1).LogSoftmax(dst, x, rows, cols) }

// LogSoftmax is the function [LogSoftmax] on up to t threads.
func (t Threads) LogSoftmax(dst, x []float32, rows, cols int) {
	mem.CheckRows("LogSoftmax", dst, x, rows, cols)
	row.LogSoftmax(int(t), dst, x, rows, cols)
}

// SoftmaxParams are the arguments of MaskedSoftmax. The mask is that of [Attention].
type SoftmaxParams struct {
	Dst, X       []float32 // [Batch, Heads, LenQ, LenK], contiguous
	Batch, Heads int
	LenQ, LenK   int
	Scale        float32 // multiplies X; 0 means 1
	Past         int     // the position of the first query, as in AttentionParams
	Mask         []MaskTerm
}

// MaskedSoftmax sets each row of Dst, the LenK weights of a query, to the softmax of Scale*X plus
// the biases over the keys that every term of the mask admits, and to 0 elsewhere. A row that sees
// no key, or only -Inf, is 0. A bias of -Inf gives a weight of 0, unless a visible Scale*X is NaN
// or +Inf. Otherwise special values and the bound are as for [Softmax], with one additional
// rounding for the scale and one for each bias, each relative to the term. Dst may be X, but may
// not overlap X or a bias otherwise.
func MaskedSoftmax(p SoftmaxParams) { Threads(1).MaskedSoftmax(p) }

// MaskedSoftmax is the function [MaskedSoftmax] on up to t threads.
func (t Threads) MaskedSoftmax(p SoftmaxParams) {
	p.check()
	if p.Scale == 0 {
		p.Scale = 1
	}
	if len(p.X) == 0 {
		return
	}
	m := row.NewMasked()
	terms := m.Mask
	for i := range p.Mask {
		terms = append(terms, p.Mask[i].term)
	}
	*m = row.Masked{Dst: p.Dst, X: p.X, Batch: p.Batch, Heads: p.Heads, LenQ: p.LenQ, LenK: p.LenK, Scale: p.Scale, Past: p.Past, Mask: terms}
	m.Run(int(t))
}

func (p *SoftmaxParams) check() {
	const fn = "MaskedSoftmax"
	for _, s := range [...]struct {
		name string
		n    int
	}{{"Batch", p.Batch}, {"Heads", p.Heads}, {"LenQ", p.LenQ}, {"LenK", p.LenK}, {"Past", p.Past}} {
		mem.CheckSize(fn, s.name, s.n)
	}
	if p.Past > mask.Unlimited {
		mem.PanicSize(fn, "Past", p.Past, fmt.Sprintf("want at most %d", mask.Unlimited))
	}
	n := mem.MulLen(fn, mem.MulLen(fn, mem.MulLen(fn, p.Batch, p.Heads), p.LenQ), p.LenK)
	mem.CheckLen(fn, "Dst", len(p.Dst), n, "Batch*Heads*LenQ*LenK")
	mem.CheckLen(fn, "X", len(p.X), n, "Batch*Heads*LenQ*LenK")
	for i := range p.Mask {
		p.Mask[i].check(fn, [4]int{p.Batch, p.Heads, p.LenQ, p.LenK})
	}
}
