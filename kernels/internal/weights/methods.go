package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// The ways to multiply rows of integers with a packed matrix.

// Method is one of them: a kernel, and how its calls are cut.
type Method struct {
	Kernel   simd.Kernel
	Rows     int // rows of A are made integers in groups of about as many,
	Multiple int // a multiple of this
	Piece    int // bytes of a panel that are multiplied with them at a time
	Panels   int // panels of a call, of all of k; 0 if a call has a piece of one panel
}

// Method is the way for m rows of A.
func (b *Matrix) Method(m int) Method {
	f, size := b.Record, &tune.Used.Gemm
	method := Method{Kernel: f.kernel, Rows: size.Int8Rows, Multiple: f.MR, Piece: size.Int8Panel}
	switch {
	case f.tiles && m >= size.TileRows && b.K <= simd.Int8Stretch:
		return Method{Kernel: simd.KernelInt8Tiles, Rows: tileRows * max(size.Int8Rows/tileRows, 1), Multiple: tileRows, Panels: b.tilePanels()}
	case f.kernel == simd.KernelInt8Pairs && m >= size.WinogradRows && simd.KernelInt8Winograd.On(f.ISA).ISA == f.ISA:
		// It takes a pass over the panel, which some rows must pay for.
		method.Kernel, method.Piece = simd.KernelInt8Winograd, size.WinogradPanel
	}
	return method
}

// Limits of a call of simd.Int8Tiles, so that it takes at most 100 µs at 2 GHz. A product of full tiles takes 16 cycles.
const (
	tileRows     = 32 // rows of A that are multiplied together
	tileSide     = 16
	tileDepth    = 64
	tileProducts = 200_000 / 16
)

// tilePanels is how many panels a call of simd.Int8Tiles takes.
func (b *Matrix) tilePanels() int {
	size, nr := &tune.Used.Gemm, b.Record.NR
	ofPanel := (size.Int8Rows + tileSide - 1) / tileSide * (nr / tileSide) * ((b.K + tileDepth - 1) / tileDepth)
	return max(min(size.TileColumns/nr, tileProducts/ofPanel), 1)
}

// SumTiles makes sums of the first m rows that are integers with n columns from column j on, whole panels: rows of them, n apart.
func (r *RowsOfA) SumTiles(b *Matrix, j, m, n int) {
	f, k := b.Record, (b.K+int8Step-1)/int8Step*int8Step
	r.sums = mem.Grow(r.sums, m*n)
	simd.Int8Tiles(f.ISA, m, k, f.NR, n/f.NR, r.bytes, r.ld, b.Panel(j, 0), b.stride, r.sums, n)
}

// EndTiles makes elements of C of some columns of these sums, from the one at offset on, with the columns' scales and their bias, if there is one.
func (r *RowsOfA) EndTiles(isa simd.ISA, m, offset, n, ldsums int, scales, bias, c []float32, ldc int) {
	simd.Int8Ends(isa, m, n, r.sums[offset:], ldsums, r.scale, r.start, scales, bias, c, ldc)
}
