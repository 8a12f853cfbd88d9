package weights

import (
	"encoding/binary"

	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Packed weights in blocks, with the blocks of GGUF files.
//
// A panel's block holds one block of each of its columns. It begins with the columns' scales:
// 16-bit numbers, or 8-bit exponents of 2. Minima follow, or the scales of minima, in formats that
// have them. Then come sub-blocks of simd.WeightBlock elements. Each has the scales of its groups,
// one byte per column, then their minima, and then the weights as unsigned integers, four of a
// column side by side:
//
//   - 8 bits: one byte per element, in order.
//   - 4 bits: the lower half of a byte has element i, the upper half element i+16.
//   - 5 bits: the lower 4 bits as above. Then bytes with the fifth bits of elements i, i+4, i+8,
//     ... i+28.
//   - 6 bits: the two halves of the sub-block one after the other. In each half, bytes with the
//     lower 4 bits of elements i and i+8, and then bytes with the upper 2 bits of elements i, i+4,
//     i+8 and i+12.
//   - 3 bits: for each half of the sub-block, bytes with the lower 2 bits of elements i, i+4, i+8
//     and i+12. Then bytes with the third bits of elements i, i+4, ... i+28.
//
// Rows of A become integers too, in blocks of 32 elements, or of 16 in formats with groups of 16.
// An element of C has the same bits as that of ref.GemmBlocks.

// blocksFormat completes the record of a format in blocks. Packing leaves unused columns of a panel
// as they are: zero, scales included.
func blocksFormat(f *Record) {
	l := blockLayouts[f.Format]
	f.blocks, f.Steps = l, l.Elements
	f.bytes = l.Bytes * f.NR
	f.pack = func(panel []byte, _, columns []float32, n, k int) {
		var x [256]float32
		c := new(quantizer)
		for p := 0; p < k; p += l.Elements {
			block := panel[p/l.Elements*f.bytes:][:f.bytes]
			for j := range n {
				c.blockColumn = blockColumn{}
				clear(x[copy(x[:], columns[j*k:][p:min(p+l.Elements, k)]):])
				l.quantize(c, x[:l.Elements])
				f.store(block, &c.blockColumn, j)
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
	if kernel, ok := l.byTiles(); ok {
		f.tiles = kernel.InAssembly(f.ISA) && kernel.On(f.ISA).NR == f.NR && kernel.Permitted(f.ISA)
	}
}

// byTiles returns the kernel of tiles for the layout, if there is one.
func (l *blockLayout) byTiles() (kernel simd.Kernel, ok bool) {
	switch l.kernel {
	case simd.KernelBlocks8:
		return simd.KernelBlocks8Tiles, true
	case simd.KernelBlocks4:
		return simd.KernelBlocks4Tiles, true
	case simd.KernelBlocks4K:
		return simd.KernelBlocks4KTiles, true
	case simd.KernelBlocks4Min:
		return simd.KernelBlocks4MinTiles, true
	}
	return 0, false
}

// store writes column j of a block.
func (f *Record) store(block []byte, c *blockColumn, j int) {
	l := &f.blocks
	if l.Codes == simd.E2M1 {
		block[j] = byte(c.d)
	} else {
		binary.LittleEndian.PutUint16(block[2*j:], c.d)
	}
	if l.Least {
		binary.LittleEndian.PutUint16(block[2*f.NR+2*j:], c.dmin)
	}
	for u := 0; u*simd.WeightBlock < l.Elements; u++ {
		sub := block[(l.Head+u*l.SubBytes)*f.NR:]
		if l.Scales {
			groups := simd.WeightBlock / l.Group
			for g := range groups {
				sub[g*f.NR+j] = c.scale[u*groups+g]
				if l.Least {
					sub[(groups+g)*f.NR+j] = c.least[u*groups+g]
				}
			}
		}
		f.storeWeights(sub[l.SubScales*f.NR:], c.q[u*simd.WeightBlock:][:simd.WeightBlock], j)
	}
}

// storeWeights writes the integers of column j of a sub-block.
func (f *Record) storeWeights(w, q []byte, j int) {
	switch f.blocks.Bits {
	case 3:
		var thirds uint32
		for h := range 2 {
			var lower uint32
			for i := range 4 {
				x := quad(q, 16*h+4*i)
				lower |= x & fourThrees << (2 * i)
				thirds |= x >> 2 & fourOnes << (4*h + i)
			}
			putQuad(w, f.NR, h, j, lower)
		}
		putQuad(w, f.NR, 2, j, thirds)
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
		case 3:
			q[p] = w[f.quadAt(p/16, j)+p%4]>>(p%16/4*2)&3 | w[f.quadAt(2, j)+p%4]>>(p/4)&1<<2
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

// quadAt returns the position of quad i of column j: four bytes side by side.
func (f *Record) quadAt(i, j int) int { return 4 * (f.NR*i + j) }

// columnBlocks sets dst to column j of a panel.
func (f *Record) columnBlocks(dst []float32, panel []byte, j int) {
	var x [simd.WeightBlock]float32
	for p := 0; p < len(dst); p += len(x) {
		f.loadSubBlock(&x, panel, p, j)
		copy(dst[p:], x[:])
	}
}

// loadSubBlock sets x to the elements of column j in the sub-block that begins at step p.
func (f *Record) loadSubBlock(x *[simd.WeightBlock]float32, blocks []byte, p, j int) {
	l := &f.blocks
	block := blocks[p/f.Steps*f.bytes:][:f.bytes]
	sub := block[(l.Head+p%f.Steps/simd.WeightBlock*l.SubBytes)*f.NR:]
	var q [simd.WeightBlock]byte
	f.loadWeights(q[:], sub[l.SubScales*f.NR:], j)
	var d, dmin float32
	if l.Codes == simd.E2M1 {
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
			scale, least = d*float32(sub[j]), float32(dmin*float32(sub[f.NR+j]))
		case l.Scales:
			scale = d * float32(int8(sub[i/l.Group*f.NR+j]))
		}
		if l.Codes != simd.NoCodes {
			q = simd.NumbersOf[l.Codes][q]
		}
		x[i] = float32(scale * float32(int(q)-l.zero))
		if l.Least {
			x[i] -= least
		}
	}
}
