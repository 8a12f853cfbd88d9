package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Products with weights of int8. The rows of A become integers as they are copied,
// each block of simd.Int8Block elements with a scale of its own; the columns of B have
// theirs from packing. The sums of a block are exact, blocks are added up in order, and
// each step is rounded by itself, so an element of C has the same bits on every tier, for
// any number of threads: those of ref.GemmInt8.

// int8Format completes the record.
func int8Format(f *Record) {
	f.Kind, f.MR = int8KindOn(f.ISA), int8TileRows
	f.Steps, f.bytes = int8Step, int8Step*f.NR
	f.pack, f.Widen, f.column = f.packInt8, f.widenInt8, f.columnInt8
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

// packInt8 packs n columns of k contiguous elements each, and finds their scales.
func (f *Record) packInt8(panel []byte, scales, columns []float32, n, k int) {
	side, flip := f.Kind.side(), byte(0)
	if f.Kind == Int8Quads {
		flip = 128
	}
	for i := range panel {
		panel[i] = flip
	}
	for j := range n {
		column := columns[j*k:][:k]
		scale, inverse := simd.QuantizeBlock(column)
		scales[j] = scale
		for p, v := range column {
			panel[p/side*side*f.NR+side*j+p%side] = byte(simd.QuantizeOne(v, inverse)) ^ flip
		}
	}
}

// widenInt8 is the integers as float32; their columns' scales are not in it.
func (f *Record) widenInt8(dst []float32, blocks []byte) {
	for p := range len(blocks) / f.NR {
		for j := range f.NR {
			dst[p*f.NR+j] = f.numberInt8(blocks, p, j)
		}
	}
}

func (f *Record) columnInt8(dst []float32, panel []byte, j int) {
	for p := range dst {
		dst[p] = f.numberInt8(panel, p, j)
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
