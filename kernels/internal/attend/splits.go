package attend

// This file computes splits of a unit: stretches of its keys that several threads compute.

// partialOf returns the memory for the result of a piece of g: the output before the division by
// the sum, and the rows' maxima and sums.
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

// merges is the task that merges the pieces of each group after all have been computed.
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
