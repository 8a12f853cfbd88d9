package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file has ways to multiply rows of integers, or of bfloat16, by a packed matrix.

// Method is a way to multiply: a kernel, and the sizes of its calls.
type Method struct {
	Kernel   simd.Kernel
	Rows     int // rows of A are converted in groups of about this number,
	Multiple int // and of a multiple of this number
	Piece    int // bytes of a panel that are multiplied by them at a time
	Panels   int // panels that a kernel of tiles multiplies by the rows in one call; 0 means one panel
}

// Method returns the method for m rows of A.
func (b *Matrix) Method(m int) Method {
	f, size := b.Record, &tune.Used.Gemm
	method := Method{Kernel: f.kernel, Rows: size.Int8Rows, Multiple: f.MR, Piece: size.Int8Panel}
	switch {
	case f.kernel == simd.KernelBFloat16Tiles:
		return b.tileMethod(f.kernel, 2*b.K)
	case f.kernel == simd.KernelBFloat16Pairs:
		method.Panels = max(size.TileColumns/f.NR, 1)
	case f.Kind == Blocks:
		if f.tiles && m >= size.BlockTileRows && b.K <= simd.Int8Stretch {
			kernel, _ := f.blocks.byTiles()
			return b.blockTileMethod(kernel)
		}
	case f.tiles && m >= size.TileRows && b.K <= simd.Int8Stretch:
		return b.tileMethod(simd.KernelInt8Tiles, b.K)
	case f.kernel == simd.KernelInt8Pairs && m >= size.WinogradRows && simd.KernelInt8Winograd.On(f.ISA).ISA == f.ISA:
		// This kernel needs a pass over the panel, which is worth it only for several rows.
		method.Kernel, method.Piece = simd.KernelInt8Winograd, size.WinogradPanel
	}
	return method
}

// A call of a kernel of tiles makes at most tileProducts products of full tiles, of 16 cycles each,
// so that it ends within 100 µs at 2 GHz.
const (
	tileSide     = 16 // rows and columns of a tile of sums
	tileProducts = 200_000 / 16
)

// tileMethod returns the method of a kernel of tiles for rows of A with the given number of bytes.
func (b *Matrix) tileMethod(kernel simd.Kernel, bytes int) Method {
	size, nr := &tune.Used.Gemm, b.Record.NR
	ofUnit := tileRows / tileSide * (nr / tileSide) * ((bytes + tileDepth - 1) / tileDepth) // products per panel
	// The panels of a call are read from the third-level cache once for all of its rows. There are
	// twice as many rows as without tiles.
	units := max(min(2*size.Int8Rows/tileRows, tileProducts/ofUnit), 1)
	return Method{Kernel: kernel, Rows: units * tileRows, Multiple: tileRows, Panels: max(min(size.TileColumns/nr, tileProducts/(ofUnit*units)), 1)}
}

// blockTileCycles is about the number of cycles that tiles take for 32 rows, a panel and a
// sub-block.
const blockTileCycles = 250

// blockTileMethod is tileMethod for weights in blocks.
func (b *Matrix) blockTileMethod(kernel simd.Kernel) Method {
	size, most := &tune.Used.Gemm, 200_000/blockTileCycles*simd.WeightBlock/b.K
	units := max(min(2*size.Int8Rows/tileRows, most), 1)
	return Method{Kernel: kernel, Rows: units * tileRows, Multiple: tileRows, Panels: max(min(size.TileColumns/b.Record.NR, most/units), 1)}
}

// MultiplyTiles sets c, with rows ldc apart, to the products of m rows of integers, from row first
// on, and n columns from column j on, in whole panels, and adds the columns' bias, if there is one.
// work is memory of simd.BlockTileWork elements: several goroutines may multiply the same rows.
// Weights in blocks have no bias.
func (r *RowsOfA) MultiplyTiles(b *Matrix, first, j, m, n int, work []int32, bias, c []float32, ldc int) {
	f, k := b.Record, (b.K+int8Step-1)/int8Step*int8Step
	a, scale, panels, panel := r.bytes[first*r.ld:], r.scale[first:], n/f.NR, b.Panel(j, 0)
	if f.Kind == Blocks {
		switch kernel, _ := f.blocks.byTiles(); kernel {
		case simd.KernelBlocks8Tiles:
			simd.Blocks8Tiles(f.ISA, m, k, f.NR, panels, a, r.ld, scale, r.rows, panel, b.stride, work, c, ldc)
		case simd.KernelBlocks4Tiles:
			simd.Blocks4Tiles(f.ISA, m, k, f.NR, panels, a, r.ld, scale, r.rows, panel, b.stride, work, c, ldc)
		case simd.KernelBlocks4KTiles:
			simd.Blocks4KTiles(f.ISA, m, k, f.NR, panels, a, r.ld, scale, r.offset[first:], r.rows, panel, b.stride, work, c, ldc)
		case simd.KernelBlocks4MinTiles:
			simd.Blocks4MinTiles(f.ISA, m, k, f.NR, panels, a, r.ld, scale, r.offset[first:], r.rows, panel, b.stride, work, c, ldc)
		}
		return
	}
	simd.Int8Tiles(f.ISA, m, k, f.NR, panels, a, r.ld, scale, r.start[first:], panel, b.stride, b.Scales()[j:], bias, work[:simd.TileSums], c, ldc)
}
