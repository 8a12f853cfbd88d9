package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// Products of integers with weights in blocks, the layout of files in GGUF.

// Blocks returns the micro-kernel of products with weights in blocks. It keeps the totals of a tile
// in registers if there are enough, and otherwise in C.
func Blocks(l BlockLayout, dot func(BlockLayout) blockDot) func(vec.Machine) {
	return Only(func(m vec.Tiler) {
		d := dot(l)
		g := &blockTile{intTile: newIntTile(m, d), BlockLayout: l, dot: d}
		g.scaled, g.totals = true, true
		if g.atOnce = g.vectors; m.Tier().ByLane {
			g.atOnce = 1
		}
		g.inRegisters = len(m.Tier().Vectors) > 16 && !m.Tier().ByLane
		g.constants()
		g.whole(d.blockRows(g), g.tile)
	})
}

// blockDot is a way to multiply weights in blocks.
type blockDot interface {
	intDot
	// blockRows returns the number of rows of a tile for which there are enough registers.
	blockRows(g *blockTile) int
	// pair multiplies lanes j[0] and j[1] of each row by some vectors of columns, beginning with v.
	// second may overwrite the registers of first.
	pair(t *intTile, a vec.Lanes, j [2]int, v int, first []vec.V, second func() []vec.V)
	// flush ends one or more pairs of products before their sums could overflow.
	flush(t *intTile)
	// halves reports whether weights of 8 bits are split into
	// two of 4, and signed whether weights are signed bytes.
	halves() bool
	signed(t *intTile) bool
	// starts reports whether sums can begin with the numbers that must be subtracted.
	starts(t *intTile) bool
}

// blockTile is a tile of a product with weights in blocks.
type blockTile struct {
	*intTile
	BlockLayout
	dot blockDot

	atOnce          int     // vectors of columns whose weights are loaded together; if 1, both halves of its weights stay in registers
	low, high, flip vec.V   // masks of bytes: the lower 4 bits, the further bits of the weights, and the highest bit
	numbers         []vec.V // of codes: one table, or one for the lower and one for the upper 4 bits if the products take halves

	// The current rows of A, block and sub-block, the scales of the rows, their distance to the
	// numbers that the rows' sums start with, and the place of these.
	a         vec.Lanes
	head, sub vec.Ptr
	subAt     int
	scale     vec.Ptr
	start     vec.Int
	startAt   vec.Ptr
	sums      [][]vec.V
}

func (g *blockTile) constants() {
	if g.Bits > 3 && g.Bits < 8 || g.dot.halves() {
		g.low = g.Splat(0x0f0f0f0f)
	}
	switch g.Bits {
	case 3:
		g.low, g.high = g.Splat(0x03030303), g.Splat(0x04040404)
	case 5:
		g.high = g.Splat(0x10101010)
	case 6:
		g.high = g.Splat(0x30303030)
	}
	g.tables()
	if g.Bits == 8 && g.dot.signed(g.intTile) {
		g.flip = g.Splat(0x80808080)
	}
}

// tables loads the numbers of codes with as many bits as the products take.
func (g *blockTile) tables() {
	if g.Codes == NoCodes {
		return
	}
	name := [...]string{E2M1: "codes", Nonlinear: "nonlinear"}[g.Codes]
	table := func(suffix string, of func(x byte) byte) {
		var b [16]byte
		for i, x := range NumbersOf[g.Codes] {
			b[i] = of(x)
		}
		g.numbers = append(g.numbers, g.Table(name+suffix, b))
	}
	switch {
	case g.Wide() == 8 && g.dot.halves():
		table("Low", func(x byte) byte { return x & 15 })
		table("High", func(x byte) byte { return x >> 4 })
	case g.Wide() == 8 && g.dot.signed(g.intTile):
		table("Signed", func(x byte) byte { return x ^ 128 })
	default:
		table("", func(x byte) byte { return x })
	}
}

// tile emits a tile.
func (g *blockTile) tile() {
	g.a = g.rowsOfA()
	nr := g.Tier().Gemm.NR
	k := vec.Int{}
	g.head, k = g.SlicePtr("b"), g.IntParam("k")
	g.scale = g.intTile.scale.Ptr()
	g.start = vec.Int(g.SlicePtr(g.startParam()))
	g.SubtractInt(g.start, vec.Int(g.SlicePtr("scale")))
	g.startAhead()

	g.Label(g.label("block"))
	g.fetchAhead(g.label("begun"), g.head, 0, g.Head()*nr)
	if g.Elements == WeightBlock {
		g.sub, g.subAt = g.head, g.Head()*nr
		g.groups()
		g.Bump(g.head, g.Bytes()*nr)
		g.CountDown(k, WeightBlock, vec.NE, g.label("block"))
	} else {
		g.Comment("a block has some of the k elements")
		g.sub, g.subAt = g.After(g.head, g.Head()*nr), 0
		left := g.TakeAtMost(k, g.Number(g.Elements))
		g.Label(g.label("sub"))
		g.groups()
		g.Bump(g.sub, g.SubBytes()*nr)
		g.CountDown(left, WeightBlock, vec.NE, g.label("sub"))
		g.CopyPtrTo(g.head, g.sub)
		g.BranchUnlessZero(k, g.label("block"))
	}
	if g.inRegisters {
		g.each(g.totalAt, func(i, v int, p vec.Ptr, off int) { g.Store(p, off, g.total[i][v]) })
	}
}

// groups emits the groups of a sub-block.
func (g *blockTile) groups() {
	nr := g.Tier().Gemm.NR
	groups, lines := WeightBlock/g.Group, (g.SubBytes()*nr+cacheLine-1)/cacheLine
	for n := range groups {
		first, next := n*lines/groups, (n+1)*lines/groups
		g.fetchAhead(g.label(fmt.Sprint("group", n)), g.sub, g.subAt+first*cacheLine, (next-first)*cacheLine)
		g.group(n)
		g.BumpBy(g.scale, g.ldscale())
	}
	g.a.Next(WeightBlock / 4)
}

// startParam returns the parameter with the numbers that the groups of each row add to the
// products.
func (g *blockTile) startParam() string {
	if g.Least {
		return "offset"
	}
	return "start"
}

// group emits the products of group n of the sub-block.
func (g *blockTile) group(n int) {
	g.startAt = g.Beside(g.scale, g.start)
	biased := !g.Least && (g.Wide() < 8 || !g.dot.signed(g.intTile))
	if biased && g.dot.starts(g.intTile) {
		g.dot.start(g.intTile, g.bias)
		biased = false
	} else {
		g.dot.start(g.intTile, nil)
	}
	g.dots(n)
	g.sums = make([][]vec.V, g.h)
	for i := range g.sums {
		var bias vec.V
		if biased {
			bias = g.bias(i)
		}
		for v := range g.vectors {
			sum := g.dot.sum(i, v)
			if biased {
				g.AddInt32To(sum, bias)
			}
			g.sums[i] = append(g.sums[i], sum)
		}
	}
	g.addGroup(n)
}

// bias returns the number to add to the sums of row i because the weights are unsigned. Unsigned
// weights are larger by 128 if they have 8 bits, and by half as much for each bit less.
func (g *blockTile) bias(i int) vec.V {
	s := g.SpreadInt(g.startAt, 4*i)
	if shift := 8 - g.Wide(); shift > 0 {
		g.ShiftRightTo(s, shift)
	}
	return s
}

// dots emits the products of group n, one pair of quads after the other.
func (g *blockTile) dots(n int) {
	lane, quads := n*g.Group/4, g.Group/4
	g.a.Load(lane, quads)
	halves := g.Bits == 8 && g.dot.halves()
	pairs := quads / 2
	if halves {
		pairs = quads
	}
	for p := range pairs {
		for v := 0; v < g.vectors; v += g.atOnce {
			row := func(s int) []vec.V { return g.row(n, s, v) }
			switch {
			case halves:
				w := row(p)
				g.pair(lane+p, lane+p, v, g.lower(w), func() []vec.V { return g.upper(w) })
			case g.Bits == 8:
				g.pair(lane+2*p, lane+2*p+1, v, g.flipped(row(2*p)), func() []vec.V { return g.flipped(row(2*p + 1)) })
			case len(g.numbers) == 2:
				w := row(p)
				g.halvesOfNumbers(lane+p, v, g.lower(w))
				g.halvesOfNumbers(lane+p+pairs, v, g.upper(w))
			case g.Bits == 4:
				w := row(p)
				g.pair(lane+p, lane+p+pairs, v, g.decoded(g.lower(w)), func() []vec.V { return g.decoded(g.upper(w)) })
			case g.Bits == 3:
				g.pair(lane+2*p, lane+2*p+1, v, g.threeBits(n, 2*p, v), func() []vec.V { return g.threeBits(n, 2*p+1, v) })
			default:
				bits := g.moreBits(row, p)
				g.pair(lane+p, lane+p+pairs, v, bits(0), func() []vec.V { return bits(1) })
			}
		}
		if g.Wide() == 6 || g.Wide() == 5 && p%2 == 1 {
			g.dot.flush(g.intTile)
		}
	}
	g.dot.flush(g.intTile)
}

func (g *blockTile) pair(j0, j1, v int, first []vec.V, second func() []vec.V) {
	g.dot.pair(g.intTile, g.a, [2]int{j0, j1}, v, first, second)
}

// factors loads the factors of the columns, beginning with vector v: the block's numbers at head
// bytes per column, times the bytes in the sub-block, if there are any.
func (g *blockTile) factors(head, sub, v int, signed bool) []vec.V {
	f, nr := make([]vec.V, g.atOnce), g.Tier().Gemm.NR
	for i := range f {
		column := g.first + (v+i)*g.Width()
		if g.Codes == E2M1 {
			f[i] = g.LoadPowers(g.head, head*nr+column)
			continue
		}
		f[i] = g.LoadFloat16(g.head, head*nr+2*column)
		if !g.Scales {
			continue
		}
		load := g.LoadUint8
		if signed {
			load = g.LoadInt8
		}
		g.MulTo(f[i], load(g.sub, g.subAt+sub*nr+column))
	}
	return f
}

// addGroup adds group n of the sub-block to the totals. It multiplies first by the group's scale in
// the row, then by those of the columns, and then adds the minima times the sum of A's integers.
func (g *blockTile) addGroup(n int) {
	var least []vec.V
	var offsets vec.Column
	scales := g.Column(g.scale, g.h)
	if g.Least {
		offsets = g.Column(g.startAt, g.h)
	}
	for v0 := 0; v0 < g.vectors; v0 += g.atOnce {
		ofColumns := g.factors(0, n, v0, !g.Least)
		if g.Least {
			least = g.factors(2, WeightBlock/g.Group+n, v0, false)
		}
		g.totalAt.Begin()
		for i := range g.h {
			scale := scales.Lane(i, 0)
			to := make([]vec.V, g.atOnce)
			for v := range to {
				to[v] = g.sums[i][v0+v]
				g.IntToFloat(to[v])
				g.MulLaneTo(to[v], scale)
				g.MulTo(to[v], ofColumns[v])
				if g.inRegisters {
					g.AddTo(g.total[i][v0+v], to[v])
					to[v] = g.total[i][v0+v]
				} else {
					p, off := g.placeOf(i, v0+v)
					g.AddLoad(to[v], p, off)
				}
			}
			var offset vec.Lane
			if g.Least {
				offset = offsets.Lane(i, 0)
			}
			for v := range to {
				if g.Least {
					g.AddTo(to[v], g.MulLane(offset, least[v]))
				}
				if !g.inRegisters {
					p, off := g.placeOf(i, v0+v)
					g.Store(p, off, to[v])
				}
			}
		}
	}
}
