package attend

import "github.com/avoformer/avoformer/kernels/internal/par"

// A call at work: its pieces, which threads take.

// Run computes attention on up to t threads. The call may not be used any more.
func (c *Call) Run(t int) {
	c.plan()
	pieces := c.units * c.splits
	par.Run(t, (pieces+c.perPart-1)/c.perPart, c)
	if c.splits > 1 {
		w := scratches.Get().(*scratch)
		for u := range c.units {
			c.start(w, u, 1).merge()
		}
		scratches.Put(w)
	}
	clear(c.P.Mask)
	c.P = Params{Mask: c.P.Mask[:0]}
	calls.Put(c)
}

// Do implements par.Task.
func (c *Call) Do(from, to int) {
	w := scratches.Get().(*scratch)
	from, to = from*c.perPart, min(to*c.perPart, c.units*c.splits)
	if c.way == attendShort || c.way == attendFew {
		c.wholeHeads(w, from, to)
	} else {
		for i := from; i < to; {
			n := c.together(i, to)
			c.piece(w, i, n)
			i += n
		}
	}
	scratches.Put(w)
}

// together is how many of the pieces [i, to) are computed as one unit, for which the keys are
// transposed once: neighbours in a head whose queries all see the same keys.
func (c *Call) together(i, to int) int {
	if !c.joins {
		return 1
	}
	return min(to-i, c.chunks-i%c.chunks, max(1, joinedRows/c.rows))
}

// piece computes one split of one unit, or all of several units that are neighbours.
func (c *Call) piece(w *scratch, i, units int) {
	u := c.start(w, i/c.splits, units)
	if next := i + units; c.splits == 1 && next < c.units {
		w.next.begin(c, w, next, 1)
	}
	u.packQueries()
	from := i % c.splits * c.split
	u.visible(from, min(from+c.split, c.P.LenK))
	switch {
	case c.way == attendWeights:
		u.withWeights()
	case c.splits > 1:
		u.tilesOfSplit(i)
	default:
		u.tiles()
	}
}
