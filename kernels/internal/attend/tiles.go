package attend

import (
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Attention tile by tile of keys, with a running maximum and sum for each row.

// tiles computes the unit. Where it is one of several splits, it leaves in o the sum of
// exp(score - max)*value for each row, and in w.max and w.sum the maximum and the sum of
// the exponentials. The rows take their turn strip by strip: a strip's scores stay in the
// first-level cache from the product to the values, and at the end its output for the
// division; the tile's keys and values stay in the second.
func (u *unit) tiles() {
	c, w := u.c, u.w
	mem.Fill(w.max[:u.rows], mem.NegInf)
	clear(w.sum[:u.rows])
	w.scores = mem.Grow(w.scores, min(u.rows, c.stripRows()+Size.DotRows)*u.g.tile)
	if cap(w.fresh) < u.rows {
		w.fresh = make([]bool, u.rows)
	}
	w.fresh = w.fresh[:u.rows]
	for r := range w.fresh {
		w.fresh[r] = true
	}
	for j, last := u.lo, false; !last; j += u.g.tile {
		n, packed := min(u.g.tile, u.hi-j), -1
		last = j+n == u.hi
		for from, to := 0, 0; from < u.rows; from = to {
			to = u.stripEnd(from)
			ra, rb := u.hull(from, to, j, j+n)
			if w.fresh[from] && (ra < rb && rb-ra < to-from || ra == rb && last) {
				u.clearOutput(from, to)
				w.fresh[from] = false
			}
			if ra < rb {
				if packed < 0 { // nothing is prepared of a tile that no row sees
					packed = u.prepare(j, n)
				}
				u.strip(ra, rb, j, min(n, slices.Max(w.hi[ra:rb])-j), packed, w.fresh[from])
				w.fresh[from] = false
			}
			if last && u.g.splits == 1 {
				u.finish(from, to)
			}
		}
	}
	if u.g.splits == 1 {
		u.emptyRows()
	}
}

// prepare packs the keys and the values [j, j+n), and returns what packKeys does.
func (u *unit) prepare(j, n int) (packed int) {
	if u.g.ints {
		u.packIntegers(j, n)
		return n
	}
	packed = u.packKeys(j, n)
	u.packValues(j, n)
	return packed
}

// strip adds the keys [j, j+n) to the rows [ra, rb), or sets the rows to them if these
// are the first.
func (u *unit) strip(ra, rb, j, n, packed int, first bool) {
	c, w := u.c, u.w
	if u.g.ints {
		u.integerScores(w.scores, u.g.tile, ra, rb, j, n)
	} else {
		u.fetchAhead(ra, rb, j, false)
		u.scores(w.scores, u.g.tile, ra, rb, j, n, packed)
	}
	simd.AttnSoftmax(c.isa, w.scores, rb-ra, n, u.g.tile, w.max[ra:rb], w.sum[ra:rb], w.factor[ra:rb])
	beta := float32(0)
	if !first {
		beta = 1
		simd.AttnScaleRows(c.isa, u.o[ra*u.ldo:], rb-ra, c.P.ValueDim, u.ldo, w.factor[ra:rb])
	}
	if u.g.ints {
		u.integerValues(w.scores, u.g.tile, ra, rb, n, beta)
		return
	}
	u.fetchAhead(ra, rb, j, true)
	u.values(w.scores, u.g.tile, ra, rb, n, beta)
}
