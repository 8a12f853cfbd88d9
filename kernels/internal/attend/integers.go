package attend

// This file computes attention tile by tile with products of integers: the scores of queries and
// keys as int8, and the products of weights as words and values as words. The steps between them,
// and the sums of the weights, are the same as with floats.

// ofHead returns the smallest interval with the keys that all queries of the head see. The scales
// of values are those of a tile within it, for any division of the head into units.
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
	w.values.Pack(&c.int8, u.v.from(j), u.v.ld, n, p.ValueDim)
}

// integerScores does the same as scores, with integers.
func (u *unit) integerScores(s []float32, lds, ra, rb, j, n int) {
	w := &u.w.integers
	w.keys.Scores(&u.c.int8, &w.queries, ra, rb-ra, n, u.c.P.HeadDim, s, lds)
	u.mask(s, lds, ra, rb, j, n)
}

// integerValues does the same as values for the first n keys of the tile, with integers.
func (u *unit) integerValues(s []float32, lds, ra, rb, n int, beta float32) {
	u.w.integers.values.Multiply(&u.c.int8, s, lds, rb-ra, n, beta, u.o[ra*u.ldo:], u.ldo)
}
