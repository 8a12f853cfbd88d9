package kernel

import (
	"fmt"

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
	g.lda, g.ldb = g.stride("lda"), g.stride("ldb")
	ahead := g.stride("next")
	g.ADDQ(g.Load64("b_base"), ahead)
	g.MOVQ(ahead, g.ahead)
	n := x.Load64("n")
	g.columnMasks(n)
	x.CMPQ(n, vec.Imm(g.lanes))
	x.JLE(operand.LabelRef("tiles_narrow"))
	x.CMPQ(n, vec.Imm(2*g.lanes))
	x.JLT(operand.LabelRef("tiles_masked"))
	x.JGT(operand.LabelRef("tiles_wide"))
	g.vectors = 2
	g.rows("", mr)
	g.vectors = 4
	g.rows("_wide", mr/2)
	g.vectors, g.masked = 2, true
	g.rows("_masked", mr)
	g.vectors = 1
	g.rows("_narrow", max(mr, 12)) // so many sums at least, or they wait for one another
}

// gemmPackX86 emits GemmPack.
func gemmPackX86(x *vec.X86, mr int) {
	g := &gemmX86Gen{X86: x, lanes: x.Width(), vectors: 2}
	frame := x.AllocLocal(16)
	g.a, g.c = frame, frame.Offset(8)
	g.toSlot("a_base", g.a)
	g.toSlot("c_base", g.c)
	g.lda, g.ldb = g.stride("lda"), g.stride("ldb")
	g.packed = g.Load64("dst_base")
	g.tile(mr, "pack")
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
	lda, ldb reg.GPVirtual
	mask     [2]reg.Register
	masked   bool
	vectors  int          // of columns: 2, 1 where the panel is that narrow, 4 where it is wide
	packed   reg.Register // where to store the rows of B; nil if nowhere
}

func (g *gemmX86Gen) toSlot(param string, slot operand.Mem) {
	g.MOVQ(g.Load64(param), slot)
}

// stride loads a leading dimension, in bytes.
func (g *gemmX86Gen) stride(param string) reg.GPVirtual {
	r := g.Load64(param)
	g.SHLQ(operand.U8(2), r)
	return r
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

// rows emits the loop over row tiles, and the tiles.
func (g *gemmX86Gen) rows(suffix string, mr int) {
	ref := func(h int) operand.LabelRef { return operand.LabelRef(fmt.Sprintf("tile%d%s", h, suffix)) }
	again, pick, done := "tiles"+suffix, "pick"+suffix, "done"+suffix

	g.Label(again)
	left := g.GP64()
	g.MOVQ(g.m, left)
	g.CMPQ(left, vec.Imm(2*mr))
	g.JGE(ref(mr))
	g.CMPQ(left, vec.Imm(mr))
	g.JLE(operand.LabelRef(pick))
	g.Context.Comment("between one tile and two: halve, rounding up")
	g.INCQ(left)
	g.SHRQ(operand.U8(1), left)
	g.Label(pick)
	for h := 1; h < mr; h++ {
		g.CMPQ(left, vec.Imm(h))
		if h == 1 {
			g.JLT(operand.LabelRef(done))
		}
		g.JEQ(ref(h))
	}
	for h := mr; h >= 1; h-- {
		g.Label(string(ref(h)))
		g.tile(h, fmt.Sprintf("%d%s", h, suffix))
		g.Context.Commentf("the next rows are %d further", h)
		next := g.GP64()
		g.IMUL3Q(operand.I32(int32(h)), g.lda, next)
		g.ADDQ(next, g.a)
		ldc := g.stride("ldc")
		g.IMUL3Q(operand.I32(int32(h)), ldc, ldc)
		g.ADDQ(ldc, g.c)
		g.SUBQ(vec.Imm(h), g.m)
		g.JMP(operand.LabelRef(again))
	}
	g.Label(done)
	if g.vectors > 1 {
		g.End()
	}
}

// tile emits C[0:h, panel] = alpha * A[0:h, 0:k] * B + beta * C.
func (g *gemmX86Gen) tile(h int, id string) {
	rowBase := func(base, ld reg.Register) func(i, disp int) operand.Mem {
		// Row i is at base3[i/3] + (i%3)*ld: one register for three rows.
		bases := []reg.Register{base}
		if h > 3 {
			ld3 := g.GP64()
			g.LEAQ(operand.Mem{Base: ld, Index: ld, Scale: 2}, ld3)
			for i := 3; i < h; i += 3 {
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
		}
	}
	acc := make([][]reg.VecVirtual, h)
	for i := range acc {
		acc[i] = make([]reg.VecVirtual, g.vectors)
		for j := range acc[i] {
			acc[i][j] = g.NewV()
			g.VXORPS(acc[i][j], acc[i][j], acc[i][j])
		}
	}

	g.Context.Comment("C is needed when k is through; in the first level its rows could push out A's")
	next, ldc := g.GP64(), g.stride("ldc")
	g.MOVQ(g.c, next)
	for range h {
		for line := 0; line < 4*g.lanes*g.vectors; line += cacheLine {
			g.PREFETCHT1(operand.Mem{Base: next, Disp: line})
		}
		g.ADDQ(ldc, next)
	}

	var fetch, pace reg.GPVirtual
	if !g.masked {
		fetch, pace = g.startFetch(h, id)
	}

	// k steps: A pointers advance by the unrolled steps, B by ldb each step.
	aBase, b, k := g.GP64(), g.Load64("b_base"), g.Load64("k")
	g.MOVQ(g.a, aBase)
	a := rowBase(aBase, g.lda)
	bases := []reg.Register{}
	for i := 0; i < h; i += 3 {
		bases = append(bases, a(i, 0).Base)
	}
	wideStep := func(kk int) {
		free := 15 - h*g.vectors // registers but for the sums and one of B
		if g.lanes == 16 {
			free += 16
		}
		av := make([]reg.VecVirtual, min(h, free))
		for i := range av {
			av[i] = g.NewV()
			g.VBROADCASTSS(a(i, 4*kk), av[i])
		}
		for j := range g.vectors {
			bv := g.NewV()
			g.VMOVUPS(operand.Mem{Base: b, Disp: j * g.lanes * 4}, bv)
			g.prefetch(fetch, j)
			for i := range acc {
				if i < len(av) {
					g.VFMADD231PS(bv, av[i], acc[i][j])
				} else {
					g.VFMADD231PS_BCST(a(i, 4*kk), bv, acc[i][j])
				}
			}
		}
		g.ADDQ(g.ldb, b)
		g.ADDQ(pace, fetch)
	}
	step := func(kk int) {
		bv := make([]reg.VecVirtual, g.vectors)
		for j := range bv {
			bv[j] = g.NewV()
			g.loadCols(operand.Mem{Base: b, Disp: j * g.lanes * 4}, j, bv[j])
		}
		if g.packed != nil {
			for j := range bv {
				g.VMOVUPS(bv[j], operand.Mem{Base: g.packed, Disp: (kk*g.vectors + j) * g.lanes * 4})
			}
		}
		if !g.masked {
			for j := range bv {
				g.prefetch(fetch, j)
			}
			g.ADDQ(pace, fetch)
		}
		g.ADDQ(g.ldb, b)
		early, embedded := g.broadcasts()
		av := make([]reg.VecVirtual, h)
		row := 0
		broadcast := func() { // A's element for the next row that takes a register
			for row < h && embedded(row) {
				row++
			}
			if row < h {
				av[row] = g.NewV()
				g.VBROADCASTSS(a(row, 4*kk), av[row])
				row++
			}
		}
		for range early {
			broadcast()
		}
		for i := range h {
			if embedded(i) {
				for j := range bv {
					g.VFMADD231PS_BCST(a(i, 4*kk), bv[j], acc[i][j])
				}
				continue
			}
			for j := range bv {
				g.VFMADD231PS(bv[j], av[i], acc[i][j])
			}
			broadcast()
		}
	}
	if g.vectors > 2 {
		step = wideStep
	}
	unroll := 4
	switch {
	case g.masked:
		unroll = 1
	case h*g.vectors > 14:
		unroll = 2
	}
	loopU, rest, loop1, end := "kloop_"+id, "krest_"+id, "k1_"+id, "kend_"+id
	if unroll > 1 {
		g.SUBQ(vec.Imm(unroll), k)
		g.JLT(operand.LabelRef(rest))
		g.Label(loopU)
		for kk := range unroll {
			step(kk)
		}
		for _, r := range bases {
			g.ADDQ(vec.Imm(4*unroll), r)
		}
		if g.packed != nil {
			g.ADDQ(vec.Imm(unroll*g.vectors*g.lanes*4), g.packed)
		}
		g.SUBQ(vec.Imm(unroll), k)
		g.JGE(operand.LabelRef(loopU))
		g.Label(rest)
		g.ADDQ(vec.Imm(unroll), k)
	} else {
		g.TESTQ(k, k)
	}
	g.JZ(operand.LabelRef(end))
	g.Label(loop1)
	step(0)
	for _, r := range bases {
		g.ADDQ(vec.Imm(4), r)
	}
	if g.packed != nil {
		g.ADDQ(vec.Imm(g.vectors*g.lanes*4), g.packed)
	}
	g.DECQ(k)
	g.JNZ(operand.LabelRef(loop1))
	g.Label(end)
	if !g.masked && g.packed == nil {
		g.MOVQ(fetch, g.ahead)
	}

	cBase := g.GP64()
	g.MOVQ(g.c, cBase)
	c := rowBase(cBase, g.stride("ldc"))
	scaled, plain := "scaled_"+id, "plain_"+id
	g.CMPL(g.ParamAddr("alpha"), operand.U32(0x3f800000)) // 1
	g.JEQ(operand.LabelRef(scaled))
	alpha := g.NewV()
	g.VBROADCASTSS(g.ParamAddr("alpha"), alpha)
	for i := range acc {
		for j := range acc[i] {
			g.VMULPS(alpha, acc[i][j], acc[i][j])
		}
	}
	g.Label(scaled)
	g.Context.Comment("beta = 0 must not read C")
	bits := g.GP32()
	g.MOVL(g.ParamAddr("beta"), bits)
	g.ADDL(bits, bits) // drops the sign: -0 is 0 too
	g.JZ(operand.LabelRef(plain))
	beta := g.NewV()
	g.VBROADCASTSS(g.ParamAddr("beta"), beta)
	for i := range acc {
		for j := range acc[i] {
			old := g.NewV()
			g.loadCols(c(i, j*g.lanes*4), j, old)
			g.VFMADD231PS(old, beta, acc[i][j])
		}
	}
	g.Label(plain)
	for i := range acc {
		for j := range acc[i] {
			g.storeCols(acc[i][j], j, c(i, j*g.lanes*4))
		}
	}
}

// startFetch is where a tile begins to fetch B, and how far it goes on with each
// step of k: see gemmPanel. A tile that packs fetches the panel beside its own, of
// which nobody else would fetch the rows before they are packed.
func (g *gemmX86Gen) startFetch(h int, id string) (fetch, pace reg.GPVirtual) {
	b := g.Load64("b_base")
	fetch, pace = g.GP64(), g.GP64()
	g.MOVQ(g.ldb, pace)
	if g.packed != nil {
		g.LEAQ(operand.Mem{Base: b, Disp: g.vectors * g.lanes * 4}, fetch)
		return fetch, pace
	}
	inPlace, ready := operand.LabelRef("in_place_"+id), operand.LabelRef("ready_"+id)
	g.LEAQ(operand.Mem{Base: b, Index: g.ldb, Scale: prefetchRows}, fetch)
	next := g.stride("next")
	g.CMPQ(next, vec.Imm(0))
	g.JEQ(ready)
	g.CMPQ(g.ParamAddr("pace"), vec.Imm(0))
	g.JEQ(inPlace)
	g.MOVQ(g.Load64("pace"), pace)
	g.MOVQ(g.ahead, fetch)
	g.JMP(ready)
	g.Label(string(inPlace))
	g.CMPQ(g.m, vec.Imm(h))
	g.JNE(ready)
	g.LEAQ(operand.Mem{Base: b, Index: next, Scale: 1}, fetch)
	g.Label(string(ready))
	return fetch, pace
}

// prefetch fetches vector j of a row of B.
func (g *gemmX86Gen) prefetch(row reg.Register, j int) {
	if disp := j * g.lanes * 4; disp%cacheLine == 0 {
		g.PREFETCHT1(operand.Mem{Base: row, Disp: disp})
	}
}

// broadcasts tells how the elements of A reach the multiply-adds: how many are
// broadcast into registers ahead of their use, and for which rows each
// multiply-add broadcasts its own operand. That form loads the element twice,
// and by itself is bound by the two load ports (30 loads for 14 cycles of
// multiply-adds); none of it leaves more instructions to start. A third of the
// rows, with two broadcasts ahead, runs at the multiply-adds' bound in the model
// of Skylake-X (make static-estimates); Zen 4 runs all of these alike.
func (g *gemmX86Gen) broadcasts() (ahead int, embedded func(row int) bool) {
	if g.lanes < 16 {
		return 1, func(int) bool { return false }
	}
	return 2, func(row int) bool { return row%3 == 2 }
}

// loadCols loads vector j of a row of the panel, only the columns present.
func (g *gemmX86Gen) loadCols(m operand.Mem, j int, v reg.VecVirtual) {
	if g.masked {
		g.LoadMasked(m, g.mask[j], v)
		return
	}
	g.VMOVUPS(m, v)
}

// storeCols stores vector j of a row of the panel, only the columns present.
func (g *gemmX86Gen) storeCols(v reg.VecVirtual, j int, m operand.Mem) {
	if g.masked {
		g.StoreMasked(v, g.mask[j], m)
		return
	}
	g.VMOVUPS(v, m)
}
