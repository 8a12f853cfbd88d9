package kernel

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// gemmDotX86 is GemmDot for addresses with an index. With AVX-512, six rows of A by four of B have
// 24 sums in 32 registers. With AVX2, where the lanes of a sum take two registers, three rows by
// two take 12 of 16 registers, and a single row is multiplied by four.
func gemmDotX86(x *x86.Machine) {
	maxRows := x.Tier().Blocking.DotRows
	slots := x.AllocLocal(3 * 8)
	g := &gemmDotX86Gen{x: x, n: slots, b: slots.Offset(8), c: slots.Offset(16), m: x.GP64(), a: x.GP64(), row: x.GP64()}
	g.lda, g.ldb = g.x.Stride("lda"), g.x.Stride("ldb")
	g.chains = vec.DotLanes / x.Width()
	g.tails()
	for _, s := range []struct {
		param string
		to    operand.Mem
	}{{"n", g.n}, {"b_base", g.b}, {"c_base", g.c}} {
		g.x.MOVQ(g.x.Load64(s.param), s.to)
	}
	// Fewer than three columns wait for A's loads: 5 columns are 3 and 2.
	for _, cols := range []int{4, 3, 2, 1} {
		if cols == 3 && g.chains > 1 || cols == 4 && g.chains > 2 {
			continue // the sums need more registers than there are
		}
		rowsOf := maxRows
		again, done := fmt.Sprintf("columns%d", cols), fmt.Sprintf("columns%d_done", cols)
		g.x.Label(again)
		start := fmt.Sprintf("start%d", cols)
		g.x.CMPQ(g.n, x86.Imm(cols))
		if cols == 4 && g.chains > 1 {
			rowsOf = 1
			g.x.JLT(operand.LabelRef(done))
			g.x.CMPQ(g.x.ParamAddr("m"), x86.Imm(1))
			g.x.JNE(operand.LabelRef(done))
			g.x.JMP(operand.LabelRef(start))
		} else if cols == 4 {
			g.x.JEQ(operand.LabelRef(start))
			g.x.CMPQ(g.n, x86.Imm(7))
		}
		g.x.JLT(operand.LabelRef(done))
		g.x.Label(start)
		g.x.MOVQ(g.x.Load64("m"), g.m)
		g.x.MOVQ(g.x.Load64("a_base"), g.a)
		g.x.MOVQ(g.c, g.row)
		for rows := rowsOf; rows >= 1; rows-- {
			id := fmt.Sprintf("%dx%d", rows, cols)
			g.x.Label("rows" + id)
			g.x.CMPQ(g.m, x86.Imm(rows))
			g.x.JLT(operand.LabelRef("done" + id))
			g.tile(rows, cols, id)
			g.advance(g.lda, rows, g.a)
			g.advance(g.x.Stride("ldc"), rows, g.row)
			g.x.SUBQ(x86.Imm(rows), g.m)
			if rows == rowsOf {
				g.x.JMP(operand.LabelRef("rows" + id))
			}
			g.x.Label("done" + id)
		}
		g.advance(g.ldb, cols, g.b)
		g.x.ADDQ(x86.Imm(4*cols), g.c)
		g.x.SUBQ(x86.Imm(cols), g.n)
		g.x.JMP(operand.LabelRef(again))
		g.x.Label(done)
	}
}

type gemmDotX86Gen struct {
	x         *x86.Machine
	n, b, c   operand.Mem   // columns left; their rows of B; their place in the first row of C
	m, a, row reg.GPVirtual // rows left; their rows of A; their place in C
	lda, ldb  reg.GPVirtual
	chains    int            // vectors per sum
	tail      []reg.Register // masks of the last elements, one for each of these vectors
}

// tails prepares the masks.
func (g *gemmDotX86Gen) tails() {
	rest, none, width := g.x.Load64("k"), g.x.GP64(), g.x.GP64()
	g.x.ANDQ(x86.Imm(vec.DotLanes-1), rest)
	g.x.XORQ(none, none)
	g.x.MOVQ(operand.I32(int32(g.x.Width())), width)
	for range g.chains {
		count := g.x.GP64()
		g.x.MOVQ(rest, count)
		g.x.CMPQ(count, width)
		g.x.CMOVQGT(width, count)
		g.tail = append(g.tail, g.x.LaneMaskSource(count))
		g.x.SUBQ(x86.Imm(g.x.Width()), rest)
		g.x.CMOVQLT(none, rest)
	}
}

// advance adds n rows to an address.
func (g *gemmDotX86Gen) advance(ld reg.Register, n int, address operand.Op) {
	if n == 1 {
		g.x.ADDQ(ld, address)
		return
	}
	r := g.x.GP64()
	if n == 3 {
		g.x.LEAQ(operand.Mem{Base: ld, Index: ld, Scale: 2}, r)
	} else {
		g.x.IMUL3Q(operand.I32(int32(n)), ld, r)
	}
	g.x.ADDQ(r, address)
}

// rowAddresses returns the addresses of n rows, beginning at p. Every three rows share a register,
// which bases lists.
func (g *gemmDotX86Gen) rowAddresses(p operand.Op, ld reg.Register, n int) (rows []operand.Mem, bases []reg.Register) {
	for i := range n {
		if i%3 == 0 {
			r := g.x.GP64()
			if i == 0 {
				g.x.MOVQ(p, r)
			} else {
				g.x.LEAQ(operand.Mem{Base: bases[len(bases)-1], Index: ld, Scale: 2}, r)
				g.x.ADDQ(ld, r)
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

// dotTile is the state of a tile of h rows of A and w of B during its emission.
type dotTile struct {
	*gemmDotX86Gen
	h, w  int
	id    string
	a, b  []operand.Mem  // the next elements of each row
	bases []reg.Register // registers that advance with a and b
	acc   [][][]vec.V    // the lanes of each sum
}

func (g *gemmDotX86Gen) tile(h, w int, id string) {
	t := &dotTile{gemmDotX86Gen: g, h: h, w: w, id: id, acc: make([][][]vec.V, h)}
	var more []reg.Register
	t.a, t.bases = g.rowAddresses(g.a, g.lda, h)
	t.b, more = g.rowAddresses(g.b, g.ldb, w)
	t.bases = append(t.bases, more...)
	for i := range t.acc {
		for range w {
			t.acc[i] = append(t.acc[i], zeroLanes(g.x))
		}
	}
	t.sums()
	t.scaleAndStore()
}

// sums emits the loop over k.
func (t *dotTile) sums() {
	const bytes = 4 * vec.DotLanes
	unroll := 4 / t.chains
	if t.h > 3 {
		unroll = 2 / t.chains
	}
	k := t.x.Load64("k")
	for _, steps := range slices.Compact([]int{unroll, 1}) {
		top, end := fmt.Sprintf("k%d_%s", steps, t.id), fmt.Sprintf("kend%d_%s", steps, t.id)
		t.x.SUBQ(x86.Imm(steps*vec.DotLanes), k)
		t.x.JLT(operand.LabelRef(end))
		t.x.Label(top)
		for s := range steps {
			for chain := range t.chains {
				t.step(s*bytes+4*chain*t.x.Width(), chain)
			}
		}
		for _, r := range t.bases {
			t.x.ADDQ(x86.Imm(steps*bytes), r)
		}
		t.x.SUBQ(x86.Imm(steps*vec.DotLanes), k)
		t.x.JGE(operand.LabelRef(top))
		t.x.Label(end)
		t.x.ADDQ(x86.Imm(steps*vec.DotLanes), k)
	}
	t.x.JZ(operand.LabelRef("whole_" + t.id))
	for chain := range t.chains {
		t.lastStep(4*chain*t.x.Width(), chain)
	}
	t.x.Label("whole_" + t.id)
}

// sum returns the register of one vector of a sum's lanes.
func (t *dotTile) sum(i, j, chain int) reg.Register { return t.acc[i][j][chain].Reg.(reg.VecVirtual) }

// step multiplies a vector of each row, disp bytes after the next one.
func (t *dotTile) step(disp, chain int) {
	av := make([]reg.VecVirtual, t.h)
	for i := range av {
		av[i] = t.x.NewV()
		t.x.VMOVUPS(t.a[i].Offset(disp), av[i])
	}
	for j := range t.w {
		bv := t.x.NewV()
		t.x.VMOVUPS(t.b[j].Offset(disp), bv)
		for i := range av {
			t.x.VFMADD231PS(bv, av[i], t.sum(i, j, chain))
		}
	}
}

// lastStep multiplies the tails. AVX2 has too few registers to hold all of A's vectors and the
// mask.
func (t *dotTile) lastStep(disp, chain int) {
	for j := range t.w {
		bv := t.x.NewV()
		t.x.LoadMasked(t.b[j].Offset(disp), t.tail[chain], bv)
		for i := range t.h {
			av := t.x.NewV()
			t.x.LoadMasked(t.a[i].Offset(disp), t.tail[chain], av)
			t.x.VFMADD231PS(bv, av, t.sum(i, j, chain))
		}
	}
}

// scaleAndStore adds up the lanes, of four sums together in whole rows.
func (t *dotTile) scaleAndStore() {
	alpha := t.x.XMM()
	t.x.VBROADCASTSS(t.x.ParamAddr("alpha"), alpha)
	out := t.x.GP64()
	t.x.MOVQ(t.row, out)
	ldc := t.x.Stride("ldc")
	for left := t.acc; len(left) > 0; {
		rows := min(len(left), 4/t.w)
		sum, zero := t.x.DotSums(slices.Concat(left[:rows]...)).Reg.(reg.VecVirtual).AsX(), t.x.XMM()
		t.x.VXORPS(zero, zero, zero)
		t.x.VFMADD213PS(zero, alpha, sum) // as plusZero
		for i := range rows {
			if i > 0 || len(left) < t.h {
				t.x.ADDQ(ldc, out)
			}
			t.store(sum, i*t.w, operand.Mem{Base: out})
		}
		left = left[rows:]
	}
}

// store writes the sums of a row, beginning with element first of a register.
func (t *dotTile) store(sums reg.Register, first int, to operand.Mem) {
	switch {
	case t.w == 4:
		t.x.VMOVUPS(sums, to)
	case t.w == 3:
		t.x.VMOVLPS(sums, to)
		t.x.VEXTRACTPS(operand.U8(2), sums, to.Offset(8))
	case t.w == 2 && first == 0:
		t.x.VMOVLPS(sums, to)
	case t.w == 2:
		t.x.VMOVHPS(sums, to)
	case first == 0:
		t.x.VMOVSS(sums, to)
	default:
		t.x.VEXTRACTPS(operand.U8(first), sums, to)
	}
}
