package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Products with weights of int8. The rows of A become integers as they are copied, rotated, each block of
// simd.Int8Block elements with a scale of its own; the columns of B, rotated too, have
// theirs from packing. The sums of a block are exact, blocks are added up in order, and
// each step is rounded by itself, so an element of C has the same bits on every tier, for
// any number of threads: those of ref.GemmInt8.

// int8Format completes the record.
func int8Format(f *Record) {
	f.Kind, f.MR = int8KindOn(f.ISA), int8TileRows
	f.Steps, f.bytes = int8Step, int8Step*f.NR
	f.pack, f.column = f.packInt8, f.columnInt8
}

// int8KindOn is the best one on a tier.
func int8KindOn(isa simd.ISA) Kind {
	switch {
	case isa != simd.Generic && simd.KernelInt8Quads.On(isa).ISA == isa: // that of a lesser tier has other columns
		return Int8Quads
	case simd.KernelInt8Pairs.InAssembly(isa):
		return Int8Pairs
	case simd.KernelInt8Octets.InAssembly(isa):
		return int8Octets
	}
	return int8Dots
}

// packInt8 packs n columns of k contiguous elements each, rotated, and finds their scales.
func (f *Record) packInt8(panel []byte, scales, columns []float32, n, k int) {
	side, flip := f.Kind.side(), byte(0)
	if f.Kind == Int8Quads {
		flip = 128
	}
	for i := range panel {
		panel[i] = flip
	}
	column := make([]float32, rotatedLen(k))
	for j := range n {
		for p := 0; p < k; p += rotatedAtOnce {
			rotate(f.ISA, column[p:], len(column), columns[j*k+p:], k, 1, min(rotatedAtOnce, k-p))
		}
		scale, inverse := simd.QuantizeBlock(column)
		scales[j] = scale * int8Unrotated
		for p, v := range column {
			panel[p/side*side*f.NR+side*j+p%side] = byte(simd.QuantizeOne(v, inverse)) ^ flip
		}
	}
}

// columnInt8 is a column without its scale, rotated back: the transform is its own inverse, and the factors of
// rotate are what makes up for both and for int8Unrotated.
func (f *Record) columnInt8(dst []float32, panel []byte, j int) {
	var room [simd.Int8Block]float32
	for p := 0; p < len(dst); {
		by := rotateBlockBy
		if len(dst)-p < len(by) {
			by = rotateGroupBy
		}
		block := room[:len(by)]
		for q := range block {
			block[q] = f.numberInt8(panel, p+q, j)
		}
		simd.Hadamard(block)
		for q := range block {
			block[q] *= by[q]
		}
		p += copy(dst[p:], block)
	}
}

// numberInt8 is element p of column j.
func (f *Record) numberInt8(blocks []byte, p, j int) float32 {
	side, flip := f.Kind.side(), byte(0)
	if f.Kind == Int8Quads {
		flip = 128
	}
	return float32(int8(blocks[p/side*side*f.NR+side*j+p%side] ^ flip))
}
