package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file multiplies by panels of numbers of float32 and of 16 bits.

// MultiplyHalves calls the kernel for the panel of column j and k steps from step p.
func (b *Matrix) MultiplyHalves(j, p, m, k int, alpha float32, x []float32, ldx int, beta float32, c []float32, ldc int) {
	f, panel := b.Record, mem.Halves(b.Panel(j, p))
	if f.isBFloat16() {
		simd.GemmPanelBFloat16(f.ISA, m, f.NR, k, alpha, x, ldx, panel, beta, c, ldc)
	} else {
		simd.GemmPanelFloat16(f.ISA, m, f.NR, k, alpha, x, ldx, panel, beta, c, ldc)
	}
}

// Gemv sets c to alpha*x*B + beta*c for steps [p, p+len(x)) of B and some panels, preferably
// simd.PanelsAtOnce of them. The first panel begins with column j, and each next one is apart
// panels after it. Their parts of c are the same distance apart.
func (b *Matrix) Gemv(panels, apart int, alpha float32, x []float32, j, p int, beta float32, c []float32) {
	f, first, ahead := b.Record, b.Panel(j, p), tune.Used.Gemm.Ahead/simd.PanelsAtOnce
	panel, ldc := apart*b.K*f.NR, apart*f.NR
	switch f.Format {
	case F32:
		simd.GemvPanels(f.ISA, panels, f.NR, alpha, x, mem.Floats(first), panel, beta, c, ldc, ahead)
	case BF16, BF16Fast:
		simd.GemvPanelsBFloat16(f.ISA, panels, f.NR, alpha, x, mem.Halves(first), panel, beta, c, ldc, ahead)
	case F16:
		simd.GemvPanelsFloat16(f.ISA, panels, f.NR, alpha, x, mem.Halves(first), panel, beta, c, ldc, ahead)
	}
}
