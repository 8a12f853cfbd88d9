package kernel

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// GemmDot is the product of a few rows of A with rows of B: k runs along the
// vectors, so that neither operand is packed or transposed. A tile of rows of A
// and four rows of B accumulates in registers; four sums are formed together at
// the end. All rows of A take their turn before the next rows of B, which
// therefore come from memory once.
var GemmDot = Body{Any: gemmDot, X86: gemmDotX86}

const dotCols = 4

// gemmDot is GemmDot over the vocabulary, for machines with enough registers
// for a pointer to each row.
func gemmDot(m vec.Machine) {
	const maxRows = 4
	alpha, tail := m.FloatParam("alpha"), m.Tail(m.IntParam("k"))
	b, c, n := m.SlicePtr("b"), m.SlicePtr("c"), m.IntParam("n")
	tile := func(a, to vec.Ptr, rows, cols int) {
		from := func(p vec.Ptr, n int, ld string) []vec.Ptr {
			ptrs := []vec.Ptr{m.CopyPtr(p)}
			for range n - 1 {
				next := m.CopyPtr(ptrs[len(ptrs)-1])
				m.BumpBy(next, m.IntParam(ld))
				ptrs = append(ptrs, next)
			}
			return ptrs
		}
		as, bs, left := from(a, rows, "lda"), from(b, cols, "ldb"), m.IntParam("k")
		acc := make([][]vec.V, rows)
		for i := range acc {
			for range cols {
				acc[i] = append(acc[i], m.Zero())
			}
		}
		step := func(load func(vec.Ptr) vec.V) {
			var av []vec.V
			for _, p := range as {
				av = append(av, load(p))
			}
			for j, p := range bs {
				bv := load(p)
				for i := range av {
					m.FMATo(acc[i][j], av[i], bv)
				}
			}
		}
		m.Loop(left, m.Width(), func() {
			step(func(p vec.Ptr) vec.V { return m.Load(p, 0) })
			for _, p := range append(as, bs...) {
				m.Bump(p, 4*m.Width())
			}
		})
		m.If(left, func() { step(func(p vec.Ptr) vec.V { return m.LoadTail(p, tail, 0) }) })
		row := m.CopyPtr(to)
		for i := range acc {
			for j := range acc[i] {
				m.StoreScalar(row, 4*j, m.Mul(m.ReduceAdd(acc[i][j]), alpha))
			}
			m.BumpBy(row, m.IntParam("ldc"))
		}
	}
	for _, cols := range []int{dotCols, 1} {
		m.Loop(n, cols, func() {
			a, to, left := m.SlicePtr("a"), m.CopyPtr(c), m.IntParam("m")
			for rows := maxRows; rows >= 1; rows-- {
				m.Loop(left, rows, func() {
					tile(a, to, rows, cols)
					for range rows {
						m.BumpBy(a, m.IntParam("lda"))
						m.BumpBy(to, m.IntParam("ldc"))
					}
				})
			}
			for range cols {
				m.BumpBy(b, m.IntParam("ldb"))
			}
			m.Bump(c, 4*cols)
		})
	}
}

// gemmDotX86 is GemmDot where addresses take an index: six rows of A by four of
// B are 24 sums of AVX-512's 32 registers, three by four are 12 of AVX2's 16.
func gemmDotX86(x *vec.X86) {
	maxRows := 3
	if x.Width() == 16 {
		maxRows = 6
	}
	slots := x.AllocLocal(6 * 8)
	var slot [6]operand.Mem
	for i := range slot {
		slot[i] = slots.Offset(8 * i)
	}
	g := &gemmDotX86Gen{X86: x, n: slot[0], b: slot[1], c: slot[2], m: slot[3], a: slot[4], row: slot[5]}
	g.lda, g.ldb = g.stride("lda"), g.stride("ldb")
	rest := g.Load64("k")
	g.ANDQ(vec.Imm(g.Width()-1), rest)
	g.tail = g.LaneMaskSource(rest)
	for _, s := range []struct {
		param string
		to    operand.Mem
	}{{"n", g.n}, {"b_base", g.b}, {"c_base", g.c}} {
		g.MOVQ(g.Load64(s.param), s.to)
	}
	// Fewer than three columns wait for A's loads, so 5 are 3 and 2.
	for _, cols := range []int{4, 3, 2, 1} {
		again, done := fmt.Sprintf("columns%d", cols), fmt.Sprintf("columns%d_done", cols)
		g.Label(again)
		start := fmt.Sprintf("start%d", cols)
		g.CMPQ(g.n, vec.Imm(cols))
		if cols == 4 {
			g.JEQ(operand.LabelRef(start))
			g.CMPQ(g.n, vec.Imm(7))
		}
		g.JLT(operand.LabelRef(done))
		g.Label(start)
		g.MOVQ(g.Load64("m"), g.m)
		g.MOVQ(g.Load64("a_base"), g.a)
		row := g.GP64()
		g.MOVQ(g.c, row)
		g.MOVQ(row, g.row)
		for rows := maxRows; rows >= 1; rows-- {
			id := fmt.Sprintf("%dx%d", rows, cols)
			g.Label("rows" + id)
			g.CMPQ(g.m, vec.Imm(rows))
			g.JLT(operand.LabelRef("done" + id))
			g.tile(rows, cols, id)
			g.advance(g.lda, rows, g.a)
			g.advance(g.stride("ldc"), rows, g.row)
			g.SUBQ(vec.Imm(rows), g.m)
			if rows == maxRows {
				g.JMP(operand.LabelRef("rows" + id))
			}
			g.Label("done" + id)
		}
		g.advance(g.ldb, cols, g.b)
		g.ADDQ(vec.Imm(4*cols), g.c)
		g.SUBQ(vec.Imm(cols), g.n)
		g.JMP(operand.LabelRef(again))
		g.Label(done)
	}
}

type gemmDotX86Gen struct {
	*vec.X86
	n, b, c   operand.Mem // columns left; their rows of B; their place in the first row of C
	m, a, row operand.Mem // rows left; their rows of A; their place in C
	lda, ldb  reg.GPVirtual
	tail      reg.Register
}

// stride loads a leading dimension, in bytes.
func (g *gemmDotX86Gen) stride(param string) reg.GPVirtual {
	r := g.Load64(param)
	g.SHLQ(operand.U8(2), r)
	return r
}

// advance adds n rows to an address in the frame.
func (g *gemmDotX86Gen) advance(ld reg.Register, n int, slot operand.Mem) {
	r := g.GP64()
	g.IMUL3Q(operand.I32(int32(n)), ld, r)
	g.ADDQ(r, slot)
}

// rowAddresses are the addresses of n rows from p, with a register for every
// three: those registers are in bases.
func (g *gemmDotX86Gen) rowAddresses(p operand.Mem, ld reg.Register, n int) (rows []operand.Mem, bases []reg.Register) {
	for i := range n {
		if i%3 == 0 {
			r := g.GP64()
			if i == 0 {
				g.MOVQ(p, r)
			} else {
				g.LEAQ(operand.Mem{Base: bases[len(bases)-1], Index: ld, Scale: 2}, r)
				g.ADDQ(ld, r)
			}
			bases = append(bases, r)
		}
		m := operand.Mem{Base: bases[i/3]}
		if i%3 > 0 {
			m.Index, m.Scale = ld, uint8(i%3)
		}
		rows = append(rows, m)
	}
	return rows, bases
}

func (g *gemmDotX86Gen) tile(h, w int, id string) {
	a, bases := g.rowAddresses(g.a, g.lda, h)
	b, more := g.rowAddresses(g.b, g.ldb, w)
	bases = append(bases, more...)
	acc := make([][]reg.VecVirtual, h)
	for i := range acc {
		for range w {
			v := g.NewV()
			g.VXORPS(v, v, v)
			acc[i] = append(acc[i], v)
		}
	}
	step := func(disp int) {
		av := make([]reg.VecVirtual, h)
		for i := range av {
			av[i] = g.NewV()
			m := a[i]
			m.Disp = disp
			g.VMOVUPS(m, av[i])
		}
		for j := range w {
			bv := g.NewV()
			m := b[j]
			m.Disp = disp
			g.VMOVUPS(m, bv)
			for i := range av {
				g.VFMADD231PS(bv, av[i], acc[i][j])
			}
		}
	}
	bytes := 4 * g.Width()
	unroll := 4
	if h > 2 {
		unroll = 2
	}
	k := g.Load64("k")
	for _, steps := range []int{unroll, 1} {
		top, end := fmt.Sprintf("k%d_%s", steps, id), fmt.Sprintf("kend%d_%s", steps, id)
		g.SUBQ(vec.Imm(steps*g.Width()), k)
		g.JLT(operand.LabelRef(end))
		g.Label(top)
		for s := range steps {
			step(s * bytes)
		}
		for _, r := range bases {
			g.ADDQ(vec.Imm(steps*bytes), r)
		}
		g.SUBQ(vec.Imm(steps*g.Width()), k)
		g.JGE(operand.LabelRef(top))
		g.Label(end)
		g.ADDQ(vec.Imm(steps*g.Width()), k)
	}
	whole := "whole_" + id
	g.JZ(operand.LabelRef(whole))
	// AVX2 has no register left for all of A's vectors and the mask.
	for j := range w {
		bv := g.NewV()
		g.LoadMasked(b[j], g.tail, bv)
		for i := range h {
			av := g.NewV()
			g.LoadMasked(a[i], g.tail, av)
			g.VFMADD231PS(bv, av, acc[i][j])
		}
	}
	g.Label(whole)

	alpha := g.XMM()
	g.VBROADCASTSS(g.ParamAddr("alpha"), alpha)
	out := g.GP64()
	g.MOVQ(g.row, out)
	ldc := g.stride("ldc")
	for i := range acc {
		sum := g.sum(acc[i])
		g.VMULPS(alpha, sum, sum)
		switch to := (operand.Mem{Base: out}); w {
		case 1:
			g.VMOVSS(sum, to)
		case 4:
			g.VMOVUPS(sum, to)
		default:
			g.VMOVLPS(sum, to)
			if w == 3 {
				g.VEXTRACTPS(operand.U8(2), sum, to.Offset(8))
			}
		}
		if i+1 < h {
			g.ADDQ(ldc, out)
		}
	}
}

// sum makes the sums of up to four vectors the lanes of one.
func (g *gemmDotX86Gen) sum(vs []reg.VecVirtual) reg.VecVirtual {
	ys := make([]reg.Register, len(vs))
	for i, v := range vs {
		ys[i] = v.AsY()
		if g.Width() == 16 {
			high := g.YMM()
			g.VEXTRACTF64X4(operand.U8(1), v, high)
			y := g.YMM()
			g.VADDPS(high, v.AsY(), y)
			ys[i] = y
		}
	}
	for len(ys) < 4 {
		ys = append(ys, ys[0])
	}
	ab, cd, all := g.YMM(), g.YMM(), g.YMM()
	g.VHADDPS(ys[1], ys[0], ab)
	g.VHADDPS(ys[3], ys[2], cd)
	g.VHADDPS(cd, ab, all)
	high, sum := g.XMM(), g.XMM()
	g.VEXTRACTF128(operand.U8(1), all, high)
	g.VADDPS(high, all.AsX(), sum)
	return sum
}
