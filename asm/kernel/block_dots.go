package kernel

import (
	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// Ways to multiply weights in blocks.

// BlockQuads, BlockWords, BlockPairs and BlockSigns are the ways that Blocks can multiply.
func BlockQuads(BlockLayout) blockDot   { return &quads{} }
func BlockWords(BlockLayout) blockDot   { return &words{} }
func BlockPairs(l BlockLayout) blockDot { return &bytePairs{byHalves: l.Wide() == 8} }

// BlockSigns is BlockPairs for AVX2, which has an instruction for signs of bytes.
func BlockSigns(l BlockLayout) blockDot {
	if l.Wide() == 8 {
		return &byteSigns{}
	}
	return BlockPairs(l)
}

func (d *quads) blockRows(g *blockTile) int {
	few := len(g.Tier().Vectors) <= 16
	switch {
	case g.vectors > 2 || few && (g.Least || g.Codes != NoCodes || g.Bits != 4 && g.Bits != 8):
		return 4
	case few && g.Bits == 4:
		return 5
	}
	return 6
}

func (d *quads) pair(t *intTile, a vec.Lanes, j [2]int, v int, first []vec.V, second func() []vec.V) {
	d.quad(t, a, j[0], v, first)
	d.quad(t, a, j[1], v, second())
}

func (d *quads) flush(*intTile)         {}
func (d *quads) halves() bool           { return false }
func (d *quads) signed(t *intTile) bool { return t.QuadsSigned() }
func (d *quads) starts(t *intTile) bool { return !t.QuadsSigned() }

func (d *words) blockRows(*blockTile) int { return 2 }

func (d *words) pair(t *intTile, a vec.Lanes, j [2]int, v int, first []vec.V, second func() []vec.V) {
	for n, b1 := range second() {
		d.twoQuads(t, a, j[0], j[1], v+n, first[n], b1)
	}
}

func (d *words) flush(*intTile)       {}
func (d *words) halves() bool         { return false }
func (d *words) signed(*intTile) bool { return true }
func (d *words) starts(*intTile) bool { return false }

// bytePairs is for x86 without VPDPBUSD. VPMADDUBSW returns the sum of two products of bytes as a
// signed word, which may overflow if both factors have 8 bits. Weights of 8 bits are therefore
// split into two of 4 bits, and the words become sums of 32 bits before they could overflow: 16
// products with weights of 4 bits add up to at most 30720, 8 with 5 bits to at most 31496, and 4
// with 6 bits to at most 32256.
type bytePairs struct {
	pairs
	byHalves bool
	x        *x86.Machine
	words    [2][][]vec.V // of the weights, or of their lower and upper 4 bits; nil before the first product
}

func (d *bytePairs) elements() (n, bytes int) { return 16, 1 }

func (d *bytePairs) blockRows(g *blockTile) int {
	if len(g.Tier().Vectors) <= 16 && g.Wide() > 4 || len(g.numbers) == 2 {
		return 2
	}
	return 4
}

func (d *bytePairs) start(t *intTile, _ func(i int) vec.V) { d.x, d.sums = t.Tiler.(*x86.Machine), nil }

func (d *bytePairs) pair(t *intTile, a vec.Lanes, j [2]int, v int, first []vec.V, second func() []vec.V) {
	d.quad(t, a, j[0], first, 0)
	if d.byHalves {
		d.quad(t, a, j[1], second(), 1)
	} else {
		d.quad(t, a, j[1], second(), 0)
	}
}

// quad multiplies lane j of each row by the weights.
func (d *bytePairs) quad(t *intTile, a vec.Lanes, j int, weights []vec.V, of int) {
	first := d.words[of] == nil
	if first {
		d.words[of] = make([][]vec.V, t.h)
	}
	for i := range t.h {
		l := a.Lane(i, j)
		for v, w := range weights {
			product := d.x.MulBytes(l, w)
			if first {
				d.words[of][i] = append(d.words[of][i], product)
			} else {
				d.x.AddWords(product, d.words[of][i][v], d.words[of][i][v])
			}
		}
	}
}

func (d *bytePairs) flush(t *intTile) {
	for of, one := range []vec.Const{0x00010001, 0x00100010} { // 1, and 16 for the upper 4 bits
		words := d.words[of]
		if words == nil {
			continue
		}
		factor, first := t.Splat(one), d.sums == nil
		for i, row := range words {
			for v, w := range row {
				d.x.MulWords(factor, w, w)
				if !first {
					t.AddInt32To(d.sums[i][v], w)
				}
			}
		}
		if first {
			d.sums = words
		}
		d.words[of] = nil
	}
}

func (d *bytePairs) halves() bool         { return d.byHalves }
func (d *bytePairs) signed(*intTile) bool { return false }
func (d *bytePairs) starts(*intTile) bool { return false }

// byteSigns is for AVX2 without VPDPBUSD. It multiplies the magnitudes of weights of 8 bits, and
// gives their signs to A: two products add up to at most 2*128*127, which fits a word, and become
// sums of 32 bits immediately.
type byteSigns struct {
	pairs
	x    *x86.Machine
	ones vec.V
}

func (d *byteSigns) elements() (n, bytes int) { return 16, 1 }

func (d *byteSigns) blockRows(g *blockTile) int {
	if g.Codes != NoCodes { // codes take registers
		return 2
	}
	return 4
}

func (d *byteSigns) start(t *intTile, _ func(i int) vec.V) {
	d.x, d.ones, d.sums = t.Tiler.(*x86.Machine), t.Splat(0x00010001), make([][]vec.V, t.h)
}

func (d *byteSigns) pair(t *intTile, a vec.Lanes, j [2]int, _ int, first []vec.V, second func() []vec.V) {
	d.quad(t, a, j[0], first)
	d.quad(t, a, j[1], second())
}

// quad multiplies lane j of each row by the weights.
func (d *byteSigns) quad(t *intTile, a vec.Lanes, j int, weights []vec.V) {
	magnitudes := of(weights, d.x.Magnitudes)
	for i := range t.h {
		l := a.Lane(i, j)
		for v, w := range weights {
			product := d.x.MulBytes(d.x.SignBytes(l, w), magnitudes[v])
			d.x.MulWords(d.ones, product, product)
			if len(d.sums[i]) == v {
				d.sums[i] = append(d.sums[i], product)
			} else {
				t.AddInt32To(d.sums[i][v], product)
			}
		}
	}
}

func (d *byteSigns) flush(*intTile)       {}
func (d *byteSigns) halves() bool         { return false }
func (d *byteSigns) signed(*intTile) bool { return true }
func (d *byteSigns) starts(*intTile) bool { return false }
