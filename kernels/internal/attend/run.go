package attend

import (
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/par"
)

// This file runs a call, whose pieces are divided among threads.

// Run computes attention on up to t threads, and frees the call: it must not be used again.
func (c *Call) Run(t int) {
	c.plan()
	par.Run(t, c.parts, c)
	if len(c.partial) > 0 {
		par.Run(t, len(c.groups), (*merges)(c))
	}
	c.free()
}

// UsesInt8 reports whether Run would compute at least one sequence with integers, and frees the
// call.
func (c *Call) UsesInt8() bool {
	c.plan()
	uses := slices.ContainsFunc(c.groups, func(g group) bool { return g.ints })
	c.free()
	return uses
}

func (c *Call) free() {
	clear(c.P.Mask)
	clear(c.P.Sequences)
	c.P = Params{Mask: c.P.Mask[:0], Sequences: c.P.Sequences[:0]}
	calls.Put(c)
}

// Do implements par.Task.
func (c *Call) Do(from, to int) {
	w := scratches.Get().(*scratch)
	at, _ := slices.BinarySearchFunc(c.groups, from, func(g group, part int) int { return g.partsEnd() - part - 1 })
	for ; from < to; at++ {
		g := &c.groups[at]
		end := min(to, g.partsEnd())
		c.pieces(w, g, (from-g.part)*g.perPart, min((end-g.part)*g.perPart, g.units*g.splits))
		from = end
	}
	scratches.Put(w)
}

// pieces computes the pieces [from, to) of a group.
func (c *Call) pieces(w *scratch, g *group, from, to int) {
	if g.way == attendShort || g.way == attendFew {
		c.wholeHeads(w, g, from, to)
		return
	}
	for i := from; i < to; {
		n := g.together(i, to)
		c.piece(w, g, i, n)
		i += n
	}
}

// together returns the number of the pieces [i, to) that are computed as one unit, for which the
// keys are transposed once. They are neighbours in a head, and all their queries see the same keys.
func (g *group) together(i, to int) int {
	if !g.joins {
		return 1
	}
	return min(to-i, g.chunks-i%g.chunks, max(1, joinedRows/g.rows))
}

// piece computes one split of one unit, or the whole of several neighbouring units.
func (c *Call) piece(w *scratch, g *group, i, units int) {
	u := c.start(w, g, i/g.splits, units)
	if next := i + units; g.splits == 1 && next < g.units {
		w.next.begin(c, g, w, next, 1)
	}
	if g.ints {
		w.integers.queries.QuantizeHead(&c.int8, u.q, u.ldq, u.rows, c.P.HeadDim)
	} else {
		u.packQueries()
	}
	if g.interleaved() && g.splits == 1 {
		u.o, u.ldo = u.ownOutput(), c.P.ValueDim
	}
	from := i % g.splits * g.split
	u.visible(from, min(from+g.split, g.lenK))
	if g.ints {
		u.lo, u.hi = u.ofHead()
	}
	switch {
	case g.way == attendWeights:
		u.withWeights()
	case g.splits > 1:
		u.tilesOfSplit(i)
	default:
		u.tiles()
		u.spread()
	}
}
