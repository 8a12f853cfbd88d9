package kernel

import (
	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/neon"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// Ways to multiply integers. quads works on any machine that has the instruction.

// Quads, Pairs, Words and Octets are the ways of Int8Panel. On x86, WordPanel has WordPairs, and
// WordDots with a single instruction; on NEON it has WordHalves. FloatPairs is the way of
// BFloat16Pairs.
func Quads() intDot  { return &quads{} }
func Pairs() intDot  { return &pairs{} }
func Words() intDot  { return &words{} }
func Octets() intDot { return &octets{} }

func WordPairs() intDot  { return &pairs{words: true} }
func WordDots() intDot   { return &pairs{words: true, dot: (*x86.Machine).DotWords} }
func WordHalves() intDot { return &wordHalves{} }
func FloatPairs() intDot { return &pairs{words: true, dot: (*x86.Machine).DotBFloat16} }

// quads adds four products of bytes to each sum, with VPDPBUSD, whose bytes of B are unsigned, or
// with SDOT.
type quads struct{ sums [][]vec.V }

func (d *quads) elements() (n, bytes int) { return 16, 1 }
func (d *quads) columns(t arch.Tier) int  { return t.Gemm.NR }
func (d *quads) rows(t arch.Tier) int     { return t.Integers.Rows }
func (d *quads) sum(i, v int) vec.V       { return d.sums[i][v] }

func (d *quads) start(t *intTile, from func(i int) vec.V) { startRows(t, d, from) }

func (d *quads) startRow(t *intTile, i int, from func(i int) vec.V) {
	if from == nil {
		d.sums = t.addZeros(d.sums[:i], t.vectors)
		return
	}
	var row []vec.V
	for range t.vectors {
		row = append(row, from(i))
	}
	d.sums = append(d.sums[:i], row)
}

func (d *quads) undefine(t *intTile, h int) { t.undefine(d.sums[h:]) }

func (d *quads) step(t *intTile, a vec.Lanes, b vec.Ptr, quarters int, fetch func(s int)) {
	a.Load(0, 4)
	for s := range quarters {
		if fetch != nil {
			fetch(s)
		}
		for v := 0; v < t.vectors; v += 2 {
			b0, b1 := t.LoadTwo(b, 4*(s*t.Tier().Gemm.NR+v*t.Width()))
			d.quad(t, a, s, v, []vec.V{b0, b1})
		}
	}
}

// quad multiplies lane j of each row by bytes of columns, beginning with vector v.
func (d *quads) quad(t *intTile, a vec.Lanes, j, v int, b []vec.V) {
	for i := range t.h {
		l := a.Lane(i, j)
		for n, b := range b {
			t.DotQuads(d.sums[i][v+n], l, b)
		}
	}
}

// pairs is for x86. It adds up two products of words with VPMADDWD and an addition, or with
// VPDPWSSD. VDPBF16PS does the same for words that are bfloat16 and sums that are float32.
type pairs struct {
	words bool // B has words; otherwise it has bytes, which become words
	dot   func(x *x86.Machine, acc, a, b vec.V)
	sums  [][]vec.V
}

func (d *pairs) elements() (n, bytes int) { return 8, 2 }
func (d *pairs) columns(t arch.Tier) int  { return t.Gemm.NR }
func (d *pairs) rows(t arch.Tier) int     { return t.Integers.Rows }
func (d *pairs) sum(i, v int) vec.V       { return d.sums[i][v] }

func (d *pairs) start(t *intTile, from func(i int) vec.V) { startRows(t, d, from) }
func (d *pairs) undefine(t *intTile, h int)               { t.undefine(d.sums[h:]) }

func (d *pairs) startRow(t *intTile, i int, _ func(i int) vec.V) {
	d.sums = t.addZeros(d.sums[:i], t.vectors)
}

func (d *pairs) step(t *intTile, a vec.Lanes, b vec.Ptr, quarters int, _ func(s int)) {
	x := t.Tiler.(*x86.Machine)
	for s := range quarters {
		bv := make([]vec.V, t.vectors)
		for v := range bv {
			if at := s*t.Tier().Gemm.NR + v*t.Width(); d.words {
				bv[v] = x.Load(b, 4*at)
			} else {
				bv[v] = x.LoadWords(b, 2*at)
			}
		}
		for i := range t.h {
			d.multiply(x, vec.V{Reg: a.Lane(i, s).Reg}, bv, d.sums[i])
		}
	}
}

// multiply adds the products of pairs of words of a lane
// and of some vectors to sums. It may overwrite the lane.
func (d *pairs) multiply(x *x86.Machine, lane vec.V, b, sums []vec.V) {
	for v := range b {
		if d.dot != nil {
			d.dot(x, sums[v], lane, b[v])
			continue
		}
		product := lane // the last product may overwrite it
		if v < len(b)-1 {
			product = x.Value(x.NewV())
		}
		x.MulWords(lane, b[v], product)
		x.AddInt32To(sums[v], product)
	}
}

// words is for NEON without SDOT. It adds two products as a word, which cannot overflow, and adds
// pairs of words to sums. Each column therefore has two sums, and a tile half the columns.
type words struct {
	x    *neon.Machine
	sums [][]vec.V
}

func (d *words) elements() (n, bytes int) { return 16, 1 }
func (d *words) columns(t arch.Tier) int  { return t.Gemm.NR / 2 }
func (d *words) rows(t arch.Tier) int     { return t.Integers.Rows - 2 } // two products take registers

func (d *words) start(t *intTile, from func(i int) vec.V) { startRows(t, d, from) }
func (d *words) undefine(t *intTile, h int)               { t.undefine(d.sums[h:]) }

func (d *words) startRow(t *intTile, i int, _ func(i int) vec.V) {
	d.x, d.sums = t.Tiler.(*neon.Machine), t.addZeros(d.sums[:i], 2*t.vectors)
}

func (d *words) step(t *intTile, a vec.Lanes, b vec.Ptr, _ int, _ func(s int)) {
	a.Load(0, 4)
	for s := 0; s < 4; s += 2 {
		for v := range t.vectors {
			off := 4 * (s*t.Tier().Gemm.NR + v*t.Width())
			b0, b1 := t.Load(b, off), t.Load(b, off+4*t.Tier().Gemm.NR)
			d.twoQuads(t, a, s, s+1, v, b0, b1)
		}
	}
}

// twoQuads multiplies two lanes of each row by vector v of columns.
func (d *words) twoQuads(t *intTile, a vec.Lanes, j0, j1, v int, b0, b1 vec.V) {
	for i := range t.h {
		d.x.DotByWords([2]vec.V(d.sums[i][2*v:]), a.Lane(i, j0), a.Lane(i, j1), b0, b1)
	}
}

func (d *words) sum(i, v int) vec.V {
	s := d.sums[i][2*v:]
	return d.x.AddPairs(s[0], s[1])
}

// wordHalves is for NEON. It adds the products of words with the lower half of a vector of columns
// to one sum, and those with the upper half to another. Each pair of lanes of a sum belongs to one
// column.
type wordHalves struct{ words }

func (d *wordHalves) elements() (n, bytes int) { return 8, 2 }

func (d *wordHalves) step(t *intTile, a vec.Lanes, b vec.Ptr, _ int, _ func(s int)) {
	a.Load(0, 4)
	for s := range 4 {
		for v := range t.vectors {
			columns := t.Load(b, 4*(s*t.Tier().Gemm.NR+v*t.Width()))
			for i := range t.h {
				d.x.DotWords([2]vec.V(d.sums[i][2*v:]), a.Lane(i, s), columns)
			}
		}
	}
}

// octets is for NEON. It adds eight products to the sums of two rows and two columns: SMMLA.
type octets struct {
	x    *neon.Machine
	sums [][]vec.V
}

func (d *octets) elements() (n, bytes int) { return 16, 1 }
func (d *octets) columns(t arch.Tier) int  { return t.Gemm.NR }
func (d *octets) rows(t arch.Tier) int     { return t.Integers.Rows }

func (d *octets) start(t *intTile, from func(i int) vec.V) { startRows(t, d, from) }
func (d *octets) undefine(t *intTile, h int)               { t.undefine(d.sums[(h+1)/2:]) }

func (d *octets) startRow(t *intTile, i int, _ func(i int) vec.V) {
	if i%2 == 0 {
		d.x, d.sums = t.Tiler.(*neon.Machine), t.addZeros(d.sums[:i/2], 2*t.vectors)
	}
}

// step takes eight elements of two rows at a time. If the number of rows is odd, the last one is
// paired with itself.
func (d *octets) step(t *intTile, a vec.Lanes, b vec.Ptr, _ int, _ func(s int)) {
	a.Load(0, 4)
	two := make([][2]vec.V, (t.h+1)/2) // eight elements of each row, and eight more
	for p := range two {
		x, y := vec.V{Reg: a.Lane(2*p, 0).Reg}, vec.V{Reg: a.Lane(min(2*p+1, t.h-1), 0).Reg}
		two[p] = [2]vec.V{d.x.Zip(false, x, y), d.x.Zip(true, x, y)}
	}
	for octet := range 2 {
		for v := 0; v < 2*t.vectors; v += 2 {
			b0, b1 := t.LoadTwo(b, 8*octet*t.Tier().Gemm.NR+16*v)
			for p, a := range two {
				d.x.DotMatrices(d.sums[p][v], a[octet], b0)
				d.x.DotMatrices(d.sums[p][v+1], a[octet], b1)
			}
		}
	}
}

func (d *octets) sum(i, v int) vec.V {
	s := d.sums[i/2][2*v:]
	return d.x.Zip(i%2 == 1, s[0], s[1])
}
