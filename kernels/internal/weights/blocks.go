package weights

import (
	"encoding/binary"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Packed weights in blocks of a column, as GGUF has them.
//
// A block of a panel begins with the scales of its columns, of 16 bits or exponents of 2 of 8, and then their minima,
// or scales of minima, if they have any. Units of simd.WeightBlock elements follow, each with the scales
// of the groups in it, a byte for each column, then the minima, and the weights as integers
// without sign, four of a column side by side:
//
//   - of 8 bits, four after four;
//   - of 4, a byte has an element in its lower half, and the one 16 further in the upper;
//   - of 5, the lower 4 bits like those of 4, and then bytes with the fifth bit of one and of those 4, 8, up to 28 further;
//   - of 6, each half of the unit by itself: bytes with the lower 4 bits of an element and of the
//     one 8 further, and then bytes with the upper 2 bits of one and of those 4, 8 and 12 further.
//
// Rows of A become integers in blocks, as in products of int8, of 32 elements, or 16 where the
// groups have as many. An element of C has the bits of ref.GemmBlocks.

// blocksFormat completes the record of a format in blocks. Columns of a panel that are not used have scales of zero, as it
// has so far.
func blocksFormat(f *Record) {
	l := blockLayouts[f.Format]
	f.blocks, f.Steps = l, l.Elements
	f.bytes = l.Bytes * f.NR
	f.pack = func(panel []byte, _, columns []float32, n, k int) {
		var x [256]float32
		for p := 0; p < k; p += l.Elements {
			block := panel[p/l.Elements*f.bytes:][:f.bytes]
			for j := range n {
				var c blockColumn
				clear(x[copy(x[:], columns[j*k:][p:min(p+l.Elements, k)]):])
				l.quantize(&c, x[:l.Elements])
				f.store(block, &c, j)
			}
		}
	}
	f.packFile = func(panel, columns []byte, n, k int) {
		row := k / l.Elements * l.file
		for b := 0; b*l.Elements < k; b++ {
			block := panel[b*f.bytes:][:f.bytes]
			j := 0
			for ; l.repackPair != nil && j+2 <= n; j += 2 {
				x := columns[j*row+b*l.file:]
				l.repackPair(block, x[:l.file], x[row:][:l.file], f.NR, j)
			}
			for ; j < n; j++ {
				l.repack(block, columns[j*row+b*l.file:][:l.file], f.NR, j)
			}
		}
	}
	f.column = f.columnBlocks
	f.Kind, f.MR, f.kernel = Blocks, int8TileRows, f.blocks.kernel
}

// store writes column j of a block.
func (f *Record) store(block []byte, c *blockColumn, j int) {
	l := &f.blocks
	if l.Codes {
		block[j] = byte(c.d)
	} else {
		binary.LittleEndian.PutUint16(block[2*j:], c.d)
	}
	if l.Least {
		binary.LittleEndian.PutUint16(block[2*f.NR+2*j:], c.dmin)
	}
	for u := 0; u*simd.WeightBlock < l.Elements; u++ {
		unit := block[(l.Head+u*l.Unit)*f.NR:]
		if l.Scales {
			groups := simd.WeightBlock / l.Group
			for g := range groups {
				unit[g*f.NR+j] = c.scale[u*groups+g]
				if l.Least {
					unit[(groups+g)*f.NR+j] = c.least[u*groups+g]
				}
			}
		}
		f.storeWeights(unit[l.UnitScales*f.NR:], c.q[u*simd.WeightBlock:][:simd.WeightBlock], j)
	}
}

// storeWeights writes the integers of a unit of column j.
func (f *Record) storeWeights(w, q []byte, j int) {
	switch f.blocks.Bits {
	case 8:
		for i := range 8 {
			putQuad(w, f.NR, i, j, quad(q, 4*i))
		}
	case 4:
		for i := range 4 {
			putQuad(w, f.NR, i, j, quad(q, 4*i)|quad(q, 16+4*i)<<4)
		}
	case 5:
		var fifths uint32
		for i := range 8 {
			fifths |= quad(q, 4*i) >> 4 & fourOnes << i
		}
		for i := range 4 {
			putQuad(w, f.NR, i, j, quad(q, 4*i)&fourLow|quad(q, 16+4*i)&fourLow<<4)
		}
		putQuad(w, f.NR, 4, j, fifths)
	case 6:
		for h := range 2 {
			half, q := w[h*12*f.NR:], q[16*h:]
			var upper uint32
			for i := range 4 {
				upper |= quad(q, 4*i) >> 4 & fourThrees << (2 * i)
			}
			for i := range 2 {
				putQuad(half, f.NR, i, j, quad(q, 4*i)&fourLow|quad(q, 8+4*i)&fourLow<<4)
			}
			putQuad(half, f.NR, 2, j, upper)
		}
	}
}

// loadWeights reads what storeWeights wrote.
func (f *Record) loadWeights(q, w []byte, j int) {
	for p := range q {
		switch f.blocks.Bits {
		case 8:
			q[p] = w[f.quadAt(p/4, j)+p%4]
		case 4:
			q[p] = w[f.quadAt(p%16/4, j)+p%4] >> (p / 16 * 4) & 15
		case 5:
			q[p] = w[f.quadAt(p%16/4, j)+p%4]>>(p/16*4)&15 | w[f.quadAt(4, j)+p%4]>>(p/4)&1<<4
		case 6:
			half := w[p/16*12*f.NR:]
			q[p] = half[f.quadAt(p%8/4, j)+p%4]>>(p%16/8*4)&15 | half[f.quadAt(2, j)+p%4]>>(p%16/4*2)&3<<4
		}
	}
}

// quadAt is where four bytes of column j lie side by side.
func (f *Record) quadAt(i, j int) int { return 4 * (f.NR*i + j) }

func (f *Record) columnBlocks(dst []float32, panel []byte, j int) {
	var x [simd.WeightBlock]float32
	for p := 0; p < len(dst); p += len(x) {
		f.loadUnit(&x, panel, p, j)
		copy(dst[p:], x[:])
	}
}

// loadUnit makes the unit of column j that begins at step p float32.
func (f *Record) loadUnit(x *[simd.WeightBlock]float32, blocks []byte, p, j int) {
	l := &f.blocks
	block := blocks[p/f.Steps*f.bytes:][:f.bytes]
	unit := block[(l.Head+p%f.Steps/simd.WeightBlock*l.Unit)*f.NR:]
	var q [simd.WeightBlock]byte
	f.loadWeights(q[:], unit[l.UnitScales*f.NR:], j)
	var d, dmin float32
	if l.Codes {
		d = simd.PowerOf2(block[j])
	} else {
		d = half.Float16(binary.LittleEndian.Uint16(block[2*j:]))
	}
	if l.Least {
		dmin = half.Float16(binary.LittleEndian.Uint16(block[2*(f.NR+j):]))
	}
	scale, least := d, dmin
	for i, q := range q {
		switch {
		case l.Scales && l.Least:
			scale, least = d*float32(unit[j]), float32(dmin*float32(unit[f.NR+j]))
		case l.Scales:
			scale = d * float32(int8(unit[i/l.Group*f.NR+j]))
		case l.Codes:
			q = simd.Codes[q]
		}
		x[i] = float32(scale * float32(int(q)-l.zero))
		if l.Least {
			x[i] -= least
		}
	}
}
