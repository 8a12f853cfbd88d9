package simd

import "github.com/avoformer/avoformer/internal/half"

// Products with weights in blocks, in pure Go; kernels/gemm_blocks.go has the order of bytes.

// BlockLayout is what a block of weights consists of. The bytes are those of a column.
type BlockLayout struct {
	Elements   int  // of a column
	Bits       int  // of an element
	Group      int  // elements that are scaled together, as are those of A
	Scales     bool // groups have scales beside the block's
	Least      bool // and minima
	Head       int  // bytes before the units of WeightBlock elements
	UnitScales int  // bytes at the beginning of a unit
	Unit       int  // bytes of a unit
	Bytes      int  // of a block
}

// weightGroup is a group of a column: the weights without sign, the scale and the minimum.
type weightGroup struct {
	q            [WeightBlock]int32
	scale, least float32
}

// read reads group g of a block of column j.
func (l *BlockLayout) read(w *weightGroup, block []uint8, g, j, nr int) {
	number := func(at int) float32 { return half.Float16(uint16(block[at]) | uint16(block[at+1])<<8) }
	groups := WeightBlock / l.Group
	w.scale = number(2 * j)
	unit := block[(l.Head+g/groups*l.Unit)*nr:]
	if at := g%groups*nr + j; l.Least {
		w.scale *= float32(unit[at])
		w.least = float32(number(2*(nr+j)) * float32(unit[nr+at]))
	} else if l.Scales {
		w.scale *= float32(int8(unit[at]))
	}
	weights := unit[(l.UnitScales+g%groups*l.Group*l.Bits/8)*nr+4*j:]
	for p := 0; p < l.Group; p += 4 {
		to := w.q[p:][:4]
		switch l.Bits {
		case 8:
			for i, q := range weights[p*nr:][:4] {
				to[i] = int32(q)
			}
		case 4:
			for i, q := range weights[p%16*nr:][:4] {
				to[i] = int32(q >> (p / 16 * 4) & 15)
			}
		case 6:
			low, high := weights[p%8*nr:][:4], weights[8*nr:][:4]
			for i := range to {
				to[i] = int32(low[i]>>(p/8*4)&15 | high[i]>>(p/4*2)&3<<4)
			}
		}
	}
}

// multiply is the product of rows of integers and a panel. start and offset have one element for
// each group and row, offset where there are minima.
func (l *BlockLayout) multiply(m, k, nr int, a []int8, lda int, scale []float32, start []int32, offset []float32, ldscale int, b []uint8, add int, c []float32, ldc int) {
	bytes := l.Bytes * nr
	var w weightGroup
	for j := range nr {
		for i := range m {
			if add == 0 {
				c[i*ldc+j] = 0
			}
		}
		for g := range k / l.Group {
			perBlock := l.Elements / l.Group
			l.read(&w, b[g/perBlock*bytes:][:bytes], g%perBlock, j, nr)
			for i := range m {
				var t int32
				if !l.Least {
					t = start[g*ldscale+i] >> (8 - l.Bits)
				}
				q := w.q[:l.Group]
				for p, x := range a[i*lda+g*l.Group:][:len(q)] {
					t += int32(x) * q[p]
				}
				y := &c[i*ldc+j]
				*y += float32(float32(float32(t)*scale[g*ldscale+i]) * w.scale)
				if l.Least {
					*y += float32(offset[g*ldscale+i] * w.least)
				}
			}
		}
	}
}

func blocks8Generic(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks8Layout.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}

func blocks4Generic(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks4Layout.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}

func blocks4KGeneric(m, k, nr int, a []int8, lda int, scale, offset []float32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks4KLayout.multiply(m, k, nr, a, lda, scale, nil, offset, ldscale, b, add, c, ldc)
}

func blocks6KGeneric(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks6KLayout.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}
