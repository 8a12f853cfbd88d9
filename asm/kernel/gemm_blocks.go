package kernel

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// WeightBlock is how many elements of a column a unit of weights in blocks has, and a block
// without groups.
const WeightBlock = 32

// BlockLayout is what a block of weights consists of; kernels/internal/weights/blocks.go has the order of
// its bytes. Package simd gets it with the kernels.
type BlockLayout struct {
	Elements int  // of a column
	Bits     int  // of an element
	Group    int  // elements that are scaled together, as are those of A
	Scales   bool // groups have scales beside the block's
	Least    bool // and minima
}

// columns is how many there are, given the bytes of a vector.
func columns(width int) int { return int8Vectors * width / 4 }

// Head is the bytes of a column before the units.
func (l BlockLayout) Head() int {
	if l.Least {
		return 4
	}
	return 2
}

// UnitScales is the bytes of a column at the beginning of a unit.
func (l BlockLayout) UnitScales() int {
	switch {
	case l.Least:
		return 2 * WeightBlock / l.Group
	case l.Scales:
		return WeightBlock / l.Group
	}
	return 0
}

// Unit is the bytes of a column in a unit.
func (l BlockLayout) Unit() int { return l.UnitScales() + WeightBlock*l.Bits/8 }

// Bytes is those of a column in a block.
func (l BlockLayout) Bytes() int { return l.Head() + l.Elements/WeightBlock*l.Unit() }

// groupBytes is the bytes of a column that are a group's weights.
func (l BlockLayout) groupBytes() int { return l.Group * l.Bits / 8 }

// BlocksX86 emits the micro-kernel of products with weights in blocks: tiles of rows and two
// vectors of columns. The integer sums of a group stay in registers, and so do those of floats,
// where there are enough, and otherwise in C.
func BlocksX86(l BlockLayout, dot Int8Dot) func(vec.Machine) {
	return Only(func(x *x86.Machine) {
		g := &blocksX86{int8X86: newInt8X86(x, DotQuads), BlockLayout: l, pairs: dot == DotPairs}
		g.constants()
		g.begin()
		g.rows(g.tallest(), g.tile)
	})
}

type blocksX86 struct {
	int8X86
	BlockLayout
	pairs     bool             // VPMADDUBSW makes words of pairs, for want of VPDPBUSD
	low, high reg.VecVirtual   // masks of the lower 4 bits of all bytes, and of the 2 above
	words     [2]blockWords    // sums of words: of the weights, or of their lower and upper 4 bits
	at        blocksAt         // what is in turn
	ofColumns [2]columnFactors // scales, and minima
}

// blockWords is sums of words of a tile, nil where there are none yet.
type blockWords [][int8Vectors]reg.VecVirtual

// columnFactors is a vector for the columns, with an element for each.
type columnFactors = [int8Vectors]reg.VecVirtual

// blocksAt is the place in A, B and the scales.
type blocksAt struct {
	a     func(i, disp int) operand.Mem
	head  reg.Register // of the block
	unit  operand.Mem  // and its unit
	scale reg.Register
	start reg.Register // how far what a group of a row starts with lies from its scale
}

// tallest is how many rows the registers suffice for.
func (g *blocksX86) tallest() int {
	switch {
	case !g.pairs && g.inMemory && (g.Least || g.Bits == 6):
		return 4
	case !g.pairs && g.inMemory && g.Bits == 4:
		return 5
	case !g.pairs:
		return Int8Rows
	case g.inMemory && g.Bits > 4:
		return 2
	}
	return 4
}

func (g *blocksX86) constants() {
	if g.Bits != 8 || g.pairs {
		g.low = g.Constant(0x0f0f0f0f)
	}
	if g.Bits == 6 {
		g.high = g.Constant(0x30303030)
	}
}

// tile emits a tile.
func (g *blocksX86) tile(label func(string) string) {
	a, bases := g.rowsOfA()
	b, k, scale, start := g.Load64("b_base"), g.Load64("k"), g.GP64(), g.Load64(g.startParam()+"_base")
	g.MOVQ(g.scale, scale)
	g.SUBQ(g.Load64("scale_base"), start)
	g.at = blocksAt{a: a, head: b, scale: scale, start: start}
	g.startAhead()
	perColumn, units := columns(g.width), g.Elements/WeightBlock
	unitBytes := g.Unit() * perColumn

	g.Label(label("block"))
	g.fetchAhead(label("begun"), operand.Mem{Base: b}, g.Head()*perColumn)
	g.at.unit = operand.Mem{Base: b, Disp: g.Head() * perColumn}
	left := k
	if units > 1 {
		g.Context.Comment("a block has some of the k elements")
		unit, size := g.GP64(), g.GP64()
		g.LEAQ(g.at.unit, unit)
		g.at.unit = operand.Mem{Base: unit}
		left = g.GP64()
		g.MOVQ(operand.U32(g.Elements), size)
		g.MOVQ(k, left)
		g.CMPQ(k, size)
		g.CMOVQGT(size, left)
		g.SUBQ(left, k)
		g.Label(label("unit"))
	}
	groups, lines := WeightBlock/g.Group, (unitBytes+cacheLine-1)/cacheLine
	for i := range groups {
		first, next := i*lines/groups, (i+1)*lines/groups
		g.fetchAhead(label(fmt.Sprint("group", i)), g.at.unit.Offset(first*cacheLine), (next-first)*cacheLine)
		g.group(i)
		g.LEAQ(operand.Mem{Base: scale, Index: g.Load64("ldscale"), Scale: 4}, scale)
	}
	for _, r := range bases {
		g.ADDQ(x86.Imm(WeightBlock), r)
	}
	if units > 1 {
		g.ADDQ(x86.Imm(unitBytes), g.at.unit.Base)
		g.SUBQ(x86.Imm(WeightBlock), left)
		g.JNZ(operand.LabelRef(label("unit")))
		g.MOVQ(g.at.unit.Base, b)
		g.TESTQ(k, k)
	} else {
		g.ADDQ(x86.Imm(g.Bytes()*perColumn), b)
		g.SUBQ(x86.Imm(WeightBlock), k)
	}
	g.JNZ(operand.LabelRef(label("block")))
	if !g.inMemory {
		g.each(func(i, v int) { g.VMOVUPS(g.total[i][v], g.totalAt(i, v*g.width)) })
	}
}

// startParam is what tells of a row what its groups add beside the products.
func (g *blocksX86) startParam() string {
	if g.Least {
		return "offset"
	}
	return "start"
}

// group emits the products of group i of the unit.
func (g *blocksX86) group(i int) {
	g.sum = make([][int8Vectors]reg.VecVirtual, g.h)
	if !g.pairs {
		g.sum = g.newTile()
		g.each(func(r, v int) {
			if g.Least {
				g.VXORPS(g.sum[r][v], g.sum[r][v], g.sum[r][v])
			} else {
				g.start(r, g.sum[r][v])
			}
		})
	}
	g.dots(i*g.Group, g.at.unit.Offset((g.UnitScales()+i*g.groupBytes())*columns(g.width)))
	if g.pairs && !g.Least {
		for r := range g.h {
			s := g.NewV()
			g.start(r, s)
			for v := range int8Vectors {
				g.VPADDD(s, g.sum[r][v], g.sum[r][v])
			}
		}
	}
	g.addGroup(i)
}

// start is what takes off that the weights have no sign. They are larger by 128 where they have
// 8 bits, and by half as much for each bit that they lack.
func (g *blocksX86) start(r int, s reg.VecVirtual) {
	g.VPBROADCASTD(operand.Mem{Base: g.at.scale, Index: g.at.start, Scale: 1, Disp: 4 * r}, s)
	if shift := 8 - g.Bits; shift > 0 {
		g.VPSRAD(operand.U8(uint8(shift)), s, s)
	}
}

// factors loads what belongs to the columns: the number of the block's head at disp, times the
// bytes in the unit at disp, if there are any.
func (g *blocksX86) factors(head, unit int, signed bool) (f columnFactors) {
	for v := range f {
		f[v] = g.NewV()
		g.VCVTPH2PS(operand.Mem{Base: g.at.head, Disp: head*columns(g.width) + v*g.width/2}, f[v])
		if !g.Scales {
			continue
		}
		s, m := g.NewV(), g.at.unit.Offset(unit*columns(g.width)+v*g.width/4)
		if signed {
			g.VPMOVSXBD(m, s)
		} else {
			g.VPMOVZXBD(m, s)
		}
		g.VCVTDQ2PS(s, s)
		g.VMULPS(s, f[v], f[v])
	}
	return f
}

// addGroup adds group n of the unit to the totals: with its scale in the row first, then those
// of the columns, and then what minima make of the sum of A's integers.
func (g *blocksX86) addGroup(n int) {
	g.ofColumns[0] = g.factors(0, n, !g.Least)
	if g.Least {
		g.ofColumns[1] = g.factors(2, WeightBlock/g.Group+n, false)
	}
	for i := range g.h {
		ofRow := g.NewV()
		g.VBROADCASTSS(operand.Mem{Base: g.at.scale, Disp: 4 * i}, ofRow)
		for v := range int8Vectors {
			sum := g.sum[i][v]
			g.VCVTDQ2PS(sum, sum)
			g.VMULPS(ofRow, sum, sum)
			g.VMULPS(g.ofColumns[0][v], sum, sum)
			if g.inMemory {
				g.VADDPS(g.totalAt(i, v*g.width), sum, sum)
			} else {
				g.VADDPS(sum, g.total[i][v], g.total[i][v])
			}
		}
		var offset reg.VecVirtual
		if g.Least {
			offset = g.NewV()
			g.VBROADCASTSS(operand.Mem{Base: g.at.scale, Index: g.at.start, Scale: 1, Disp: 4 * i}, offset)
		}
		for v := range int8Vectors {
			to := g.sum[i][v]
			if !g.inMemory {
				to = g.total[i][v]
			}
			if g.Least {
				product := g.NewV()
				g.VMULPS(g.ofColumns[1][v], offset, product)
				g.VADDPS(product, to, to)
			}
			if g.inMemory {
				g.VMOVUPS(to, g.totalAt(i, v*g.width))
			}
		}
	}
}
