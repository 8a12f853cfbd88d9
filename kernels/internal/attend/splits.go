package attend

import (
	"math"

	"github.com/avoformer/avoformer/kernels/internal/mem"
)

// Splits of the keys of a unit, and how their results are merged.

// partialOf is the memory for the result of a piece of g: the output before the
// division by the sum, and the rows' maxima and sums.
func (c *Call) partialOf(g *group, piece, rows int) (o, state []float32) {
	size := g.rows * (c.P.ValueDim + 2)
	part := c.partial[g.partial+piece*size:][:size]
	return part[:rows*c.P.ValueDim], part[rows*c.P.ValueDim:][:2*rows]
}

// tilesOfSplit computes a piece that is one of several splits of the unit.
func (u *unit) tilesOfSplit(piece int) {
	o, state := u.c.partialOf(u.g, piece, u.rows)
	u.o, u.ldo = o, u.c.P.ValueDim
	u.tiles()
	copy(state[:u.rows], u.w.max)
	copy(state[u.rows:], u.w.sum)
}

// merges is a call whose pieces are computed, as the task of merging those of its groups.
type merges Call

// Do implements par.Task: it merges the splits of the groups [from, to).
func (m *merges) Do(from, to int) {
	c := (*Call)(m)
	w := scratches.Get().(*scratch)
	for i := from; i < to; i++ {
		if g := &c.groups[i]; g.splits > 1 {
			for u := range g.units {
				c.start(w, g, u, 1).merge()
			}
		}
	}
	scratches.Put(w)
}

// merge brings the splits of the unit to a common maximum and adds them up, in
// order.
func (u *unit) merge() {
	c, g, w, dim := u.c, u.g, u.w, u.c.P.ValueDim
	if g.interleaved() {
		u.o, u.ldo = u.ownOutput(), dim
	}
	u.visible(0, g.lenK)
	mem.Fill(w.max[:u.rows], mem.NegInf)
	clear(w.sum[:u.rows])
	u.clearOutput(0, u.rows)
	for split := range g.splits {
		o, state := c.partialOf(g, u.number*g.splits+split, u.rows)
		for r := range u.rows {
			m, sum := state[r], state[u.rows+r]
			if sum == 0 {
				continue // this split shows the row nothing
			}
			top := max(w.max[r], m)
			old, add := expFactor(w.max[r], top), expFactor(m, top)
			w.max[r], w.sum[r] = top, w.sum[r]*old+sum*add
			dst, src := u.o[r*u.ldo:][:dim], o[r*dim:][:dim]
			for i := range dst {
				dst[i] = dst[i]*old + src[i]*add
			}
		}
	}
	u.finish(0, u.rows)
	u.emptyRows()
	u.spread()
}

// expFactor is exp(m-top), 0 where m is -Inf.
func expFactor(m, top float32) float32 {
	if m == mem.NegInf {
		return 0
	}
	return float32(math.Exp(float64(m) - float64(top)))
}
