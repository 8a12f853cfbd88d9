package kernel

import "github.com/avoformer/avoformer/asm/vec"

// The weights of a sub-block as bytes, one vector for each quad of elements.

// row loads row s of the weights of group n, four bytes of each column, from vector v of columns on.
func (g *blockTile) row(n, s, v int) []vec.V {
	w := make([]vec.V, g.atOnce)
	for i := range w {
		w[i] = g.rowAt(n*g.groupBytes()+4*s, v+i)
	}
	return w
}

// rowAt loads what lies some bytes a column after the scales of the sub-block, for vector v of columns.
func (g *blockTile) rowAt(bytes, v int) vec.V {
	nr := g.Tier().Gemm.NR
	return g.Load(g.sub, g.subAt+(g.SubScales()+bytes)*nr+4*(g.first+v*g.Width()))
}

// of is what f makes of each vector.
func of(vs []vec.V, f func(vec.V) vec.V) []vec.V {
	made := make([]vec.V, len(vs))
	for i, v := range vs {
		made[i] = f(v)
	}
	return made
}

// lower and upper are halves of the bytes. upper consumes them.
func (g *blockTile) lower(w []vec.V) []vec.V {
	return of(w, func(v vec.V) vec.V { return g.AndInt(v, g.low) })
}

func (g *blockTile) upper(w []vec.V) []vec.V {
	return of(w, func(v vec.V) vec.V { return g.UpperHalves(v, g.low) })
}

// flipped returns the bytes with a sign, where the machine wants one.
func (g *blockTile) flipped(w []vec.V) []vec.V {
	if g.flip == (vec.V{}) {
		return w
	}
	return of(w, func(v vec.V) vec.V { return g.Xor(v, g.flip) })
}

// decoded returns the numbers of codes, where weights are such.
func (g *blockTile) decoded(w []vec.V) []vec.V {
	if g.Codes == NoCodes {
		return w
	}
	return of(w, func(v vec.V) vec.V { return g.LookUp(g.numbers[0], v) })
}

// halvesOfNumbers multiplies lane j of each row with the lower and the upper 4 bits of the numbers of codes.
func (g *blockTile) halvesOfNumbers(j, v int, codes []vec.V) {
	half := func(i int) []vec.V { return of(codes, func(v vec.V) vec.V { return g.LookUp(g.numbers[i], v) }) }
	g.pair(j, j, v, half(0), func() []vec.V { return half(1) })
}

// moreBits prepares the quads p and p + Group/8 of each column, of 5 or 6 bits: the lower 4 bits of the first half of a
// group are in the lower halves of Group/8 rows of bytes, and those of the second half in the upper ones; the other bits
// of all are in the row after these. Where vectors of columns go one by one, both rows stay in registers.
func (g *blockTile) moreBits(row func(s int) []vec.V, p int) func(half int) []vec.V {
	w, upper := row(p), row(g.Group/8)
	return func(half int) []vec.V {
		if half == 1 && g.atOnce > 1 {
			w, upper = row(p), row(g.Group/8)
		}
		four := g.lower
		if half == 1 {
			four = g.upper
		}
		all := four(w)
		for i, v := range all {
			g.OrIntTo(v, g.AndInt(g.shifted(upper[i], 4-(g.Bits-4)*(p+half*g.Group/8)), g.high))
		}
		return all
	}
}

// threeBits is quad q of group n of each column, of 3 bits: the lower 2 of the group's quads are side by side in a row of bytes for each
// group, and the third bits of all quads of the sub-block in the row after these.
func (g *blockTile) threeBits(n, q, v int) []vec.V {
	all := make([]vec.V, g.atOnce)
	for i := range all {
		all[i] = g.AndInt(g.shifted(g.rowAt(4*n, v+i), -2*q), g.low)
		third := g.rowAt(4*WeightBlock/g.Group, v+i)
		g.OrIntTo(all[i], g.AndInt(g.shifted(third, 2-n*g.Group/4-q), g.high))
	}
	return all
}

// shifted is v with its bits moved to the left, or to the right where left is below 0.
func (g *blockTile) shifted(v vec.V, left int) vec.V {
	switch {
	case left > 0:
		return g.ShiftLeft(v, left)
	case left < 0:
		return g.ShiftRight(v, -left)
	}
	return v
}
