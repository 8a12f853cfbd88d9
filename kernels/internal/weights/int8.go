package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has products with weights of int8. The call converts the rows of A to integers:
// rotated, with one scale per row, or per stretch of simd.Int8Stretch elements of a longer row. The
// columns of B, rotated too, have their scales from packing. The sum of the products of a stretch
// is exact. The steps after it have a fixed order and are rounded one by one, so an element of C
// has the same bits on every tier and for any number of threads: those of ref.GemmInt8.

// int8Format completes the record.
func int8Format(f *Record) {
	f.multiplyInt8()
	f.MR, f.Steps, f.bytes = int8TileRows, int8Step, int8Step*f.NR
}

// multiplyInt8 chooses the way in which int8 is multiplied on the record's tier: the fastest one on
// the machine. A kernel of a lower tier has panels of another width; kernels of tiles support both
// widths.
func (f *Record) multiplyInt8() {
	isa := f.ISA
	f.tiles = simd.KernelInt8Tiles.InAssembly(isa) && simd.KernelInt8Tiles.Permitted(isa)
	switch {
	case f.tiles, isa != simd.Generic && simd.KernelInt8Quads.On(isa).ISA == isa:
		f.Kind, f.kernel = Int8Quads, simd.KernelInt8Quads
	case simd.KernelInt8Pairs.InAssembly(isa):
		f.Kind, f.kernel = Int8Pairs, simd.KernelInt8Pairs
	case simd.KernelInt8Octets.InAssembly(isa):
		f.Kind, f.kernel = int8Octets, simd.KernelInt8Octets
	default:
		f.Kind, f.kernel = int8Dots, simd.KernelInt8Dots
	}
}
