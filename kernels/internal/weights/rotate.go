package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Rows of A and columns of B are rotated before they are converted to int8. That does not change
// their product, but it spreads a few large elements over their block, so that they no longer
// determine the scale. A rotation multiplies each element by a factor, and then applies a
// Walsh-Hadamard transform to each block of simd.RotateBlock elements. The remaining elements,
// padded with zeros, are rotated in blocks of simd.RotateGroup. Without the signs of the factors,
// an offset of all elements would become one large element. The magnitudes of the factors balance A
// and B; see balance.go.
//
// Transforms are scaled by powers of two, which is exact, rather than to length 1. The product of a
// rotated row and a rotated column is 1/int8Unrotated of the true product, for both sizes of
// blocks. No sum exceeds the largest element.

// int8Unrotated is the factor from the product of a rotated row and a rotated column to the true
// product.
const int8Unrotated = simd.RotateBlock

// rotateSigns holds the first bits of the fraction of pi. A set bit changes the sign of its
// element.
var rotateSigns = [2]uint64{0x243f6a8885a308d3, 0x13198a2e03707344}

// rotateBy returns the factor of element p of a row of k elements, without balance.
func rotateBy(p, k int) float32 {
	by, j := float32(1.0/128), p%simd.RotateBlock
	if p/simd.RotateBlock == k/simd.RotateBlock { // the rest, in groups: larger by sqrt(128/32), see int8Unrotated
		by, j = 1.0/64, j%simd.RotateGroup
	}
	if rotateSigns[j/64]>>(j%64)&1 != 0 {
		return -by
	}
	return by
}

// rotatedLen returns the number of elements of a rotated row of k elements.
func rotatedLen(k int) int { return (k + simd.RotateGroup - 1) / simd.RotateGroup * simd.RotateGroup }

// rotate sets rows of dst, lddst apart, to the rotated rows of x, k elements each. The elements may
// be a part of a row that begins with a block, and ends with a block or with the row. by has their
// factors.
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

// rotatedAtOnce is the approximate number of elements that are rotated at a time, in whole blocks.
// They stay in the first-level cache.
const rotatedAtOnce = 4096
