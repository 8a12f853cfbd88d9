package simd

import (
	"math"

	"github.com/avoformer/avoformer/internal/half"
)

// This file has products with weights in blocks, in pure Go. Package weights documents the order of
// the bytes (blocks.go).

// BlockLayout describes the parts of a block of weights. Its numbers of bytes are per column.
type BlockLayout struct {
	Elements  int  // elements of a column
	Bits      int  // bits of an element
	Group     int  // elements that share a scale; A has the same groups
	Scales    bool // groups have scales in addition to the block's
	Least     bool // the block, or each of its groups if they have scales, has a minimum
	Codes     Codes
	Head      int // bytes before the sub-blocks of WeightBlock elements
	SubScales int // bytes of scales, with which a sub-block begins
	SubBytes  int // bytes of a sub-block
	Bytes     int // bytes of a block
}

// Codes is the set of numbers that elements of 4 bits stand for.
type Codes uint8

// These are the codes. The block's number of E2M1 is an exponent of 2, a byte.
const (
	NoCodes   Codes = iota // elements are the numbers themselves
	E2M1                   // 1 sign bit, 2 exponent bits, 1 fraction bit
	Nonlinear              // numbers of 8 bits, denser near 0
)

// NumbersOf has the numbers of the codes as unsigned bytes, the form that products use: those of
// E2M1 are doubled, plus 16, and those of Nonlinear plus 128. Sources: OCP Microscaling Formats;
// ggml-common.h.
var NumbersOf = [...][16]byte{
	E2M1:      {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4},
	Nonlinear: {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241},
}

// weightGroup is a group of a column: the unsigned weights, the scale and the minimum.
type weightGroup struct {
	q            [WeightBlock]int32
	scale, least float32
}

// read reads group g of a block of column j.
func (l *BlockLayout) read(w *weightGroup, block []uint8, g, j, nr int) {
	number := func(at int) float32 { return half.Float16(uint16(block[at]) | uint16(block[at+1])<<8) }
	groups := WeightBlock / l.Group
	sub := block[(l.Head+g/groups*l.SubBytes)*nr:]
	if l.Codes == E2M1 {
		w.scale = PowerOf2(block[j])
	} else {
		w.scale = number(2 * j)
	}
	if l.Least {
		w.least = number(2 * (nr + j))
	}
	switch at := g%groups*nr + j; {
	case l.Scales && l.Least:
		w.scale *= float32(sub[at])
		w.least *= float32(sub[nr+at])
	case l.Scales:
		w.scale *= float32(int8(sub[at]))
	}
	l.readWeights(&w.q, sub[l.SubScales*nr+4*j:], g%groups, nr)
}

// readWeights reads group g of a sub-block's weights, from a column on.
func (l *BlockLayout) readWeights(q *[WeightBlock]int32, sub []uint8, g, nr int) {
	weights := sub[g*l.Group/8*l.Bits*nr:]
	for p := 0; p < l.Group; p += 4 {
		to := q[p:][:4]
		switch l.Bits {
		case 8:
			for i, q := range weights[p*nr:][:4] {
				to[i] = int32(q)
			}
		case 4:
			for i, q := range weights[p%16*nr:][:4] {
				to[i] = int32(q >> (p / 16 * 4) & 15)
				if l.Codes != NoCodes {
					to[i] = int32(NumbersOf[l.Codes][to[i]])
				}
			}
		case 5:
			low, high := weights[p%16*nr:][:4], weights[16*nr:][:4]
			for i := range to {
				to[i] = int32(low[i]>>(p/16*4)&15 | high[i]>>(p/4)&1<<4)
			}
		case 6:
			low, high := weights[p%8*nr:][:4], weights[8*nr:][:4]
			for i := range to {
				to[i] = int32(low[i]>>(p/8*4)&15 | high[i]>>(p/4*2)&3<<4)
			}
		case 3:
			low, high := sub[4*g*nr:][:4], sub[8*nr:][:4]
			for i := range to {
				to[i] = int32(low[i]>>(p/4*2)&3 | high[i]>>(p/4+4*g)&1<<2)
			}
		}
	}
}

// biasShift returns the number of bits by which the sums of A's integers are shifted. They are sums
// for weights that are larger by 128; weights of fewer bits are larger by half of their range.
func (l *BlockLayout) biasShift() int {
	switch l.Codes {
	case E2M1:
		return 3
	case Nonlinear:
		return 0
	}
	return 8 - l.Bits
}

// PowerOf2 returns 2 to the power of e minus 128.
func PowerOf2(e byte) float32 {
	if e < 2 { // denormal
		return math.Float32frombits(1 << 21 << e)
	}
	return math.Float32frombits(uint32(e-1) << 23)
}

// multiply computes the product of rows of integers and a panel. start and offset have one element
// for each group and row; offset is used if there are minima.
func (l *BlockLayout) multiply(m, k, nr int, a []int8, lda int, scale []float32, start []int32, offset []float32, ldscale int, b []uint8, add int, c []float32, ldc int) {
	bytes, shift := l.Bytes*nr, l.biasShift()
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
					t = start[g*ldscale+i] >> shift
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

func blocks4MinGeneric(m, k, nr int, a []int8, lda int, scale, offset []float32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks4MinLayout.multiply(m, k, nr, a, lda, scale, nil, offset, ldscale, b, add, c, ldc)
}

func blocks5Generic(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks5Layout.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}

func blocks5MinGeneric(m, k, nr int, a []int8, lda int, scale, offset []float32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks5MinLayout.multiply(m, k, nr, a, lda, scale, nil, offset, ldscale, b, add, c, ldc)
}

func blocks5KGeneric(m, k, nr int, a []int8, lda int, scale, offset []float32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks5KLayout.multiply(m, k, nr, a, lda, scale, nil, offset, ldscale, b, add, c, ldc)
}

func blocksCodesGeneric(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	BlocksCodesLayout.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}

func blocks4NLGeneric(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks4NLLayout.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}

func blocks4NLKGeneric(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks4NLKLayout.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}

func blocks3KGeneric(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, _, add int, c []float32, ldc int) {
	Blocks3KLayout.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}

// multiplyTiles is multiply for some panels, and with sums that begin with 0.
func (l *BlockLayout) multiplyTiles(m, k, nr, panels int, a []int8, lda int, scale, offset []float32, ldscale int, b []uint8, ldb int, c []float32, ldc int) {
	start := make([]int32, k/l.Group*ldscale)
	for g := range k / l.Group {
		for i := range m {
			for _, x := range a[i*lda+g*l.Group:][:l.Group] {
				start[g*ldscale+i] -= 128 * int32(x)
			}
		}
	}
	for q := range panels {
		l.multiply(m, k, nr, a, lda, scale, start, offset, ldscale, b[q*ldb:], 0, c[q*nr:], ldc)
	}
}

func blocks8TilesGeneric(m, k, nr, panels int, a []int8, lda int, scale []float32, ldscale int, b []uint8, ldb int, _ []int32, c []float32, ldc int) {
	Blocks8Layout.multiplyTiles(m, k, nr, panels, a, lda, scale, nil, ldscale, b, ldb, c, ldc)
}

func blocks4TilesGeneric(m, k, nr, panels int, a []int8, lda int, scale []float32, ldscale int, b []uint8, ldb int, _ []int32, c []float32, ldc int) {
	Blocks4Layout.multiplyTiles(m, k, nr, panels, a, lda, scale, nil, ldscale, b, ldb, c, ldc)
}

func blocks4KTilesGeneric(m, k, nr, panels int, a []int8, lda int, scale, offset []float32, ldscale int, b []uint8, ldb int, _ []int32, c []float32, ldc int) {
	Blocks4KLayout.multiplyTiles(m, k, nr, panels, a, lda, scale, offset, ldscale, b, ldb, c, ldc)
}

func blocks4MinTilesGeneric(m, k, nr, panels int, a []int8, lda int, scale, offset []float32, ldscale int, b []uint8, ldb int, _ []int32, c []float32, ldc int) {
	Blocks4MinLayout.multiplyTiles(m, k, nr, panels, a, lda, scale, offset, ldscale, b, ldb, c, ldc)
}
