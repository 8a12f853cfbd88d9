package attend

import (
	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/order"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Stretches of the keys of a unit, which may be splits that several threads compute, and how their results are merged.

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
	u.tilesOf(u.lo, u.hi, false)
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

// merge adds up the splits of the unit, in order.
func (u *unit) merge() {
	c, g, dim := u.c, u.g, u.c.P.ValueDim
	if g.interleaved() {
		u.o, u.ldo = u.ownOutput(), dim
	}
	u.visible(0, g.lenK)
	u.w.all.begin(u.rows)
	u.clearOutput(0, u.rows)
	for split := range g.splits {
		o, state := c.partialOf(g, u.number*g.splits+split, u.rows)
		u.add(o, dim, state[:u.rows], state[u.rows:])
	}
	u.end()
	u.spread()
}

// stretches are the rows' maxima and sums over all stretches so far, and the factors of these and of the next one.
type stretches struct {
	max, sum, factor []float32
}

// begin is for rows without any.
func (s *stretches) begin(rows int) {
	s.max, s.sum, s.factor = mem.Grow(s.max, rows), mem.Grow(s.sum, rows), mem.Grow(s.factor, rows)
	mem.Fill(s.max[:rows], mem.NegInf)
	clear(s.sum[:rows])
}

// add adds the rows of another stretch, which it overwrites, to the unit's output: both are brought to a common maximum.
func (u *unit) add(o []float32, ldo int, max, sum []float32) {
	isa, all, old, dim := u.c.isa, &u.w.all, u.w.factor, u.c.P.ValueDim
	for r := range u.rows {
		f := order.MergeFactors(&all.max[r], max[r])
		all.sum[r] = float32(all.sum[r]*f.Old) + float32(sum[r]*f.New)
		old[r], all.factor[r] = f.Old, f.New
	}
	simd.AttnScaleRows(isa, u.o, u.rows, dim, u.ldo, old[:u.rows])
	simd.AttnScaleRows(isa, o, u.rows, dim, ldo, all.factor[:u.rows])
	simd.AddRows(isa, u.o, o, u.rows, dim, u.ldo, ldo)
}

// end finishes the output, to which all stretches are added.
func (u *unit) end() {
	copy(u.w.max, u.w.all.max[:u.rows])
	copy(u.w.sum, u.w.all.sum[:u.rows])
	u.finish(0, u.rows)
	u.emptyRows()
}
