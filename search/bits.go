package search

import "github.com/avoformer/avoformer/kernels"

// This file stores vectors as their signs, one bit each.

// bitRows has the signs of vectors in the panels of kernels.SignDots: parts of one segment each,
// and a shorter tail with the vectors that were added last. A view reads the full panels of the
// tail, and a copy of the partial panel.
type bitRows struct {
	dim, words int
	count      int
	full       [][]int32
	tail       []int32
	row        []int32 // scratch memory for the signs of one vector
}

// signWords returns the number of words that the signs of a vector need.
func signWords(dim int) int { return (dim + 31) / 32 }

const panel = kernels.SignPanel

func newBits(dim int) *bitRows {
	return &bitRows{dim: dim, words: signWords(dim), row: make([]int32, signWords(dim))}
}

func (b *bitRows) add(v []float32) {
	signs(b.row, 1, v)
	in := b.count % segment % panel
	if in == 0 {
		b.tail = append(b.tail, make([]int32, b.words*panel)...)
	}
	last := b.tail[len(b.tail)-b.words*panel:]
	for w, x := range b.row {
		last[w*panel+in] = x
	}
	if b.count++; b.count%segment == 0 {
		b.full, b.tail = append(b.full, b.tail), nil
	}
}

// signs writes a bit for each number, set if the number is above 0. The words of 32 bits are ld
// apart.
func signs(dst []int32, ld int, v []float32) {
	for i := 0; i < len(v); i += 32 {
		word := uint32(0)
		for j, x := range v[i:min(i+32, len(v))] {
			if x > 0 {
				word |= 1 << j
			}
		}
		dst[i/32*ld] = int32(word)
	}
}

// decode sets dst to the signs of vector i, as 1 and -1.
func (b *bitRows) decode(dst []float32, i int) {
	part := b.tail
	if i/segment < len(b.full) {
		part = b.full[i/segment]
	}
	i %= segment
	words := part[i/panel*b.words*panel+i%panel:]
	for j := range dst {
		dst[j] = float32(uint32(words[j/32*panel])>>(j%32)&1)*2 - 1
	}
}

func (b *bitRows) view() view {
	v := bitView{dim: b.dim, parts: b.full}
	if len(b.tail) > 0 {
		at := len(b.tail) / (b.words * panel) // panels
		if b.count%panel != 0 {
			at--
			v.last = append(v.last, b.tail[at*b.words*panel:]...)
		}
		v.tail = b.tail[:at*b.words*panel]
	}
	return v
}

// bitView is a snapshot of bitRows.
type bitView struct {
	dim        int
	parts      [][]int32
	tail, last []int32 // after the parts
}

// scores computes the dot products of signs: the number of equal signs minus the number of
// different ones.
func (v bitView) scores(dst []float32, part int, q *queries, from, to int) {
	if part < len(v.parts) {
		v.dots(dst, v.parts[part], q, from, to)
		return
	}
	v.dots(dst, v.tail, q, from, to)
	v.dots(dst[len(v.tail)/signWords(v.dim):], v.last, q, from, to)
}

func (v bitView) dots(dst []float32, b []int32, q *queries, from, to int) {
	if len(b) > 0 {
		kernels.SignDots(kernels.SignDotsParams{M: to - from, N: len(b) / signWords(v.dim), Dim: v.dim, A: q.signs[from:], LdA: q.n, B: b, C: dst, LdC: segment})
	}
}
