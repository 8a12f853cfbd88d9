package kernel

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// gemmX86 emits the GEMM micro-kernel for AVX2 (6x16) or AVX-512 (14x32).
//
// A tile of mr rows and two vectors of columns is kept in registers while k
// runs: each step loads two vectors of B, broadcasts one element of A from each
// row, and makes 2*mr multiply-adds. A is read where it lies, row by row, so
// that packing it is a matter of locality and never of layout; the same holds
// for B with the stride ldb. There is a tile for every number of rows up to MR,
// so that a short last tile computes nothing it does not store. Rows are dealt
// to tiles of nearly equal height: 8 rows at MR = 6 are 4 + 4, not 6 + 2.
func gemmX86(x *vec.X86, mr int) {
	g := &gemmX86Gen{X86: x, lanes: x.Width()}
	frame := x.AllocLocal(32)
	g.m, g.a, g.c, g.ahead = frame, frame.Offset(8), frame.Offset(16), frame.Offset(24)
	g.toSlot("m", g.m)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.lda, g.ldb = g.Stride("lda"), g.Stride("ldb")
	ahead := g.Stride("next")
	g.ADDQ(g.Load64("b_base"), ahead)
	g.MOVQ(ahead, g.ahead)
	n := x.Load64("n")
	g.columnMasks(n)
	x.CMPQ(n, vec.Imm(g.lanes))
	x.JLE(operand.LabelRef("tiles_narrow"))
	x.CMPQ(n, vec.Imm(2*g.lanes))
	x.JLT(operand.LabelRef("tiles_masked"))
	x.JGT(operand.LabelRef("tiles_wide"))
	g.rows("", mr, x86Columns{vectors: 2})
	g.End()
	g.rows("_wide", mr/2, x86Columns{vectors: 4})
	g.End()
	g.rows("_masked", mr, x86Columns{vectors: 2, masked: true})
	g.End()
	g.rows("_narrow", max(mr, 12), x86Columns{vectors: 1, masked: true}) // 12 sums at least, or they wait for one another
}

// gemmPackX86 emits GemmPack.
func gemmPackX86(x *vec.X86, mr int) {
	g := &gemmX86Gen{X86: x, lanes: x.Width()}
	frame := x.AllocLocal(16)
	g.a, g.c = frame, frame.Offset(8)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.lda, g.ldb = g.Stride("lda"), g.Stride("ldb")
	packed := g.Load64("dst_base")
	g.tile(mr, func(what string) string { return what + "pack" }, x86Columns{vectors: 2, packed: packed})
}

// halves is how the elements of panels of 16 bits are loaded.
type halves func(x *vec.X86, m operand.Mem, v reg.VecVirtual)

// gemmHalvesX86 emits GemmPanelFloat16 and GemmPanelBFloat16: the tiles of gemmX86 that are two
// vectors wide. Nothing is fetched: half as much comes from memory, in one stream.
func gemmHalvesX86(x *vec.X86, mr int, load halves) {
	g := &gemmX86Gen{X86: x, lanes: x.Width(), halves: load}
	frame := x.AllocLocal(24)
	g.m, g.a, g.c = frame, frame.Offset(8), frame.Offset(16)
	g.toSlot("m", g.m)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.lda, g.ldb = g.Stride("lda"), g.GP64()
	g.MOVQ(operand.U32(uint32(2*2*g.lanes)), g.ldb)
	g.rows("", mr, x86Columns{vectors: 2})
}

// attnPanelsX86 emits AttnPanels: the tiles of gemmX86 that are two vectors wide, panel by panel.
func attnPanelsX86(x *vec.X86, mr int) {
	g := &gemmX86Gen{X86: x, lanes: x.Width(), near: true}
	frame := x.AllocLocal(40)
	g.m, g.a, g.c, g.ahead, g.left = frame, frame.Offset(8), frame.Offset(16), frame.Offset(24), frame.Offset(32)
	b, n, c := x.ParamAddr("b_base"), x.ParamAddr("n"), x.ParamAddr("c_base")
	g.lda, g.ldb = g.Stride("lda"), g.Stride("ldb")
	ahead := g.Stride("next")
	g.ADDQ(b, ahead)
	g.MOVQ(ahead, g.ahead)
	g.toSlot("count", g.left)
	x.Label("panels")
	g.toSlot("m", g.m)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.rows("", mr, x86Columns{vectors: 2})
	x.Comment("the next panel: the parameters are the callee's")
	x.ADDQ(g.Stride("panel"), b)
	x.ADDQ(vec.Imm(2*4*g.lanes), c)
	x.SUBQ(vec.Imm(2*g.lanes), n)
	x.JG(operand.LabelRef("panels"))
}

func loadFloat16(x *vec.X86, m operand.Mem, v reg.VecVirtual) { x.VCVTPH2PS(m, v) }

func loadBFloat16(x *vec.X86, m operand.Mem, v reg.VecVirtual) {
	x.VPMOVZXWD(m, v)
	x.VPSLLD(operand.U8(16), v, v)
}

// prefetchRows is how far ahead a panel that was not fetched by the one before it is
// fetched, into the second-level cache: some 100 cycles at 8 rows of A. In the first
// level, rows a multiple of 4 KiB apart would push each other out. A scale factor of
// an address, so at most 8.
const prefetchRows = 8

// gemmX86Gen carries what all tiles share. What the inner loop does not need
// lives in the frame: 14 rows take five address registers.
type gemmX86Gen struct {
	*vec.X86
	lanes    int
	m, a, c  operand.Mem // rows left; the next tile's rows of A and C
	ahead    operand.Mem // what it fetches of the next panel
	left     operand.Mem // and how many pieces of it
	lda, ldb reg.GPVirtual
	mask     [2]reg.Register
	halves   halves // nil where B is float32
	near     bool   // all of it is in a core's own caches: what is fetched is something else
}

// x86Columns are the columns of a tile.
type x86Columns struct {
	vectors int          // 2, 1 where the panel is that narrow, 4 where it is wide
	masked  bool         // not all lanes are columns
	packed  reg.Register // where to store the rows of B; nil if nowhere
}

func (g *gemmX86Gen) toSlot(param string, slot operand.Mem) {
	g.MOVQ(g.Load64(param), slot)
}

// columnMasks prepares the masks of columns [0, lanes) and [lanes, 2*lanes).
// AVX2 has only 16 vector registers, all taken by the tile: its masks are
// loaded from the table when needed, so only the addresses are kept.
func (g *gemmX86Gen) columnMasks(n reg.Register) {
	zero, width := g.GP64(), g.GP64()
	g.XORQ(zero, zero)
	g.MOVQ(operand.I32(int32(g.lanes)), width)
	for i := range g.mask {
		count := g.GP64()
		g.MOVQ(n, count)
		g.SUBQ(vec.Imm(i*g.lanes), count)
		g.CMOVQLT(zero, count) // below 0: no lane
		g.CMPQ(count, width)
		g.CMOVQGT(width, count)
		g.mask[i] = g.LaneMaskSource(count)
	}
}

// rows emits the tiles of some columns, and the loop over them.
func (g *gemmX86Gen) rows(suffix string, mr int, columns x86Columns) {
	deal(g, mr, suffix, func() vec.Int { return g.IntAt(g.m) }, func(h int, label func(string) string) {
		g.tile(h, label, columns)
		g.Context.Commentf("the next rows are %d further", h)
		next := g.GP64()
		g.IMUL3Q(operand.I32(int32(h)), g.lda, next)
		g.ADDQ(next, g.a)
		ldc := g.Stride("ldc")
		g.IMUL3Q(operand.I32(int32(h)), ldc, ldc)
		g.ADDQ(ldc, g.c)
		g.SUBQ(vec.Imm(h), g.m)
	})
}
