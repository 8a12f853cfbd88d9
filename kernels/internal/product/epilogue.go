package product

// This file has the epilogue: the operations on a part of C of a product with a packed B, after its
// sums are finished.

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Activation is the activation function of an epilogue.
type Activation uint8

// These are the activations, in the order of package kernels.
const (
	Identity Activation = iota
	ReLU
	GELU
	GELUTanh
	SiLU
	Tanh
	ReLU2
)

// Epilogue is kernels.Epilogue.
type Epilogue struct {
	Bias       []float32
	Activation Activation
	Residual   []float32
	LdResidual int
}

// any reports whether there is an operation.
func (ep *Epilogue) any() bool {
	return ep.Bias != nil || ep.Activation != Identity || ep.Residual != nil
}

// from returns the epilogue of the elements of C that begin at row i and column j.
func (ep *Epilogue) from(i, j int) Epilogue {
	e := Epilogue{Activation: ep.Activation, LdResidual: ep.LdResidual}
	if ep.Bias != nil {
		e.Bias = ep.Bias[j:]
	}
	if ep.Residual != nil {
		e.Residual = ep.Residual[i*ep.LdResidual+j:]
	}
	return e
}

// nothing replaces a missing bias or a missing row of a residual: adding -0 changes no number, not
// even a zero.
var nothing = slices.Repeat([]float32{float32(math.Copysign(0, -1))}, mostColumns)

// mostColumns is not less than the NR of any format.
const mostColumns = 64

// finish applies the epilogue to the m x n sums, n at most NR and the rows NR apart, and writes
// them to c, which begins at row i and column j of the block. It may overwrite the sums.
func (b *block) finish(c, sums []float32, i, j, m, n int) {
	g, nr, act := b.g, b.g.nr, b.ep.Activation
	bias, residual, ldr := nothing[:nr], nothing[:nr], 0
	if b.ep.Bias != nil {
		bias = b.ep.Bias[j : j+n]
	}
	if b.ep.Residual != nil {
		residual, ldr = b.ep.Residual[i*b.ep.LdResidual+j:], b.ep.LdResidual
	}
	if n == nr {
		finishPanel(g.isa, act, c, sums, bias, residual, m, nr, g.ldc, ldr)
		return
	}
	// A partial panel is finished in place, where the other columns have arbitrary contents, with a
	// row of the bias as wide as the panel.
	var wide [mostColumns]float32
	copy(wide[:], bias[:n])
	finishPanel(g.isa, act, sums, sums, wide[:nr], nothing[:nr], m, nr, nr, 0)
	if b.ep.Residual != nil {
		simd.AddRows(g.isa, sums, residual, m, n, nr, ldr)
	}
	simd.CopyRows(g.isa, c, sums, m, n, g.ldc, nr)
}

// finishSums writes m x n sums of products of integers or of bfloat16, in rows NR apart, to C at
// row i and column j of the block, with alpha, beta and the epilogue. It may overwrite the sums.
func (b *block) finishSums(sums []float32, i, j, m, n int) {
	g := b.g
	c := b.c[i*g.ldc+j:]
	if g.alpha != 1 {
		simd.ScaleVec(g.isa, sums[:m*g.nr], sums[:m*g.nr], g.alpha)
	}
	if g.beta != 0 {
		for i := range m {
			for j, y := range c[i*g.ldc:][:n] {
				sums[i*g.nr+j] += float32(g.beta * y)
			}
		}
	}
	if b.ep.any() {
		b.finish(c, sums, i, j, m, n)
		return
	}
	simd.CopyRows(g.isa, c, sums, m, n, g.ldc, g.nr)
}

func finishPanel(isa simd.ISA, act Activation, c, x, bias, residual []float32, rows, nr, ldc, ldr int) {
	switch act {
	case Identity:
		simd.FinishIdentity(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	case ReLU:
		simd.FinishReLU(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	case GELU:
		simd.FinishGELU(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	case GELUTanh:
		simd.FinishGELUTanh(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	case SiLU:
		simd.FinishSiLU(isa, c, x, bias, residual, rows, nr, ldc, ldr)
	case Tanh, ReLU2:
		finishRare(isa, act, c, x, bias, residual, rows, nr, ldc, ldr)
	}
}

// finishRare does the work of finishPanel for activations that few models have. It passes over x,
// which it overwrites, several times.
func finishRare(isa simd.ISA, act Activation, c, x, bias, residual []float32, rows, nr, ldc, ldr int) {
	all, none := x[:rows*nr], nothing[:nr]
	if act == Tanh {
		simd.FinishIdentity(isa, x, x, bias, none, rows, nr, nr, 0)
		simd.TanhVec(isa, all, all)
	} else {
		simd.FinishReLU(isa, x, x, bias, none, rows, nr, nr, 0)
		simd.MulVec(isa, all, all, all)
	}
	simd.FinishIdentity(isa, c, x, none, residual, rows, nr, ldc, ldr)
}
