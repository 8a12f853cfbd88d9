package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Rows of A and columns of B are rotated before they become int8: a product of both stays the same, but a few large
// elements are spread over all of their block, and the scale no longer follows them alone. A rotation is a
// factor for each element and a Walsh-Hadamard transform, in blocks of simd.RotateBlock, and of simd.RotateGroup elements
// for what is left, filled up with zeros. The signs of the factors keep an offset that elements have in
// common from becoming one large element. Their magnitudes balance A and B; see balance.go.
//
// Transforms are not scaled to length 1, but by powers of two, which are exact: a row and a column, rotated, have
// 1/int8Unrotated of their product, whichever the block. No sum is larger than the largest element then.

// int8Unrotated is how many times larger a product is than that of what is rotated.
const int8Unrotated = simd.RotateBlock

// rotateSigns are the first bits of pi after the point. Where one is set, an element has its sign changed.
var rotateSigns = [2]uint64{0x243f6a8885a308d3, 0x13198a2e03707344}

// rotateBy is what element p of rows of k elements is multiplied with, where A and B are not balanced.
func rotateBy(p, k int) float32 {
	by, j := float32(1.0/128), p%simd.RotateBlock
	if p/simd.RotateBlock == k/simd.RotateBlock { // what is left, in groups: sqrt(128/32) times as much, see int8Unrotated
		by, j = 1.0/64, j%simd.RotateGroup
	}
	if rotateSigns[j/64]>>(j%64)&1 != 0 {
		return -by
	}
	return by
}

// rotatedLen is how many elements k become.
func rotatedLen(k int) int { return (k + simd.RotateGroup - 1) / simd.RotateGroup * simd.RotateGroup }

// rotate sets rows of dst, which lie lddst apart, to rows of k elements, rotated. k may be a part of a row that begins
// at a block, and ends at one or with the row. by has the factors of its elements.
func rotate(isa simd.ISA, dst []float32, lddst int, x []float32, ldx, rows, k int, by []float32) {
	blocks := k / simd.RotateBlock * simd.RotateBlock
	groups := k / simd.RotateGroup * simd.RotateGroup
	if blocks > 0 {
		simd.Rotate128(isa, dst, x, by, rows, blocks, lddst, ldx)
	}
	if groups > blocks {
		simd.Rotate32(isa, dst[blocks:], x[blocks:], by[blocks:], rows, groups-blocks, lddst, ldx)
	}
	if k == groups {
		return
	}
	for i := range rows {
		var last [simd.RotateGroup]float32
		copy(last[:], x[i*ldx+groups:i*ldx+k])
		simd.Rotate32(isa, dst[i*lddst+groups:], last[:], by[groups:], 1, len(last), len(last), len(last))
	}
}

// rotatedAtOnce is about how many elements are rotated at a time, whole blocks: they stay in the first-level cache.
const rotatedAtOnce = 4096
