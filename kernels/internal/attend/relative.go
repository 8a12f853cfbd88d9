package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/pack"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has relative positions: products with an embedding of the distance.

// addRelative adds the relative terms to the scores of the rows [ra, rb) and the keys [j, j+n). The
// micro-kernel multiplies the rows by the embeddings of all distances that occur in the tile. A
// row's scores are a window of its products, which the row's position shifts.
func (u *unit) addRelative(s []float32, lds, ra, rb, j, n int) {
	p := &u.c.P
	if p.HeadDim == 0 {
		return
	}
	m := rb - ra
	zero := (len(p.Relative)/p.HeadDim - 1) / 2 // distance 0
	first := u.queryOf(ra) + u.g.past - (j + n - 1) + zero
	count := m + n - 1 // embedding first+e is the one of row r and key i if e = r-i+n-1
	byQuery, ld := u.relativeProducts(0, m, u.q[ra*u.ldq:], u.ldq, first, count)
	for r := range m {
		row := s[r*lds:][:n]
		for i := range row {
			row[i] += byQuery[r*ld+r-i+n-1]
		}
	}
	if !p.RelativeKeys {
		return
	}
	byKey, ld := u.relativeProducts(1, n, u.k.from(j), u.k.ld, first, count)
	for r := range m {
		row := s[r*lds:][:n]
		for i := range row {
			row[i] += byKey[i*ld+r-i+n-1]
		}
	}
}

// relativeProducts multiplies the given rows, which are queries or keys, by the embeddings [first,
// first+count), times the scale, and stores the products in one of two places.
func (u *unit) relativeProducts(place, rows int, a []float32, lda, first, count int) (products []float32, ld int) {
	c, p, w := u.c, &u.c.P, u.w
	dim := p.HeadDim
	ld = (count + c.nr - 1) / c.nr * c.nr
	w.relative[place] = mem.Grow(w.relative[place], max(Size.RelativeRows, u.g.tile)*(Size.RelativeRows+u.g.tile+c.nr))
	w.panel = mem.Grow(w.panel, c.nr*dim)
	for at := 0; at < count; at += c.nr {
		n := min(c.nr, count-at)
		pack.Transpose(c.isa, w.panel, p.Relative[(first+at)*dim:], n, dim, c.nr, dim)
		simd.Panel(c.isa, rows, n, dim, p.Scale, a, lda, w.panel, c.nr, 0, w.relative[place][at:], ld)
	}
	return w.relative[place], ld
}
