package kernel

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// Int8Rows is the height of the tiles of int8 products on x86.
const Int8Rows = 6

// Int8Dot is how a machine multiplies bytes.
type Int8Dot int

// The ways of x86.
const (
	// DotQuads: VPDPBUSD adds four products of a byte of B, without sign, and one of A.
	DotQuads Int8Dot = iota
	// DotPairs: VPMADDWD makes two products of a byte of B and a word of A.
	DotPairs
)

// Int8PanelX86 emits the micro-kernel of int8 products: tiles of up to mr rows and two
// vectors of columns. A tile's integer sums stay in registers for a block of k. Then
// they are scaled and added to sums of floats, which stay in registers too where there
// are enough, and otherwise in C.
func Int8PanelX86(mr int, dot Int8Dot) Body {
	return Body{X86: func(x *vec.X86) {
		g := &int8X86{X86: x, dot: dot, width: 4 * x.Width(), inC: x.Width() < 16}
		frame := x.AllocLocal(32)
		g.m, g.a, g.c, g.scale = frame, frame.Offset(8), frame.Offset(16), frame.Offset(24)
		x.MOVQ(x.Load64("m"), g.m)
		x.MOVQ(x.Load64("a_base"), g.a)
		x.MOVQ(x.Load64("c_base"), g.c)
		x.MOVQ(x.Load64("scale_base"), g.scale)
		g.rows(mr, g.tile)
	}}
}

// int8Vectors is the number of vectors of columns.
const int8Vectors = 2

type int8X86 struct {
	*vec.X86
	dot     Int8Dot
	width   int         // bytes of a vector
	inC     bool        // sums of floats are in C
	m, a, c operand.Mem // rows left; the next tile's rows of A and C
	scale   operand.Mem // and its scales

	h     int // rows of the tile
	cRow  func(i, disp int) operand.Mem
	sum   [][int8Vectors]reg.VecVirtual // of integers, in the block
	total [][int8Vectors]reg.VecVirtual // of floats, unless inC
}

// rows emits the loop over tiles, and the tiles.
func (g *int8X86) rows(mr int, tile func(h int)) {
	ref := func(h int) operand.LabelRef { return operand.LabelRef(fmt.Sprintf("tile%d", h)) }
	g.Label("tiles")
	left := g.GP64()
	g.MOVQ(g.m, left)
	g.CMPQ(left, vec.Imm(2*mr))
	g.JGE(ref(mr))
	g.CMPQ(left, vec.Imm(mr))
	g.JLE(operand.LabelRef("pick"))
	g.Context.Comment("between one tile and two: halve, rounding up")
	g.INCQ(left)
	g.SHRQ(operand.U8(1), left)
	g.Label("pick")
	for h := 1; h < mr; h++ {
		g.CMPQ(left, vec.Imm(h))
		if h == 1 {
			g.JLT(operand.LabelRef("done"))
		}
		g.JEQ(ref(h))
	}
	for h := mr; h >= 1; h-- {
		g.Label(string(ref(h)))
		tile(h)
		g.Context.Commentf("the next rows are %d further", h)
		next := g.GP64()
		g.IMUL3Q(operand.I32(int32(h<<g.dot)), g.Load64("lda"), next)
		g.ADDQ(next, g.a)
		g.IMUL3Q(operand.I32(int32(4*h)), g.Load64("ldc"), next)
		g.ADDQ(next, g.c)
		g.ADDQ(vec.Imm(4*h), g.scale)
		g.SUBQ(vec.Imm(h), g.m)
		g.JMP(operand.LabelRef("tiles"))
	}
	g.Label("done")
}

// tile emits a tile of h rows.
func (g *int8X86) tile(h int) {
	g.h = h
	label := func(what string) string { return fmt.Sprintf("%s%d", what, h) }
	g.startTotals(label)

	aBase, lda := g.GP64(), g.Load64("lda")
	g.MOVQ(g.a, aBase)
	if g.dot == DotPairs {
		g.SHLQ(operand.U8(1), lda)
	}
	a, aBases := g.rowsFrom(aBase, lda)
	b, k, block := g.Load64("b_base"), g.Load64("k"), g.Load64("block")
	steps := operand.U8(2 - uint8(g.dot)) // a step is 4 or 2 of k
	g.SHRQ(steps, k)
	g.SHRQ(steps, block)
	scale, n := g.GP64(), g.GP64()
	g.MOVQ(g.scale, scale)
	var start reg.Register // how far a row's start lies from its scale
	if g.dot == DotQuads {
		start = g.Load64("start_base")
		g.SUBQ(g.Load64("scale_base"), start)
	}

	g.Label(label("block"))
	g.Context.Comment("a block has n of the k steps")
	g.MOVQ(block, n)
	g.CMPQ(k, n)
	g.CMOVQLT(k, n)
	g.SUBQ(n, k)
	g.startSums(scale, start)
	const unroll = 4 // k and block are multiples of 16
	g.Label(label("loop"))
	for s := range unroll {
		g.step(a, b, s)
	}
	for _, r := range aBases {
		g.ADDQ(vec.Imm(4*unroll), r)
	}
	g.ADDQ(vec.Imm(g.stepB(unroll)), b)
	g.SUBQ(vec.Imm(unroll), n)
	g.JNZ(operand.LabelRef(label("loop")))
	g.scaleSums(scale)
	lds := g.Load64("ldscale")
	g.LEAQ(operand.Mem{Base: scale, Index: lds, Scale: 4}, scale)
	g.TESTQ(k, k)
	g.JNZ(operand.LabelRef(label("block")))
	g.finish(label)
}

// rowsFrom addresses rows ld bytes apart, three by each of the bases.
func (g *int8X86) rowsFrom(base, ld reg.Register) (row func(i, disp int) operand.Mem, bases []reg.Register) {
	bases = []reg.Register{base}
	if g.h > 3 {
		ld3 := g.GP64()
		g.LEAQ(operand.Mem{Base: ld, Index: ld, Scale: 2}, ld3)
		for i := 3; i < g.h; i += 3 {
			r := g.GP64()
			g.LEAQ(operand.Mem{Base: bases[len(bases)-1], Index: ld3, Scale: 1}, r)
			bases = append(bases, r)
		}
	}
	return func(i, disp int) operand.Mem {
		m := operand.Mem{Base: bases[i/3], Disp: disp}
		if i%3 > 0 {
			m.Index, m.Scale = ld, uint8(i%3)
		}
		return m
	}, bases
}

// each runs do for every vector of the tile.
func (g *int8X86) each(do func(i, v int)) {
	for i := range g.h {
		for v := range int8Vectors {
			do(i, v)
		}
	}
}

func (g *int8X86) newTile() [][int8Vectors]reg.VecVirtual {
	t := make([][int8Vectors]reg.VecVirtual, g.h)
	for i := range t {
		for v := range t[i] {
			t[i][v] = g.NewV()
		}
	}
	return t
}

// startTotals begins with zeros, or with C.
func (g *int8X86) startTotals(label func(string) string) {
	cBase, ldc := g.GP64(), g.Load64("ldc")
	g.MOVQ(g.c, cBase)
	g.SHLQ(operand.U8(2), ldc)
	g.cRow, _ = g.rowsFrom(cBase, ldc)
	started := operand.LabelRef(label("started"))
	if g.inC {
		g.CMPQ(g.ParamAddr("add"), vec.Imm(0))
		g.JNE(started)
		zero := g.NewV()
		g.VXORPS(zero, zero, zero)
		g.each(func(i, v int) { g.VMOVUPS(zero, g.cRow(i, v*g.width)) })
		g.Label(string(started))
		return
	}
	g.total = g.newTile()
	g.each(func(i, v int) { g.VXORPS(g.total[i][v], g.total[i][v], g.total[i][v]) })
	g.CMPQ(g.ParamAddr("add"), vec.Imm(0))
	g.JEQ(started)
	g.each(func(i, v int) { g.VMOVUPS(g.cRow(i, v*g.width), g.total[i][v]) })
	g.Label(string(started))
}

// startSums begins the sums of a block: with zeros, or where B's bytes are too large by
// 128, with what takes that off.
func (g *int8X86) startSums(scale, start reg.Register) {
	g.sum = g.newTile()
	g.each(func(i, v int) {
		if g.dot == DotQuads {
			g.VPBROADCASTD(operand.Mem{Base: scale, Index: start, Scale: 1, Disp: 4 * i}, g.sum[i][v])
		} else {
			g.VXORPS(g.sum[i][v], g.sum[i][v], g.sum[i][v])
		}
	})
}

// stepB is how many bytes of B some steps take.
func (g *int8X86) stepB(steps int) int { return steps * int8Vectors * g.width >> g.dot }

// step multiplies 4 or 2 elements of each row and column.
func (g *int8X86) step(a func(i, disp int) operand.Mem, b reg.Register, s int) {
	var bv [int8Vectors]reg.VecVirtual
	for v := range bv {
		bv[v] = g.NewV()
		from := operand.Mem{Base: b, Disp: g.stepB(s) + v*g.width>>g.dot}
		if g.dot == DotPairs {
			g.VPMOVSXBW(from, bv[v])
		} else {
			g.VMOVUPS(from, bv[v])
		}
	}
	for i := range g.h {
		av := g.NewV()
		g.VPBROADCASTD(a(i, 4*s), av)
		for v := range bv {
			if g.dot == DotQuads {
				g.VPDPBUSD(av, bv[v], g.sum[i][v])
				continue
			}
			product := av // the last one may overwrite it
			if v < int8Vectors-1 {
				product = g.NewV()
			}
			g.VPMADDWD(av, bv[v], product)
			g.VPADDD(product, g.sum[i][v], g.sum[i][v])
		}
	}
}

// scaleSums adds the block to the totals.
func (g *int8X86) scaleSums(scale reg.Register) {
	for i := range g.h {
		s := g.NewV()
		g.VBROADCASTSS(operand.Mem{Base: scale, Disp: 4 * i}, s)
		for v := range int8Vectors {
			sum := g.sum[i][v]
			g.VCVTDQ2PS(sum, sum)
			g.VMULPS(s, sum, sum)
			if g.inC {
				c := g.cRow(i, v*g.width)
				g.VADDPS(c, sum, sum)
				g.VMOVUPS(sum, c)
				continue
			}
			g.VADDPS(sum, g.total[i][v], g.total[i][v])
		}
	}
}

// finish multiplies with the scales of the columns and adds their bias, if they are given,
// and stores.
func (g *int8X86) finish(label func(string) string) {
	store := operand.LabelRef(label("store"))
	n := g.Load64("weight_len")
	g.TESTQ(n, n)
	g.JZ(store)
	g.withRow("weight", func(w, y reg.VecVirtual) { g.VMULPS(w, y, y) })
	n = g.Load64("bias_len")
	g.TESTQ(n, n)
	g.JZ(store)
	g.withRow("bias", func(b, y reg.VecVirtual) { g.VADDPS(b, y, y) })
	g.Label(string(store))
	if !g.inC {
		g.each(func(i, v int) { g.VMOVUPS(g.total[i][v], g.cRow(i, v*g.width)) })
	}
}

// withRow applies f to every vector of the totals and the one of a row of the parameter in
// the same columns.
func (g *int8X86) withRow(param string, f func(row, y reg.VecVirtual)) {
	from := g.Load64(param + "_base")
	for v := range int8Vectors {
		row := g.NewV()
		g.VMOVUPS(operand.Mem{Base: from, Disp: v * g.width}, row)
		for i := range g.h {
			if !g.inC {
				f(row, g.total[i][v])
				continue
			}
			y := g.NewV()
			g.VMOVUPS(g.cRow(i, v*g.width), y)
			f(row, y)
			g.VMOVUPS(y, g.cRow(i, v*g.width))
		}
	}
}
