package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// Products with panels of numbers, of float32 and of 16 bits.

// MultiplyHalves is a call of that for the panel of column j and k steps from step p.
func (b *Matrix) MultiplyHalves(j, p, m, k int, alpha float32, x []float32, ldx int, beta float32, c []float32, ldc int) {
	f, panel := b.Record, mem.Halves(b.Panel(j, p))
	if f.isBFloat16() {
		simd.GemmPanelBFloat16(f.ISA, m, f.NR, k, alpha, x, ldx, panel, beta, c, ldc)
	} else {
		simd.GemmPanelFloat16(f.ISA, m, f.NR, k, alpha, x, ldx, panel, beta, c, ldc)
	}
}

// Gemv multiplies x with columns [j, j+len(sums)) of B.
func (b *Matrix) Gemv(sums, x []float32, j int) {
	switch f, panels := b.Record, b.Panel(j, 0); f.Format {
	case F32:
		simd.GemvPanels(f.ISA, sums, x, mem.Floats(panels), f.NR, tune.Used.Gemm.Ahead)
	case BF16, BF16Fast:
		simd.GemvPanelsBFloat16(f.ISA, sums, x, mem.Halves(panels), f.NR, tune.Used.Gemm.Ahead)
	case F16:
		simd.GemvPanelsFloat16(f.ISA, sums, x, mem.Halves(panels), f.NR, tune.Used.Gemm.Ahead)
	}
}
