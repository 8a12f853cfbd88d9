package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Functions that turn the weights of a sub-block into bytes, one vector for each quad of elements.

// row loads row s of the weights of group n: four bytes per column, beginning with vector v of
// columns.
func (g *blockTile) row(n, s, v int) []vec.V {
	w := make([]vec.V, g.atOnce)
	for i := range w {
		w[i] = g.rowAt(n*g.groupBytes()+4*s, v+i)
	}
	return w
}

// rowAt loads the weights that lie the given bytes per column after the scales of the sub-block,
// for vector v of columns.
func (g *blockTile) rowAt(bytes, v int) vec.V {
	nr := g.Tier().Gemm.NR
	return g.Load(g.sub, g.subAt+(g.SubScales()+bytes)*nr+4*(g.first+v*g.Width()))
}

// of applies f to each vector.
func of(vs []vec.V, f func(vec.V) vec.V) []vec.V {
	made := make([]vec.V, len(vs))
	for i, v := range vs {
		made[i] = f(v)
	}
	return made
}

// lower and upper return halves of the bytes. upper consumes w.
func (g *blockTile) lower(w []vec.V) []vec.V {
	return of(w, func(v vec.V) vec.V { return g.AndInt(v, g.low) })
}

func (g *blockTile) upper(w []vec.V) []vec.V {
	return of(w, func(v vec.V) vec.V { return g.UpperHalves(v, g.low) })
}

// flipped returns the bytes as signed ones, if the machine needs that.
func (g *blockTile) flipped(w []vec.V) []vec.V {
	if g.flip == (vec.V{}) {
		return w
	}
	return of(w, func(v vec.V) vec.V { return g.Xor(v, g.flip) })
}

// decoded returns the numbers of codes, if the weights are codes.
func (g *blockTile) decoded(w []vec.V) []vec.V {
	if g.Codes == NoCodes {
		return w
	}
	return of(w, func(v vec.V) vec.V { return g.LookUp(g.numbers[0], v) })
}

// halvesOfNumbers multiplies lane j of each row by the lower and the upper 4 bits of the numbers of
// codes.
func (g *blockTile) halvesOfNumbers(j, v int, codes []vec.V) {
	half := func(i int) []vec.V { return of(codes, func(v vec.V) vec.V { return g.LookUp(g.numbers[i], v) }) }
	g.pair(j, j, v, half(0), func() []vec.V { return half(1) })
}

// moreBits prepares the quads p and p + Group/8 of each column, of 5 or 6 bits. Group/8 rows of
// bytes have the lower 4 bits: their lower halves those of the first half of a group, their upper
// halves those of the second half. The row after them has the other bits of all elements. Where
// vectors of columns are taken one by one, both rows stay in registers.
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

// threeBits returns quad q of group n of each column, of 3 bits. Each group has a row of bytes with
// the lower 2 bits of its quads side by side. The row after these has the third bits of all quads
// of the sub-block.
func (g *blockTile) threeBits(n, q, v int) []vec.V {
	all := make([]vec.V, g.atOnce)
	for i := range all {
		all[i] = g.AndInt(g.shifted(g.rowAt(4*n, v+i), -2*q), g.low)
		third := g.rowAt(4*WeightBlock/g.Group, v+i)
		g.OrIntTo(all[i], g.AndInt(g.shifted(third, 2-n*g.Group/4-q), g.high))
	}
	return all
}

// shifted returns v with its bits shifted to the left, or to the right if left is negative.
func (g *blockTile) shifted(v vec.V, left int) vec.V {
	switch {
	case left > 0:
		return g.ShiftLeft(v, left)
	case left < 0:
		return g.ShiftRight(v, -left)
	}
	return v
}
