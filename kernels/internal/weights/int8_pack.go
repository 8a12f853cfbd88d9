package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file converts columns of B to panels of int8, and back.

// packInt8 rotates n columns of K contiguous elements each, computes their scales, and packs them.
func (p *Matrix) packInt8(panel []byte, scales, columns []float32, n int) {
	f, k := p.Record, p.K
	side, flip := f.Kind.side(), byte(0)
	if f.Kind == Int8Quads {
		flip = 128
	}
	for i := range panel {
		panel[i] = flip
	}
	column, by := make([]float32, rotatedLen(k)), p.inverse()
	for j := range n {
		for q := 0; q < k; q += rotatedAtOnce {
			rotate(f.ISA, column[q:], len(column), columns[j*k+q:], k, 1, min(rotatedAtOnce, k-q), by[q:])
		}
		scale, inverse := simd.QuantizeBlock(column)
		scales[j] = scale * int8Unrotated
		for q, v := range column {
			panel[q/side*side*f.NR+side*j+q%side] = byte(simd.QuantizeOne(v, inverse)) ^ flip
		}
	}
}

// columnInt8 sets dst to a column of a panel, rotated back, without its scale. The transform is its
// own inverse. Multiplying by the factors of rows of A undoes the factors of columns, the scales of
// both transforms, and int8Unrotated.
func (p *Matrix) columnInt8(dst []float32, panel []byte, j int) {
	var room [simd.RotateBlock]float32
	for q, by := 0, p.by(); q < len(dst); {
		block := room[:]
		if len(dst)-q < len(block) {
			block = room[:simd.RotateGroup]
		}
		for t := range block {
			block[t] = p.Record.numberInt8(panel, q+t, j)
		}
		simd.Hadamard(block)
		for t := range block {
			block[t] *= by[q+t]
		}
		q += copy(dst[q:], block)
	}
}

// numberInt8 returns element p of column j.
func (f *Record) numberInt8(blocks []byte, p, j int) float32 {
	side, flip := f.Kind.side(), byte(0)
	if f.Kind == Int8Quads {
		flip = 128
	}
	return float32(int8(blocks[p/side*side*f.NR+side*j+p%side] ^ flip))
}
