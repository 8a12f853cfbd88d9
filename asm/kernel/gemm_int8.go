package kernel

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// Int8Rows is the height of the tiles of int8 products on x86, on AVX-512 of those that keep their
// sums of floats in the frame twice that.
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

// Int8PanelX86 emits the micro-kernel of int8 products: tiles of rows and two
// vectors of columns. A tile's integer sums stay in registers for a block of k. Then
// they are scaled and added to sums of floats in the frame: rows of C may be far apart, and push
// each other out of the cache.
func Int8PanelX86(dot Int8Dot) func(vec.Machine) {
	return Only(func(x *x86.Machine) {
		g, mr := newInt8X86(x, dot), Int8Rows
		if x.Width() == 16 {
			mr *= 2
		}
		g.beginInFrame(mr)
		g.rows(mr, g.tile)
	})
}

// int8Vectors is the number of vectors of columns.
const int8Vectors = 2

// newInt8X86 is for tiles whose sums of floats are in the registers, where there are enough.
func newInt8X86(x *x86.Machine, dot Int8Dot) int8X86 {
	return int8X86{Machine: x, dot: dot, width: 4 * x.Width(), inMemory: x.Width() < 16}
}

// begin prepares the frame.
func (g *int8X86) begin() {
	frame := g.AllocLocal(32)
	g.m, g.a, g.c, g.scale = frame, frame.Offset(8), frame.Offset(16), frame.Offset(24)
	g.MOVQ(g.Load64("m"), g.m)
	g.MOVQ(g.Load64("a_base"), g.a)
	g.MOVQ(g.Load64("c_base"), g.c)
	g.MOVQ(g.Load64("scale_base"), g.scale)
}

// beginInFrame is begin, with room in the frame for the sums of floats of tiles of up to mr rows.
func (g *int8X86) beginInFrame(mr int) {
	g.inMemory, g.inFrame = true, true
	g.totals = g.AllocLocal((mr*int8Vectors + 1) * g.width)
	g.begin()
}

type int8X86 struct {
	*x86.Machine
	dot   Int8Dot
	width int // bytes of a vector
	// Sums of floats are in registers, or inMemory: in C, or inFrame.
	inMemory, inFrame bool
	totals            operand.Mem   // the place in the frame, not aligned
	m, a, c           operand.Mem   // rows left; the next tile's rows of A and C
	scale             operand.Mem   // and its scales
	far, near         reg.GPVirtual // how many bytes ahead B is fetched

	h       int                           // rows of the tile
	sum     [][int8Vectors]reg.VecVirtual // of integers, in the block
	total   [][int8Vectors]reg.VecVirtual // of floats, in registers
	totalAt func(i, disp int) operand.Mem // of floats in memory, or where they go
}

// rows emits the loop over tiles, and the tiles.
func (g *int8X86) rows(mr int, tile func(label func(what string) string)) {
	deal(g, mr, "", func() vec.Int { return g.IntAt(g.m) }, func(h int, label func(string) string) {
		g.h = h
		g.startTotals(label)
		tile(label)
		g.Context.Commentf("the next rows are %d further", h)
		next := g.GP64()
		g.IMUL3Q(operand.I32(int32(h<<g.dot)), g.Load64("lda"), next)
		g.ADDQ(next, g.a)
		g.IMUL3Q(operand.I32(int32(4*h)), g.Load64("ldc"), next)
		g.ADDQ(next, g.c)
		g.ADDQ(x86.Imm(4*h), g.scale)
		g.SUBQ(x86.Imm(h), g.m)
	})
}

// tile emits a tile.
func (g *int8X86) tile(label func(string) string) {
	a, aBases := g.rowsOfA()
	b, k, block := g.Load64("b_base"), g.Load64("k"), g.Load64("block")
	steps := operand.U8(2 - uint8(g.dot)) // a step is 4 or 2 of k
	g.SHRQ(steps, k)
	g.SHRQ(steps, block)
	scale := g.GP64()
	g.MOVQ(g.scale, scale)
	var start reg.Register // how far a row's start lies from its scale
	if g.dot == DotQuads {
		start = g.Load64("start_base")
		g.SUBQ(g.Load64("scale_base"), start)
	}
	var next reg.Register // what is fetched meanwhile; AVX-512 gains nothing by it
	if g.dot == DotQuads && g.Width() < 16 {
		next = g.behind(b)
	}
	ahead := g.dot == DotQuads && g.Width() == 16 && g.h == 1
	if ahead {
		g.startAhead()
	}
	g.blocks(label, block, k, scale, func(n reg.Register) {
		g.startSums(scale, start)
		const unroll = 4 // k and block are multiples of 16
		g.Label(label("loop"))
		if ahead {
			g.fetchAhead(label("fetched"), operand.Mem{Base: b}, g.stepB(unroll))
		}
		for s := range unroll {
			if next != nil {
				g.fetch(next, s)
			}
			g.step(a, b, s)
		}
		if next != nil {
			g.ADDQ(x86.Imm(g.stepB(unroll)), next)
		}
		for _, r := range aBases {
			g.ADDQ(x86.Imm(4*unroll), r)
		}
		g.ADDQ(x86.Imm(g.stepB(unroll)), b)
		g.SUBQ(x86.Imm(unroll), n)
		g.JNZ(operand.LabelRef(label("loop")))
	})
	g.finish(label)
}

// rowsOfA addresses the tile's rows of A, of bytes or words.
func (g *int8X86) rowsOfA() (row func(i, disp int) operand.Mem, bases []reg.Register) {
	base, lda := g.GP64(), g.Load64("lda")
	g.MOVQ(g.a, base)
	if g.dot == DotPairs {
		g.SHLQ(operand.U8(1), lda)
	}
	return rowsFrom(g.Machine, g.h, base, lda)
}

// blocks emits the loop over blocks of k, which are block long but for the last. sum emits the
// sums of n steps of k; then they are scaled and added to the totals.
func (g *int8X86) blocks(label func(string) string, block operand.Op, k, scale reg.Register, sum func(n reg.Register)) {
	n := g.GP64()
	g.Label(label("block"))
	g.Context.Comment("a block has n of the k steps")
	g.MOVQ(block, n)
	g.CMPQ(k, n)
	g.CMOVQLT(k, n)
	g.SUBQ(n, k)
	sum(n)
	g.scaleSums(scale)
	g.LEAQ(operand.Mem{Base: scale, Index: g.Load64("ldscale"), Scale: 4}, scale)
	g.TESTQ(k, k)
	g.JNZ(operand.LabelRef(label("block")))
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
	c := g.rowsOfC()
	if g.inFrame && g.Width() == 16 { // C is written after the last block
		g.each(func(i, v int) { g.PREFETCHT1(c(i, (v+1)*g.width-4)) })
	}
	fromC, started := operand.LabelRef(label("fromC")), operand.LabelRef(label("started"))
	if !g.inMemory {
		g.total = g.newTile()
		g.each(func(i, v int) { g.VXORPS(g.total[i][v], g.total[i][v], g.total[i][v]) })
		g.CMPQ(g.ParamAddr("add"), x86.Imm(0))
		g.JEQ(started)
		g.each(func(i, v int) { g.VMOVUPS(c(i, v*g.width), g.total[i][v]) })
		g.Label(string(started))
		g.totalAt = c
		return
	}
	g.totalAt = c
	if g.inFrame {
		aligned := g.GP64()
		g.LEAQ(g.totals.Offset(g.width-1), aligned)
		g.ANDQ(x86.Imm(-g.width), aligned)
		g.totalAt = func(i, disp int) operand.Mem { return operand.Mem{Base: aligned, Disp: i*int8Vectors*g.width + disp} }
	}
	g.CMPQ(g.ParamAddr("add"), x86.Imm(0))
	g.JNE(fromC)
	zero := g.NewV()
	g.VXORPS(zero, zero, zero)
	g.each(func(i, v int) { g.VMOVUPS(zero, g.totalAt(i, v*g.width)) })
	if g.inFrame {
		g.JMP(started)
		g.Label(string(fromC))
		g.each(func(i, v int) {
			y := g.NewV()
			g.VMOVUPS(c(i, v*g.width), y)
			g.VMOVUPS(y, g.totalAt(i, v*g.width))
		})
		g.Label(string(started))
		return
	}
	g.Label(string(fromC))
}

// rowsOfC addresses the tile's rows of C.
func (g *int8X86) rowsOfC() func(i, disp int) operand.Mem {
	cBase, ldc := g.GP64(), g.Load64("ldc")
	g.MOVQ(g.c, cBase)
	g.SHLQ(operand.U8(2), ldc)
	row, _ := rowsFrom(g.Machine, g.h, cBase, ldc)
	return row
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

// behind is where B goes on, with what is multiplied next.
func (g *int8X86) behind(b reg.Register) reg.Register {
	next := g.Load64("k")
	g.IMUL3Q(operand.I32(int32(columns(g.width))), next, next)
	g.ADDQ(b, next)
	return next
}

// fetch fetches what is to be step s of B.
func (g *int8X86) fetch(next reg.Register, s int) {
	for line := 0; line < g.stepB(1); line += cacheLine {
		g.PREFETCHT0(operand.Mem{Base: next, Disp: g.stepB(s) + line})
	}
}

// startAhead is for fetchAhead.
func (g *int8X86) startAhead() {
	g.far, g.near = g.Load64("ahead"), g.GP64()
	g.MOVQ(g.far, g.near)
	g.SHRQ(operand.U8(2), g.near)
}

// fetchAhead fetches what lies ahead of n bytes of B, unless nothing is to be, and then goes on at the
// label: far ahead into the second-level cache, and nearer into the first.
func (g *int8X86) fetchAhead(label string, b operand.Mem, n int) {
	g.TESTQ(g.far, g.far)
	g.JZ(operand.LabelRef(label))
	for line := 0; line < n; line += cacheLine {
		g.PREFETCHT1(b.Offset(line).Idx(g.far, 1))
		g.PREFETCHT0(b.Offset(line).Idx(g.near, 1))
	}
	g.Label(label)
}

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
				g.DotBytes(av, bv[v], g.sum[i][v])
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
			if g.inMemory {
				g.VADDPS(g.totalAt(i, v*g.width), sum, sum)
				g.VMOVUPS(sum, g.totalAt(i, v*g.width))
				continue
			}
			g.VADDPS(sum, g.total[i][v], g.total[i][v])
		}
	}
}

// finish multiplies with the scales of the columns and adds their bias, if they are given,
// and stores.
func (g *int8X86) finish(label func(string) string) {
	to := g.totalAt
	if g.inFrame {
		to = g.rowsOfC()
	}
	plain, scaled, end := label("plain"), label("scaled"), label("end")
	n := g.Load64("weight_len")
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(plain))
	n = g.Load64("bias_len")
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(scaled))
	g.store(to, "weight", "bias")
	g.JMP(operand.LabelRef(end))
	g.Label(scaled)
	g.store(to, "weight")
	g.JMP(operand.LabelRef(end))
	g.Label(plain)
	g.store(to)
	g.Label(end)
}

// store writes the totals, multiplied with the first of the parameters, to which the second is
// added, in the same columns.
func (g *int8X86) store(to func(i, disp int) operand.Mem, params ...string) {
	for v := range int8Vectors {
		var rows []reg.VecVirtual
		for _, param := range params {
			row := g.NewV()
			g.VMOVUPS(operand.Mem{Base: g.Load64(param + "_base"), Disp: v * g.width}, row)
			rows = append(rows, row)
		}
		for i := range g.h {
			var y reg.VecVirtual
			if g.inMemory {
				y = g.NewV()
				g.VMOVUPS(g.totalAt(i, v*g.width), y)
			} else {
				y = g.total[i][v]
			}
			if len(rows) > 0 {
				g.VMULPS(rows[0], y, y)
			}
			if len(rows) > 1 {
				g.VADDPS(rows[1], y, y)
			}
			g.VMOVUPS(y, to(i, v*g.width))
		}
	}
}
