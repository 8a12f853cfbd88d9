package weights

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Rows of A and columns of B are rotated before they become int8: a product of both stays the same, but a few large
// elements are spread over all of their block, and the scale no longer follows them alone. A rotation is a sign
// for each element and a Walsh-Hadamard transform, in blocks of simd.Int8Block, and of simd.RotateGroup elements
// for what is left, filled up with zeros. The signs keep an offset that elements have in
// common from becoming one large element.
//
// Transforms are not scaled to length 1, but by powers of two, which are exact: a row and a column, rotated, have
// 1/int8Unrotated of their product, whichever the block. No sum is larger than the largest element then.

// int8Unrotated is how many times larger a product is than that of what is rotated.
const int8Unrotated = simd.Int8Block

// rotateSigns are the first bits of pi after the point. Where one is set, an element has its sign changed.
var rotateSigns = [2]uint64{0x243f6a8885a308d3, 0x13198a2e03707344}

// rotateBlockBy and rotateGroupBy are what elements of a block, and of a group, are multiplied with.
var (
	rotateBlockBy = rotateFactors(simd.Int8Block, 1.0/128)
	rotateGroupBy = rotateFactors(simd.RotateGroup, 1.0/64) // sqrt(128/32) times as much: see int8Unrotated
)

func rotateFactors(n int, factor float32) []float32 {
	by := make([]float32, n)
	for j := range by {
		by[j] = factor
		if rotateSigns[j/64]>>(j%64)&1 != 0 {
			by[j] = -factor
		}
	}
	return by
}

// rotatedLen is how many elements k become.
func rotatedLen(k int) int { return (k + simd.RotateGroup - 1) / simd.RotateGroup * simd.RotateGroup }

// rotate sets rows of dst, which lie lddst apart, to rows of k elements, rotated. k may be a part of a row that begins
// at a block, and ends at one or with the row.
func rotate(isa simd.ISA, dst []float32, lddst int, x []float32, ldx, rows, k int) {
	blocks := k / simd.Int8Block * simd.Int8Block
	groups := k / simd.RotateGroup * simd.RotateGroup
	if blocks > 0 {
		simd.Rotate128(isa, dst, x, rotateBlockBy, rows, blocks, lddst, ldx)
	}
	if groups > blocks {
		simd.Rotate32(isa, dst[blocks:], x[blocks:], rotateGroupBy, rows, groups-blocks, lddst, ldx)
	}
	if k == groups {
		return
	}
	for i := range rows {
		var last [simd.RotateGroup]float32
		copy(last[:], x[i*ldx+groups:i*ldx+k])
		simd.Rotate32(isa, dst[i*lddst+groups:], last[:], rotateGroupBy, 1, len(last), len(last), len(last))
	}
}

// rotatedAtOnce is about how many elements are rotated before they become integers, whole blocks: they stay in
// the first-level cache.
const rotatedAtOnce = 4096

// quantizeRotated is Quantize for columns of int8, whose rows have filled elements.
func (r *RowsOfA) quantizeRotated(f *Record, a []float32, lda, m, k int) {
	rows, cols := max(1, rotatedAtOnce/rotatedLen(k)), min(rotatedAtOnce, k)
	for i := 0; i < m; i += rows {
		n := min(rows, m-i)
		for p := 0; p < k; p += cols {
			w := min(cols, k-p)
			filled := rotatedLen(w)
			r.rotated = mem.Grow(r.rotated, n*filled)
			rotate(f.ISA, r.rotated, filled, a[i*lda+p:], lda, n, w)
			to, at := i*r.ld+p, p/simd.Int8Block*m+i
			if f.Kind == Int8Pairs {
				simd.QuantizeInt16(f.ISA, r.words[to:], r.rotated, n, filled, filled, r.ld, filled, r.scale[at:], m)
			} else {
				simd.QuantizeInt8(f.ISA, r.bytes[to:], r.rotated, n, filled, filled, r.ld, filled, r.scale[at:], r.start[at:], m)
			}
		}
	}
}
