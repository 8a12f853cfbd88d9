package kernel

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// gemmX86 emits the GEMM micro-kernel for AVX2 (6x16) or AVX-512 (14x32).
//
// A tile of mr rows and two vectors of columns stays in registers during the loop over k: each step
// loads two vectors of B, broadcasts one element of A from each row, and makes 2*mr multiply-adds.
// A is read in place, row by row: packing it affects only locality, never layout. The same holds
// for B with the stride ldb. There is a loop for every number of rows up to MR, so that a short
// last tile computes nothing that it does not store. Tiles have nearly equal height: 8 rows at MR =
// 6 are 4 + 4, not 6 + 2.
func gemmX86(x *x86.Machine) {
	mr := x.Tier().Gemm.MR
	g := newGemmX86(x)
	g.ahead, g.anyK = g.slot(), true
	g.lda, g.ldb = g.x.Stride("lda"), g.x.Stride("ldb")
	ahead := g.x.Stride("next")
	g.x.ADDQ(g.x.Load64("b_base"), ahead)
	g.x.MOVQ(ahead, g.ahead)
	n := x.Load64("n")
	x.CMPQ(n, x86.Imm(g.lanes))
	x.JLE(operand.LabelRef("narrow"))
	x.CMPQ(n, x86.Imm(2*g.lanes))
	x.JGT(operand.LabelRef("wide"))
	if !x.Opmasks() {
		x.JLT(operand.LabelRef("masked"))
		g.rows("", mr, x86Columns{vectors: 2})
		g.x.End()
		x.Label("masked")
	}
	x.SUBQ(x86.Imm(g.lanes), n)
	g.rows("_masked", mr, x86Columns{vectors: 2, mask: x.LaneMaskSource(n)})
	g.x.End()
	x.Label("wide")
	g.rows("_wide", mr/2, x86Columns{vectors: 4})
	g.x.End()
	x.Label("narrow")
	g.rows("_narrow", max(mr, 12), x86Columns{vectors: 1, mask: x.LaneMaskSource(n)}) // at least 12 sums, or they wait for one another
}

// gemmPackX86 emits GemmPack: a single tile.
func gemmPackX86(x *x86.Machine) {
	g := newGemmX86(x)
	g.lda, g.ldb = g.x.Stride("lda"), g.x.Stride("ldb")
	mr, packed := x.Tier().Gemm.MR, x.Load64("dst_base")
	t := g.newTile(mr, x86Columns{vectors: 2, packed: packed})
	t.suffix = "pack"
	t.start()
	t.skipSteps(4*t.vectors*g.lanes, packed)
	t.begin(vec.Int{})
	for i := range mr {
		t.beginRow(i)
	}
	t.loops(mr, func(what string) string { return what + t.suffix })
	ended := false
	t.endRows(func(i int) {
		if i == mr-1 && !ended {
			ended = true
			x.End()
		}
	})
}

// gemmHalvesX86 emits GemmPanelFloat16 and GemmPanelBFloat16: the tiles of gemmX86 that are two
// vectors wide. They fetch only their own stream ahead, halvesAhead bytes, and no other panel:
// elements of 16 bits take half the memory traffic.
func gemmHalvesX86(x *x86.Machine, load halves) {
	g := newGemmX86(x)
	g.halves = load
	g.lda, g.ldb = g.x.Stride("lda"), g.x.GP64()
	g.x.MOVQ(operand.U32(uint32(2*2*g.lanes)), g.ldb)
	g.rows("", x.Tier().Gemm.MR, x86Columns{vectors: 2})
}

// attnPanelsX86 emits AttnPanels: the tiles of gemmX86 that are two vectors wide, one panel after
// the other.
func attnPanelsX86(x *x86.Machine) {
	g := newGemmX86(x)
	g.near = true
	g.ahead, g.left = g.slot(), g.slot()
	b, n, c := x.ParamAddr("b_base"), x.ParamAddr("n"), x.ParamAddr("c_base")
	g.lda, g.ldb = g.x.Stride("lda"), g.x.Stride("ldb")
	ahead := g.x.Stride("next")
	g.x.ADDQ(b, ahead)
	g.x.MOVQ(ahead, g.ahead)
	g.x.MOVQ(g.x.Load64("count"), g.left)
	x.Label("panels")
	g.rows("", x.Tier().Gemm.MR, x86Columns{vectors: 2})
	x.Comment("the next panel: the parameters are the callee's")
	x.ADDQ(g.x.Stride("panel"), b)
	x.ADDQ(x86.Imm(2*4*g.lanes), c)
	x.SUBQ(x86.Imm(2*g.lanes), n)
	x.JG(operand.LabelRef("panels"))
}

// gemmPairX86 emits GemmPair: tiles of half the height and twice the width. Their second half
// belongs to the other panel.
func gemmPairX86(x *x86.Machine) {
	g := newGemmX86(x)
	g.near, g.beside = true, true
	g.lda, g.ldb, g.panel = g.x.Stride("lda"), g.x.Stride("ldb"), g.x.Stride("panel")
	g.rows("", x.Tier().Gemm.MR/2, x86Columns{vectors: 4})
}

// gemmNearX86 emits GemmNear. Tiles are as wide as the registers allow for the number of rows, and
// have nearly equal width: 5 vectors are 3 + 2. The last vector of a tile has a mask for the last
// columns; on AVX-512 the last vector of every tile has one, because that costs nothing. If up to
// half a vector of columns is left there, it is multiplied by instructions of half the width, of
// which Zen 4 starts twice as many.
func gemmNearX86(x *x86.Machine) {
	mr := x.Tier().Gemm.MR
	g := newGemmX86(x)
	g.near, g.beside = true, true
	rest := g.slot()
	m, b, n, c := x.ParamAddr("m"), x.ParamAddr("b_base"), x.ParamAddr("n"), x.ParamAddr("c_base")
	g.lda, g.ldb = g.x.Stride("lda"), g.x.Stride("ldb")
	tallest := [...]int{1: max(mr, 12), 2: mr, 3: mr * 2 / 3, 4: mr / 2} // as in gemmPanel for 1, 2 and 4
	shift := operand.U8(bits.TrailingZeros(uint(g.lanes)))
	number := func(v int) reg.GPVirtual {
		r := x.GP64()
		x.MOVQ(operand.I32(int32(v)), r)
		return r
	}
	x.Label("columns")
	most := number(2)
	for v := 3; v <= 4; v++ {
		wider := number(v)
		x.CMPQ(m, x86.Imm(tallest[v]))
		x.CMOVQLE(wider, most)
	}
	left, vectors, half := x.Load64("n"), x.GP64(), x.GP64()
	x.LEAQ(operand.Mem{Base: left, Disp: g.lanes - 1}, vectors)
	x.SHRQ(shift, vectors)
	x.Comment("all that are left, or half of them, or the most")
	x.LEAQ(operand.Mem{Base: vectors, Disp: 1}, half)
	x.SHRQ(operand.U8(1), half)
	x.CMPQ(half, most)
	x.CMOVQGT(most, half)
	x.CMPQ(vectors, most)
	x.CMOVQGT(half, vectors)
	x.Comment("columns of the last vector")
	before, full := x.GP64(), number(g.lanes)
	x.LEAQ(operand.Mem{Base: vectors, Disp: -1}, before)
	x.SHLQ(shift, before)
	x.SUBQ(before, left)
	x.CMPQ(left, full)
	x.CMOVQGT(full, left)
	last := g.x.LaneMaskSource(left)
	tiles := func(kind string, columns x86Columns) {
		name := func(v int) string { return fmt.Sprintf("_%d%s", v, kind) }
		for v := 1; v < len(tallest)-1; v++ {
			x.CMPQ(vectors, x86.Imm(v))
			x.JEQ(operand.LabelRef("vectors" + name(v)))
		}
		for v := len(tallest) - 1; v >= 1; v-- {
			x.Label("vectors" + name(v))
			columns.vectors = v
			g.rows(name(v), tallest[v], columns)
			x.Comment("the next columns: the parameters are the callee's")
			x.ADDQ(x86.Imm(v*4*g.lanes), b)
			x.ADDQ(x86.Imm(v*4*g.lanes), c)
			x.SUBQ(x86.Imm(v*g.lanes), n)
			x.JG(operand.LabelRef("columns"))
			g.x.End()
		}
	}
	if x.Opmasks() {
		x.MOVQ(left, rest)
		tiles("", x86Columns{mask: last, rest: rest})
		return
	}
	x.CMPQ(left, full)
	x.JLT(operand.LabelRef("masked"))
	tiles("", x86Columns{})
	x.Label("masked")
	tiles("_masked", x86Columns{mask: last})
}

func loadFloat16(x *x86.Machine, m operand.Mem, v reg.VecVirtual) { x.VCVTPH2PS(m, v) }

func loadBFloat16(x *x86.Machine, m operand.Mem, v reg.VecVirtual) {
	x.VPMOVZXWD(m, v)
	x.VPSLLD(operand.U8(16), v, v)
}

// rows emits the tiles of some columns and the loop over them.
func (g *gemmX86Gen) rows(suffix string, mr int, columns x86Columns) {
	t := g.newTile(mr, columns)
	t.suffix = suffix
	t.start()
	deal(g.x, mr, suffix, func() vec.Int { return g.x.IntAt(g.m) }, ladders{
		begin: t.begin, beginRow: t.beginRow, sum: t.loops,
		endRows: t.endRows,
		next: func(h vec.Int) {
			rows := h.Reg.(reg.Register)
			g.x.SUBQ(rows, g.m)
			g.x.IMULQ(g.lda, rows)
			g.x.ADDQ(rows, g.a)
			g.x.MOVQ(t.to, g.c)
		},
	})
}
