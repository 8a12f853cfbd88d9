package simd

import "github.com/avoformer/avoformer/internal/half"

// Products with weights in blocks, in pure Go; kernels/gemm_blocks.go has the order of bytes.

// blockLayout is a layout of weights: bits of an element, elements of a block and of what has a
// scale in common, and whether there are minima.
type blockLayout struct {
	bits, elements, group int
	least                 bool
}

// bytes is how many bytes of a column a block begins with, and a unit of WeightBlock elements.
func (l *blockLayout) bytes() (head, scales int) {
	switch {
	case l.least:
		return 4, 2
	case l.elements > WeightBlock:
		return 2, WeightBlock / l.group
	}
	return 2, 0
}

// weightGroup is a group of a column: the weights without sign, the scale and the minimum.
type weightGroup struct {
	q            [WeightBlock]int32
	scale, least float32
}

// read reads group g of a block of column j.
func (l *blockLayout) read(w *weightGroup, block []uint8, g, j, nr int) {
	number := func(at int) float32 { return half.Float16(uint16(block[at]) | uint16(block[at+1])<<8) }
	head, scales := l.bytes()
	groups := WeightBlock / l.group
	w.scale = number(2 * j)
	unit := block[(head+g/groups*(scales+WeightBlock*l.bits/8))*nr:]
	if at := g%groups*nr + j; l.least {
		w.scale *= float32(unit[at])
		w.least = float32(number(2*(nr+j)) * float32(unit[nr+at]))
	} else if scales > 0 {
		w.scale *= float32(int8(unit[at]))
	}
	weights := unit[(scales+g%groups*l.group*l.bits/8)*nr+4*j:]
	for p := 0; p < l.group; p += 4 {
		to := w.q[p:][:4]
		switch l.bits {
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
func (l *blockLayout) multiply(m, k, nr int, a []int8, lda int, scale []float32, start []int32, offset []float32, ldscale int, b []uint8, add int, c []float32, ldc int) {
	head, scales := l.bytes()
	bytes := (head + l.elements/WeightBlock*(scales+WeightBlock*l.bits/8)) * nr
	var w weightGroup
	for j := range nr {
		for i := range m {
			if add == 0 {
				c[i*ldc+j] = 0
			}
		}
		for g := range k / l.group {
			perBlock := l.elements / l.group
			l.read(&w, b[g/perBlock*bytes:][:bytes], g%perBlock, j, nr)
			for i := range m {
				var t int32
				if !l.least {
					t = start[g*ldscale+i] >> (8 - l.bits)
				}
				q := w.q[:l.group]
				for p, x := range a[i*lda+g*l.group:][:len(q)] {
					t += int32(x) * q[p]
				}
				y := &c[i*ldc+j]
				*y += float32(float32(float32(t)*scale[g*ldscale+i]) * w.scale)
				if l.least {
					*y += float32(offset[g*ldscale+i] * w.least)
				}
			}
		}
	}
}

func blocks8Generic(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, add int, c []float32, ldc int) {
	l := blockLayout{bits: 8, elements: 32, group: 32}
	l.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}

func blocks4Generic(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, add int, c []float32, ldc int) {
	l := blockLayout{bits: 4, elements: 32, group: 32}
	l.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}

func blocks4KGeneric(m, k, nr int, a []int8, lda int, scale, offset []float32, ldscale int, b []uint8, add int, c []float32, ldc int) {
	l := blockLayout{bits: 4, elements: 256, group: 32, least: true}
	l.multiply(m, k, nr, a, lda, scale, nil, offset, ldscale, b, add, c, ldc)
}

func blocks6KGeneric(m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, add int, c []float32, ldc int) {
	l := blockLayout{bits: 6, elements: 256, group: 16}
	l.multiply(m, k, nr, a, lda, scale, start, nil, ldscale, b, add, c, ldc)
}
