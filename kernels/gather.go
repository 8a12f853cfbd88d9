package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has weighted sums of rows that an index picks from a matrix, and gated linear units:
// the parts of a mixture of experts that are not products.

// GatherParams are the arguments of Gather.
type GatherParams struct {
	Rows, Cols int
	Dst        []float32 // [Rows, Cols]
	X          []float32 // rows of Cols elements; overlaps nothing else
	Index      []int32   // [Rows, n]: which rows of X
	Weight     []float32 // [Rows, n], or nil: 1
	Residual   []float32 // [Rows, Cols], or nil: 0. May be Dst.
}

// Gather sets each row of Dst to the row of Residual plus the weighted sum of n rows of X, added up
// in the order of Index, as torch.nn.functional.embedding_bag does with the mode sum. With n = 1,
// and without Weight and Residual, it copies rows.
func Gather(p GatherParams) { Threads(1).Gather(p) }

// Gather is the function [Gather] on up to t threads.
func (t Threads) Gather(p GatherParams) {
	const fn = "Gather"
	mem.CheckSize(fn, "Rows", p.Rows)
	mem.CheckSize(fn, "Cols", p.Cols)
	all := mem.MulLen(fn, p.Rows, p.Cols)
	mem.CheckLen(fn, "Dst", len(p.Dst), all, "Rows*Cols")
	if p.Residual != nil {
		mem.CheckLen(fn, "Residual", len(p.Residual), all, "Rows*Cols")
	}
	if p.Weight != nil {
		mem.CheckLen(fn, "Weight", len(p.Weight), len(p.Index), "len(Index)")
	}
	if p.Rows == 0 || p.Cols == 0 {
		return
	}
	if len(p.Index)%p.Rows != 0 {
		mem.PanicSize(fn, "len(Index)", len(p.Index), fmt.Sprintf("want a multiple of Rows = %d", p.Rows))
	}
	for i, r := range p.Index {
		if r < 0 || int(r) >= len(p.X)/p.Cols {
			mem.PanicSize(fn, fmt.Sprintf("Index[%d]", i), int(r), fmt.Sprintf("want 0 to %d, the rows of X", len(p.X)/p.Cols-1))
		}
	}
	row.Gather(int(t), p.Rows, p.Cols, len(p.Index)/p.Rows, p.Dst, p.X, p.Index, p.Weight, p.Residual)
}

// GLUParams are the arguments of GLU.
type GLUParams struct {
	Rows, Cols int
	Dst        []float32 // [Rows, Cols]; overlaps nothing else
	X          []float32 // [Rows, 2*Cols]: gate before up
	Activation Activation
	// Sharpness s, if not 0, replaces the activation a(x) by a(s*x)/s.
	Sharpness float32
	// Limit, if not 0, is the largest value of the gate, and the largest absolute value of up.
	Limit float32
	// Offset is added to up.
	Offset float32
}

// GLU sets Dst to activation(gate)*up, a gated linear unit (Shazeer 2020, "GLU Variants Improve
// Transformer"). With ActSiLU it is SwiGLU. With Sharpness, Limit and Offset it is the unit of
// gpt-oss.
func GLU(p GLUParams) { Threads(1).GLU(p) }

// GLU is the function [GLU] on up to t threads.
func (t Threads) GLU(p GLUParams) {
	const fn = "GLU"
	mem.CheckSize(fn, "Rows", p.Rows)
	mem.CheckSize(fn, "Cols", p.Cols)
	mem.CheckLen(fn, "Dst", len(p.Dst), mem.MulLen(fn, p.Rows, p.Cols), "Rows*Cols")
	mem.CheckLen(fn, "X", len(p.X), mem.MulLen(fn, mem.MulLen(fn, p.Rows, p.Cols), 2), "Rows*Cols*2")
	if !(p.Sharpness >= 0) || !(p.Limit >= 0) {
		panic(fmt.Sprintf("kernels.%s: Sharpness = %g and Limit = %g, want at least 0", fn, p.Sharpness, p.Limit))
	}
	g := row.Gate{Sharpness: p.Sharpness, Limit: p.Limit, Offset: p.Offset}
	switch p.Activation {
	case ActReLU:
		g.Unary, g.Kernel = simd.ReLUVec, simd.KernelReLUVec
	case ActGELU:
		g.Unary, g.Kernel = simd.GELUVec, simd.KernelGELUVec
	case ActGELUTanh:
		g.Unary, g.Kernel = simd.GELUTanhVec, simd.KernelGELUTanhVec
	case ActSiLU:
		g.Unary, g.Kernel = simd.SiLUVec, simd.KernelSiLUVec
	case ActTanh:
		g.Unary, g.Kernel = simd.TanhVec, simd.KernelTanhVec
	case ActReLU2:
		g.Unary, g.Kernel = relu2, simd.KernelReLUVec
	default:
		mem.PanicSize(fn, "Activation", int(p.Activation), "want ActReLU to ActReLU2")
	}
	if p.Rows > 0 && p.Cols > 0 {
		row.GLU(int(t), p.Rows, p.Cols, p.Dst, p.X, g)
	}
}

// relu2 sets dst to max(x, 0)^2.
func relu2(isa simd.ISA, dst, x []float32) {
	simd.ReLUVec(isa, dst, x)
	simd.MulVec(isa, dst, dst, dst)
}
