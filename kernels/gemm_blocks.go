package kernels

import (
	"encoding/binary"
	"math"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Packed weights in blocks of simd.WeightBlock elements of a column, each with a scale of
// 16 bits, as GGUF has them: Q8_0 and Q4_0. A block of a panel is the scales of its
// columns, and then the weights, larger by 128 or 8, four of a column side by side. Of 4
// bits, a byte has an element in its lower half, and the one 16 further in the upper.
//
// Where bytes without sign are multiplied, rows of A become integers in blocks as long, as in
// products of int8. Elsewhere panels are made float32.

// blocksFormat completes the record of a format of that many bits.
func blocksFormat(f *format, bits int) {
	f.steps, f.bytes = simd.WeightBlock, (2+simd.WeightBlock*bits/8)*f.nr
	f.pack, f.widen = f.packBlocks8, f.widenBlocks8
	kind, kernel := blocks8, simd.KernelBlocks8
	if bits == 4 {
		f.pack, f.widen = f.packBlocks4, f.widenBlocks4
		kind, kernel = blocks4, simd.KernelBlocks4
	}
	if kernel.On(f.isa).ISA != Generic {
		f.int8, f.mr = kind, int8TileRows
	}
}

// eachBlock runs do for every block of n columns of k elements, the last one of a column filled up
// with zeros. What do returns is the block's scale. Columns that are not used have scales of zero.
func (f *format) eachBlock(panel []byte, columns []float32, n, k int, do func(x *[simd.WeightBlock]float32, weights []byte, j int) float32) {
	for q := 0; q*simd.WeightBlock < k; q++ {
		block := panel[q*f.bytes:][:f.bytes]
		clear(block)
		for j := range n {
			var x [simd.WeightBlock]float32
			copy(x[:], columns[j*k:][q*simd.WeightBlock:min((q+1)*simd.WeightBlock, k)])
			scale := do(&x, block[2*f.nr:], j)
			binary.LittleEndian.PutUint16(block[2*j:], half.ToFloat16(scale))
		}
	}
}

// packBlocks8 finds scales of the largest magnitude by 127.
func (f *format) packBlocks8(panel []byte, _, columns []float32, n, k int) {
	f.eachBlock(panel, columns, n, k, func(x *[simd.WeightBlock]float32, weights []byte, j int) float32 {
		scale, inverse := simd.QuantizeBlock(x[:])
		for p, v := range x {
			weights[f.at8(p, j)] = byte(simd.QuantizeOne(v, inverse)) ^ 128
		}
		return scale
	})
}

// packBlocks4 finds scales of the number of the largest magnitude by -8, so that it is
// kept, whatever its sign.
func (f *format) packBlocks4(panel []byte, _, columns []float32, n, k int) {
	f.eachBlock(panel, columns, n, k, func(x *[simd.WeightBlock]float32, weights []byte, j int) float32 {
		var extreme, nan float32
		for _, v := range x {
			if math.Abs(float64(v)) > math.Abs(float64(extreme)) {
				extreme = v
			}
			nan += v - v
		}
		scale := extreme/-8 + nan
		var inverse float32
		if scale != 0 {
			inverse = 1 / scale
		}
		for p, v := range x {
			w := byte(8)
			if nan == 0 {
				w = byte(min(v*inverse+8.5, 15))
			}
			at, shift := f.at4(p, j)
			weights[at] |= w << shift
		}
		return scale
	})
}

// at8 is where element p of column j of a block is, behind the scales, and at4 also how far up in its byte.

func (f *format) at8(p, j int) int { return 4*f.nr*(p/4) + 4*j + p%4 }

func (f *format) at4(p, j int) (at, shift int) {
	const half = simd.WeightBlock / 2
	return f.at8(p%half, j), p / half * 4
}

func (f *format) widenBlocks8(dst []float32, blocks []byte) {
	f.widenBlocks(dst, blocks, func(weights []byte, p, j int) float32 { return float32(weights[f.at8(p, j)]) - 128 })
}

func (f *format) widenBlocks4(dst []float32, blocks []byte) {
	f.widenBlocks(dst, blocks, func(weights []byte, p, j int) float32 {
		at, shift := f.at4(p, j)
		return float32(weights[at]>>shift&15) - 8
	})
}

// widenBlocks makes blocks float32, as far as dst has room.
func (f *format) widenBlocks(dst []float32, blocks []byte, weight func(weights []byte, p, j int) float32) {
	for q := range len(blocks) / f.bytes {
		block := blocks[q*f.bytes:][:f.bytes]
		for j := range f.nr {
			scale := half.Float16(binary.LittleEndian.Uint16(block[2*j:]))
			for p := 0; p < simd.WeightBlock && len(dst) > (q*simd.WeightBlock+p)*f.nr; p++ {
				dst[(q*simd.WeightBlock+p)*f.nr+j] = scale * weight(block[2*f.nr:], p, j)
			}
		}
	}
}
