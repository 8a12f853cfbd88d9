package kernel

import (
	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/neon"
)

// BlocksNEON emits the micro-kernel of products with weights in blocks for NEON, by SDOT or by
// way of words. Weights of less than 8 bits are bytes with a sign as they are, and those of 8 bits
// without their highest one.
func BlocksNEON(l BlockLayout, dot NEONDot) func(vec.Machine) {
	return Only(func(x *neon.Machine) {
		g := &blocksNEON{int8NEON: newInt8NEON(x, dot), BlockLayout: l}
		mr := 2
		if dot == NEONQuads {
			mr = 4
		}
		g.begin()
		g.strips(func() { g.rows(mr, g.tile) })
	})
}

type blocksNEON struct {
	*int8NEON
	BlockLayout

	// What is in turn: the head of the block, the unit, and the scales of the rows and what they
	// start with, at the group.
	head, unit, scale, start arm64.GP
	low, high                arm64.Vec // masks of the lower 4 bits of all bytes, and of the 2 above
	flip                     arm64.Vec // the highest bit
}

// tile emits a tile.
func (g *blocksNEON) tile(rows []arm64.GP, c, scale arm64.GP, label func(string) string) {
	g.constants()
	name := "start"
	if g.Least {
		name = "offset"
	}
	k, left := g.LoadInt(g.Param("k")), g.GP()
	g.head, g.unit, g.scale, g.start = g.LoadInt(g.Param("b").Base()), g.GP(), g.GP(), g.LoadInt(g.Param(name).Base())
	g.MOVD(scale, g.scale)
	g.SUB(g.LoadInt(g.Param("scale").Base()), g.start, g.start)
	g.ADD(scale, g.start, g.start)
	g.Label(label("block"))
	g.Comment("a block has some of the k elements")
	size := g.GP()
	g.MOVI(int64(g.Elements), size)
	g.CMP(size, k)
	g.CSEL(arm64.LT, k, size, left)
	g.SUB(left, k, k)
	g.ADD(arm64.Imm(g.Head()*int8NEONColumns), g.head, g.unit)
	g.Label(label("unit"))
	for i := range WeightBlock / g.Group {
		g.group(c, rows, i)
		g.ADD(g.ldscale, g.scale, g.scale)
		g.ADD(g.ldscale, g.start, g.start)
	}
	g.ADD(arm64.Imm(g.Unit()*int8NEONColumns), g.unit, g.unit)
	g.SUBS(arm64.Imm(WeightBlock), left, left)
	g.BCond(arm64.NE, label("unit"))
	g.MOVD(g.unit, g.head)
	g.CBNZ(k, label("block"))
}

func (g *blocksNEON) constants() {
	constant := func(i int) arm64.Vec {
		v := g.V()
		g.VMOVI(i, v.B16())
		return v
	}
	switch g.Bits {
	case 8:
		g.flip = constant(0x80)
	case 6:
		g.high = constant(0x30)
		fallthrough
	default:
		g.low = constant(0x0f)
	}
}

// group emits the products of group n of the unit.
func (g *blocksNEON) group(c arm64.GP, rows []arm64.GP, n int) {
	sums := g.newSums(len(rows))
	av := make([][]arm64.Vec, len(rows))
	for i := range av {
		for range g.Group / 16 {
			v := g.V()
			g.FMOVQ(arm64.Post(rows[i], 16), v)
			av[i] = append(av[i], v)
		}
	}
	for pair := range g.Group / 8 {
		for v := range g.columns / 4 {
			first, second := pair, pair+g.Group/8 // of four elements of A
			if g.Bits == 8 {
				first, second = 2*pair, 2*pair+1
			}
			b0, b1 := g.weights(n, first, second, v)
			for i, a := range av {
				g.multiply(sums[i], a[first/4].S(first%4), a[second/4].S(second%4), b0, b1, v)
			}
		}
	}
	g.addGroup(c, sums, n)
}

// weights loads four elements of vector v of columns, and four others.
func (g *blocksNEON) weights(n, first, second, v int) (b0, b1 arm64.Vec) {
	row := func(s int) arm64.Vec {
		w := g.V()
		g.FMOVQ(arm64.At(g.unit, (g.UnitScales()+n*g.groupBytes()+4*s)*int8NEONColumns+4*g.first+16*v), w)
		return w
	}
	if g.Bits == 8 {
		b0, b1 = row(first), row(second)
		g.VEOR(g.flip.B16(), b0.B16(), b0.B16())
		g.VEOR(g.flip.B16(), b1.B16(), b1.B16())
		return b0, b1
	}
	b0, b1 = row(first), g.V()
	g.VUSHR(4, b0.B16(), b1.B16())
	g.VAND(g.low.B16(), b0.B16(), b0.B16())
	if g.Bits == 6 {
		upper := row(2)
		g.sixth(upper, first, b0)
		g.sixth(upper, second, b1)
	}
	return b0, b1
}

// sixth puts the upper two bits of four elements, the s-th in each byte, above the others.
func (g *blocksNEON) sixth(upper arm64.Vec, s int, b arm64.Vec) {
	bits := g.V()
	switch {
	case s < 2:
		g.VSHL(4-2*s, upper.B16(), bits.B16())
	case s > 2:
		g.VUSHR(2*s-4, upper.B16(), bits.B16())
	default:
		bits = upper
	}
	masked := g.V()
	g.VAND(g.high.B16(), bits.B16(), masked.B16())
	g.VORR(masked.B16(), b.B16(), b.B16())
}

// multiply adds the products of four elements of a row and four others to the sums.
func (g *blocksNEON) multiply(sums []arm64.Vec, a0, a1 arm64.Element, b0, b1 arm64.Vec, v int) {
	if g.dot == NEONQuads {
		g.VSDOT(a0, b0.B16(), sums[v].S4())
		g.VSDOT(a1, b1.B16(), sums[v].S4())
		return
	}
	g.words(sums, a0, a1, b0, b1, v)
}

// factors loads what vector v of columns is multiplied with: the numbers of 16 bits that lie head
// bytes a column into the block's head, each times the byte that lies unit bytes a column into the
// unit, where units have scales.
func (g *blocksNEON) factors(head, unit, v int, signed bool) arm64.Vec {
	d := g.V()
	g.FMOVD(arm64.At(g.head, head*int8NEONColumns+2*(g.first+4*v)), d)
	g.VFCVTL(d.As(arm64.H4), d.S4())
	if !g.Scales {
		return d
	}
	s, zero := g.V(), g.V()
	g.FMOVS(arm64.At(g.unit, unit*int8NEONColumns+g.first+4*v), s)
	g.Comment("the bytes, as the highest of 32 bits each")
	g.VMOVI(0, zero.B16())
	g.VZIP1(s.B16(), zero.B16(), s.B16())
	g.VZIP1(s.As(arm64.H8), zero.As(arm64.H8), s.As(arm64.H8))
	if signed {
		g.VSSHR(24, s.S4(), s.S4())
	} else {
		g.VUSHR(24, s.S4(), s.S4())
	}
	g.VSCVTF(s.S4(), s.S4())
	g.VFMUL(s.S4(), d.S4(), d.S4())
	return d
}

// addGroup adds the sums of group n of the unit to C, as addGroup of blocksX86.
func (g *blocksNEON) addGroup(c arm64.GP, sums [][]arm64.Vec, n int) {
	ofRow, start := make([]arm64.Vec, len(sums)), make([]arm64.Vec, len(sums))
	for i := range ofRow {
		ofRow[i], start[i] = g.V(), g.V()
		g.FMOVS(arm64.At(g.scale, 4*i), ofRow[i])
		if g.Bits == 8 {
			continue
		}
		g.FMOVS(arm64.At(g.start, 4*i), start[i])
		if !g.Least {
			g.VSSHR(8-g.Bits, start[i].S4(), start[i].S4())
			g.VDUP(start[i].S(0), start[i].S4())
		}
	}
	for v := range g.columns / 4 {
		ofColumns := g.factors(0, n, v, !g.Least)
		var least arm64.Vec
		if g.Least {
			least = g.factors(2, WeightBlock/g.Group+n, v, false)
		}
		at := g.GP()
		g.MOVD(c, at)
		for i := range sums {
			sum := g.sum(sums, i, v)
			if g.Bits < 8 && !g.Least {
				g.VADD(start[i].S4(), sum.S4(), sum.S4())
			}
			g.VSCVTF(sum.S4(), sum.S4())
			g.VFMUL(ofRow[i].S(0), sum.S4(), sum.S4())
			g.VFMUL(ofColumns.S4(), sum.S4(), sum.S4())
			y := g.V()
			g.FMOVQ(arm64.At(at, 16*v), y)
			g.VFADD(sum.S4(), y.S4(), y.S4())
			if g.Least {
				product := g.V()
				g.VFMUL(start[i].S(0), least.S4(), product.S4())
				g.VFADD(product.S4(), y.S4(), y.S4())
			}
			g.FMOVQStore(y, arm64.At(at, 16*v))
			g.ADD(g.ldc, at, at)
		}
	}
}
