package attend

import (
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file computes attention tile by tile of keys, with a running maximum and sum for each row.

// tiles computes the unit, which is not split, one stretch of the keys after the other.
func (u *unit) tiles() {
	w, length := u.w, u.g.stretch
	if u.hi <= (u.lo/length+1)*length {
		u.tilesOf(u.lo, u.hi, true)
		u.emptyRows()
		return
	}
	o, ldo := u.o, u.ldo
	w.all.begin(u.rows)
	for from, to := u.lo, 0; from < u.hi; from = to {
		to = min(u.hi, (from/length+1)*length)
		if from > u.lo {
			w.stretch = mem.Grow(w.stretch, u.rows*u.c.P.ValueDim)
			u.o, u.ldo = w.stretch, u.c.P.ValueDim
		}
		u.tilesOf(from, to, false)
		u.o, u.ldo = o, ldo
		if from == u.lo {
			copy(w.all.max, w.max[:u.rows])
			copy(w.all.sum, w.sum[:u.rows])
			continue
		}
		u.add(w.stretch, u.c.P.ValueDim, w.max, w.sum)
	}
	u.end()
}

// tilesOf computes the keys [lo, hi) of a stretch. Unless only is set, it leaves in o the sum of
// exp(score - max)*value for each row, and in w.max and w.sum the maximum and the sum of the
// exponentials. The rows are computed strip by strip: a strip's scores stay in the first-level
// cache from the product to the values, and its output stays there for the division at the end. The
// tile's keys and values stay in the second-level cache.
func (u *unit) tilesOf(lo, hi int, only bool) {
	w := u.w
	mem.Fill(w.max[:u.rows], mem.NegInf)
	clear(w.sum[:u.rows])
	w.scores = mem.Grow(w.scores, min(u.rows, u.g.strip+lastRows)*u.g.tile+order.DotLanes)
	if cap(w.fresh) < u.rows {
		w.fresh = make([]bool, u.rows)
	}
	w.fresh = w.fresh[:u.rows]
	for r := range w.fresh {
		w.fresh[r] = true
	}
	for j, last := lo, false; !last; j = u.after(j) {
		n, prepared := min(u.after(j), hi)-j, false
		last = j+n == hi
		for from, to := 0, 0; from < u.rows; from = to {
			to = u.stripEnd(from)
			ra, rb := u.hull(from, to, j, j+n)
			if w.fresh[from] && (ra < rb && rb-ra < to-from || ra == rb && last) {
				u.clearOutput(from, to)
				w.fresh[from] = false
			}
			if ra < rb {
				if !prepared { // a tile that no row sees is not prepared
					u.prepare(j, n)
					prepared = true
				}
				u.strip(ra, rb, j, min(n, slices.Max(w.hi[ra:rb])-j), w.fresh[from])
				w.fresh[from] = false
			}
			if last && only {
				u.finish(from, to)
			}
		}
	}
}

// prepare prepares the keys and the values [j, j+n) for products.
func (u *unit) prepare(j, n int) {
	if u.g.ints {
		u.packIntegers(j, n)
		return
	}
	u.packKeys(j, n)
	u.packValues(j, n)
}

// strip adds the keys [j, j+n) to the rows [ra, rb). If these keys are the first, it sets the rows.
// The scores begin at a multiple of the lanes in which the weights are summed; scores of keys
// before j are those of hidden keys.
func (u *unit) strip(ra, rb, j, n int, first bool) {
	c, w, lds := u.c, u.w, u.g.tile
	hidden := j % u.g.tile % order.DotLanes
	s := w.scores[hidden:]
	if u.g.ints {
		u.integerScores(s, lds, ra, rb, j, n)
	} else {
		u.fetchAhead(ra, rb, j, false)
		u.scores(s, lds, ra, rb, j, n)
	}
	if hidden > 0 { // after the scores are computed, because their panels may reach into the next row
		for r := range rb - ra {
			mem.Fill(w.scores[r*lds:][:hidden], mem.NegInf)
		}
	}
	simd.AttnSoftmax(c.isa, w.scores, rb-ra, hidden+n, lds, w.max[ra:rb], w.sum[ra:rb], w.factor[ra:rb])
	beta := float32(0)
	if !first {
		beta = 1
		scaleRows(c.isa, u.o[ra*u.ldo:], rb-ra, c.P.ValueDim, u.ldo, w.factor[ra:rb])
	}
	if u.g.ints {
		u.integerValues(s, lds, ra, rb, n, beta)
		return
	}
	u.fetchAhead(ra, rb, j, true)
	u.values(s, lds, ra, rb, n, beta)
}
