package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Attention tile by tile with products of integers: scores of queries and keys as int8, and the weights as words times
// the values as words. The steps between them, and the sums of the weights, are the same as with floats.

// wordStep is the multiple to which the keys of a product of words are filled up.
const wordStep = 16

// ofHead returns the hull of the keys that all queries of the head see: the scales of values are those of a tile within it, however the
// head is cut into units.
func (u *unit) ofHead() (lo, hi int) {
	lo = u.g.lenK
	for q := range u.g.lenQ {
		from, to := 0, u.g.lenK
		for i := range u.c.P.Mask {
			from, to = u.c.P.Mask[i].Interval(u.seq, q, u.g.lenQ, u.g.past, from, to)
		}
		if from < to {
			lo, hi = min(lo, from), max(hi, to)
		}
	}
	return min(lo, hi), hi
}

// packIntegers prepares the keys and the values [j, j+n).
func (u *unit) packIntegers(j, n int) {
	c, p, w := u.c, &u.c.P, &u.w.integers
	w.keys.Pack(&c.int8, u.k.from(j), u.k.ld, n, p.HeadDim, p.Scale)
	filled := (n + wordStep - 1) / wordStep * wordStep
	w.values, w.scale = mem.Grow(w.values, filled*p.ValueDim), mem.Grow(w.scale, p.ValueDim)
	simd.WordColumns(c.isa, w.values, w.scale, u.v.from(j), n, p.ValueDim, filled, u.v.ld, c.nr)
	for i := range w.scale {
		w.scale[i] *= 1.0 / (1 << simd.WeightBits)
	}
	u.tile = valueTile{first: j, keys: n}
}

// integerScores is scores.
func (u *unit) integerScores(s []float32, lds, ra, rb, j, n int) {
	w := &u.w.integers
	w.keys.Scores(&u.c.int8, &w.queries, ra, rb-ra, n, u.c.P.HeadDim, s, lds)
	u.mask(s, lds, ra, rb, j, n)
}

// integerValues is values, of the first n keys of the tile.
func (u *unit) integerValues(s []float32, lds, ra, rb, n int, beta float32) {
	c, p, w := u.c, &u.c.P, &u.w.integers
	rows := rb - ra
	filled, depth := (n+wordStep-1)/wordStep*wordStep, (u.tile.keys+wordStep-1)/wordStep*wordStep
	w.weights = mem.Grow(w.weights, rows*filled)
	simd.RoundWords(c.isa, w.weights, s, 1<<simd.WeightBits, rows, n, filled, filled, lds)
	for j := 0; j < p.ValueDim; j += c.nr {
		simd.WordPanel(c.isa, rows, filled, c.nr, w.weights, filled, w.values[j*depth:], w.scale[j:], int(beta), u.o[ra*u.ldo+j:], u.ldo)
	}
}
