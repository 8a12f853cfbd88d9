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
// A tile of mr rows and two vectors of columns stays in registers during the
// loop over k: each step loads two vectors of B, broadcasts one element of A
// from each row, and makes 2*mr multiply-adds. A is read in place, row by row:
// packing it affects only locality, never layout. The same holds for B with the
// stride ldb. There is a tile for every number of rows up to MR, so that a
// short last tile computes nothing that it does not store. Tiles have nearly
// equal height: 8 rows at MR = 6 are 4 + 4, not 6 + 2.
func gemmX86(x *x86.Machine) {
	mr := x.Tier().Gemm.MR
	g := &gemmX86Gen{x: x, lanes: x.Width()}
	frame := x.AllocLocal(32)
	g.m, g.a, g.c, g.ahead = frame, frame.Offset(8), frame.Offset(16), frame.Offset(24)
	g.toSlot("m", g.m)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.lda, g.ldb = g.x.Stride("lda"), g.x.Stride("ldb")
	ahead := g.x.Stride("next")
	g.x.ADDQ(g.x.Load64("b_base"), ahead)
	g.x.MOVQ(ahead, g.ahead)
	n := x.Load64("n")
	masks := g.columnMasks(n)
	x.CMPQ(n, x86.Imm(g.lanes))
	x.JLE(operand.LabelRef("tiles_narrow"))
	x.CMPQ(n, x86.Imm(2*g.lanes))
	x.JLT(operand.LabelRef("tiles_masked"))
	x.JGT(operand.LabelRef("tiles_wide"))
	g.rows("", mr, x86Columns{vectors: 2})
	g.x.End()
	g.rows("_wide", mr/2, x86Columns{vectors: 4})
	g.x.End()
	g.rows("_masked", mr, x86Columns{vectors: 2, masks: masks})
	g.x.End()
	g.rows("_narrow", max(mr, 12), x86Columns{vectors: 1, masks: masks}) // at least 12 sums, or they wait for one another
}

// gemmPackX86 emits GemmPack.
func gemmPackX86(x *x86.Machine) {
	mr := x.Tier().Gemm.MR
	g := &gemmX86Gen{x: x, lanes: x.Width()}
	frame := x.AllocLocal(16)
	g.a, g.c = frame, frame.Offset(8)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.lda, g.ldb = g.x.Stride("lda"), g.x.Stride("ldb")
	packed := g.x.Load64("dst_base")
	g.tile(mr, func(what string) string { return what + "pack" }, x86Columns{vectors: 2, packed: packed})
}

// halves loads elements of panels of 16 bits.
type halves func(x *x86.Machine, m operand.Mem, v reg.VecVirtual)

// gemmHalvesX86 emits GemmPanelFloat16 and GemmPanelBFloat16: the tiles of gemmX86 that are two
// vectors wide. They fetch only their own stream ahead, halvesAhead bytes, and no other panel:
// elements of 16 bits take half the memory traffic.
func gemmHalvesX86(x *x86.Machine, load halves) {
	mr := x.Tier().Gemm.MR
	g := &gemmX86Gen{x: x, lanes: x.Width(), halves: load}
	frame := x.AllocLocal(24)
	g.m, g.a, g.c = frame, frame.Offset(8), frame.Offset(16)
	g.toSlot("m", g.m)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.lda, g.ldb = g.x.Stride("lda"), g.x.GP64()
	g.x.MOVQ(operand.U32(uint32(2*2*g.lanes)), g.ldb)
	g.rows("", mr, x86Columns{vectors: 2})
}

// attnPanelsX86 emits AttnPanels: the tiles of gemmX86 that are two vectors wide, one panel after the other.
func attnPanelsX86(x *x86.Machine) {
	mr := x.Tier().Gemm.MR
	g := &gemmX86Gen{x: x, lanes: x.Width(), near: true}
	frame := x.AllocLocal(40)
	g.m, g.a, g.c, g.ahead, g.left = frame, frame.Offset(8), frame.Offset(16), frame.Offset(24), frame.Offset(32)
	b, n, c := x.ParamAddr("b_base"), x.ParamAddr("n"), x.ParamAddr("c_base")
	g.lda, g.ldb = g.x.Stride("lda"), g.x.Stride("ldb")
	ahead := g.x.Stride("next")
	g.x.ADDQ(b, ahead)
	g.x.MOVQ(ahead, g.ahead)
	g.toSlot("count", g.left)
	x.Label("panels")
	g.toSlot("m", g.m)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.rows("", mr, x86Columns{vectors: 2})
	x.Comment("the next panel: the parameters are the callee's")
	x.ADDQ(g.x.Stride("panel"), b)
	x.ADDQ(x86.Imm(2*4*g.lanes), c)
	x.SUBQ(x86.Imm(2*g.lanes), n)
	x.JG(operand.LabelRef("panels"))
}

// gemmPairX86 emits GemmPair: tiles of half the height and twice the width. Their second half belongs to the
// other panel.
func gemmPairX86(x *x86.Machine) {
	mr := x.Tier().Gemm.MR
	g := &gemmX86Gen{x: x, lanes: x.Width(), near: true, beside: true}
	frame := x.AllocLocal(24)
	g.m, g.a, g.c = frame, frame.Offset(8), frame.Offset(16)
	g.toSlot("m", g.m)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.lda, g.ldb, g.panel = g.x.Stride("lda"), g.x.Stride("ldb"), g.x.Stride("panel")
	g.rows("", mr/2, x86Columns{vectors: 4})
}

// gemmNearX86 emits GemmNear. Tiles are as wide as the registers allow for the number of rows, and have
// nearly equal width: 5 vectors are 3 + 2. The last vector of a tile has a mask for the last columns;
// on AVX-512 the last vector of every tile has one, because that costs nothing. If up to half a vector
// of columns is left there, it is multiplied by instructions of half the width, of which Zen 4 starts
// twice as many.
func gemmNearX86(x *x86.Machine) {
	mr := x.Tier().Gemm.MR
	g := &gemmX86Gen{x: x, lanes: x.Width(), near: true, beside: true}
	frame := x.AllocLocal(24)
	g.m, g.a, g.c = frame, frame.Offset(8), frame.Offset(16)
	b, n, c := x.ParamAddr("b_base"), x.ParamAddr("n"), x.ParamAddr("c_base")
	g.lda, g.ldb = g.x.Stride("lda"), g.x.Stride("ldb")
	tallest := [...]int{1: max(mr, 12), 2: mr, 3: mr * 2 / 3, 4: mr / 2} // as in gemmPanel for 1, 2 and 4
	shift := operand.U8(bits.TrailingZeros(uint(g.lanes)))
	number := func(v int) reg.GPVirtual {
		r := x.GP64()
		x.MOVQ(operand.I32(int32(v)), r)
		return r
	}
	x.Label("columns")
	g.toSlot("m", g.m)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	most := number(2)
	for v := 3; v <= 4; v++ {
		wider := number(v)
		x.CMPQ(g.m, x86.Imm(tallest[v]))
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
	name := func(v int, kind string) string { return fmt.Sprintf("_%d%s", v, kind) }
	tiles := func(kind string, last reg.Register, half bool) {
		for v := 1; v < len(tallest)-1; v++ {
			x.CMPQ(vectors, x86.Imm(v))
			x.JEQ(operand.LabelRef("vectors" + name(v, kind)))
		}
		for v := len(tallest) - 1; v >= 1; v-- {
			x.Label("vectors" + name(v, kind))
			masks := make([]reg.Register, v)
			masks[v-1] = last
			g.rows(name(v, kind), tallest[v], x86Columns{vectors: v, masks: masks, half: half})
			x.Comment("the next columns: the parameters are the callee's")
			x.ADDQ(x86.Imm(v*4*g.lanes), b)
			x.ADDQ(x86.Imm(v*4*g.lanes), c)
			x.SUBQ(x86.Imm(v*g.lanes), n)
			x.JG(operand.LabelRef("columns"))
			g.x.End()
		}
	}
	if _, free := x.Masking(); free {
		x.CMPQ(left, x86.Imm(g.lanes/2))
		x.JLE(operand.LabelRef("half"))
		tiles("", last, false)
		x.Label("half")
		tiles("_half", last, true)
		return
	}
	x.CMPQ(left, full)
	x.JLT(operand.LabelRef("masked"))
	tiles("", nil, false)
	x.Label("masked")
	tiles("_masked", last, false)
}

func loadFloat16(x *x86.Machine, m operand.Mem, v reg.VecVirtual) { x.VCVTPH2PS(m, v) }

func loadBFloat16(x *x86.Machine, m operand.Mem, v reg.VecVirtual) {
	x.VPMOVZXWD(m, v)
	x.VPSLLD(operand.U8(16), v, v)
}

// prefetchRows is how many rows ahead a panel is fetched into the second-level cache
// if the panel before it did not fetch it: about 100 cycles at 8 rows of A. In the
// first level, rows a multiple of 4 KiB apart would evict each other. It is the
// scale factor of an address, so at most 8.
const prefetchRows = 8

// gemmX86Gen has what all tiles share. Values that the inner loop does not
// need live in the frame: 14 rows take five address registers.
type gemmX86Gen struct {
	x        *x86.Machine
	lanes    int
	m, a, c  operand.Mem // rows left; the next tile's rows of A and C
	ahead    operand.Mem // the part of the next panel that the tile fetches
	left     operand.Mem // the number of pieces of it that are left
	lda, ldb reg.GPVirtual
	halves   halves       // nil where B is float32
	near     bool         // the product is in a core's own caches: the tile fetches other memory,
	beside   bool         // or the columns next to the tile's
	panel    reg.Register // distance from the first two vectors of columns to the second two; nil if they are adjacent
}

// x86Columns describes the columns of a tile.
type x86Columns struct {
	vectors int            // 2; 1 if the panel is narrow, 4 if it is wide
	masks   []reg.Register // of each vector, nil if all its lanes are columns; masks is nil if there is none
	half    bool           // the last vector has no columns in its upper half
	packed  reg.Register   // where to store the rows of B; nil if nowhere
}

func (g *gemmX86Gen) toSlot(param string, slot operand.Mem) {
	g.x.MOVQ(g.x.Load64(param), slot)
}

// columnMasks prepares the masks of columns [0, lanes) and [lanes, 2*lanes).
// AVX2 has only 16 vector registers, all taken by the tile: it keeps only
// the addresses of its masks and loads them from the table when needed.
func (g *gemmX86Gen) columnMasks(n reg.Register) []reg.Register {
	masks := make([]reg.Register, 2)
	zero, width := g.x.GP64(), g.x.GP64()
	g.x.XORQ(zero, zero)
	g.x.MOVQ(operand.I32(int32(g.lanes)), width)
	for i := range masks {
		count := g.x.GP64()
		g.x.MOVQ(n, count)
		g.x.SUBQ(x86.Imm(i*g.lanes), count)
		g.x.CMOVQLT(zero, count) // negative: no lane
		g.x.CMPQ(count, width)
		g.x.CMOVQGT(width, count)
		masks[i] = g.x.LaneMaskSource(count)
	}
	return masks
}

// rows emits the tiles of some columns and the loop over them.
func (g *gemmX86Gen) rows(suffix string, mr int, columns x86Columns) {
	deal(g.x, mr, suffix, func() vec.Int { return g.x.IntAt(g.m) }, func(h int, label func(string) string) {
		g.tile(h, label, columns)
		g.x.Context.Commentf("the next rows are %d further", h)
		next := g.x.GP64()
		g.x.IMUL3Q(operand.I32(int32(h)), g.lda, next)
		g.x.ADDQ(next, g.a)
		ldc := g.x.Stride("ldc")
		g.x.IMUL3Q(operand.I32(int32(h)), ldc, ldc)
		g.x.ADDQ(ldc, g.c)
		g.x.SUBQ(x86.Imm(h), g.m)
	})
}
