package search

import "math/bits"

// Vectors as their signs, a bit each.

// bitRows are the signs of vectors in words of 64, the first in the lowest bit; those after the last are 0.
type bitRows struct {
	rows[uint64]
	dim int
	row []uint64 // a vector on its way
}

func words(dim int) int { return (dim + 63) / 64 }

func newBits(dim int) *bitRows {
	return &bitRows{rows[uint64]{width: words(dim)}, dim, make([]uint64, words(dim))}
}

func (b *bitRows) add(v []float32) {
	signs(b.row, v)
	b.rows.add(b.row)
}

// signs sets the bits of what is above 0.
func signs(dst []uint64, v []float32) {
	clear(dst)
	for i, x := range v {
		if x > 0 {
			dst[i/64] |= 1 << (i % 64)
		}
	}
}

// decode sets dst to 1 and -1.
func (b *bitRows) decode(dst []float32, i int) {
	row := b.rows.row(i)
	for j := range dst {
		dst[j] = float32(int(row[j/64]>>(j%64)&1)*2 - 1)
	}
}

func (b *bitRows) view() view { return &bitRows{rows: b.rows, dim: b.dim} }

// scores are the dot products of signs: the number of those that are equal less that of the others.
func (b *bitRows) scores(part int, q *queries, from, to int, w *worker) {
	rows := b.part(part)
	for i := from; i < to; i++ {
		signDots(w.scores[(i-from)*segment:][:len(rows)/b.width], q.signs[i*b.width:][:b.width], rows, b.dim)
	}
}

// signDots sets each of dst to dim less twice the number of bits that differ between query and a row: of four rows at a
// time, whose sums do not wait for one another.
func signDots(dst []float32, query, rows []uint64, dim int) {
	n := len(query)
	for len(dst) >= 4 {
		a, b, c, d := rows[:n], rows[n:][:n], rows[2*n:][:n], rows[3*n:][:n]
		var w, x, y, z int
		for j, q := range query {
			w += bits.OnesCount64(q ^ a[j])
			x += bits.OnesCount64(q ^ b[j])
			y += bits.OnesCount64(q ^ c[j])
			z += bits.OnesCount64(q ^ d[j])
		}
		dst[0], dst[1], dst[2], dst[3] = float32(dim-2*w), float32(dim-2*x), float32(dim-2*y), float32(dim-2*z)
		dst, rows = dst[4:], rows[4*n:]
	}
	for i := range dst {
		differ := 0
		for j, q := range query {
			differ += bits.OnesCount64(q ^ rows[i*n+j])
		}
		dst[i] = float32(dim - 2*differ)
	}
}
