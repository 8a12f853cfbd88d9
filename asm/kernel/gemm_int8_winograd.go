package kernel

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// Products of int8 by Winograd's inner product (IEEE Transactions on Computers C-17, 1968):
//
//	a0*b0 + a1*b1 = (a0+b1)*(a1+b0) - a0*a1 - b0*b1
//
// The subtracted terms depend only on a row of A or only on a column of B. Half of the products
// therefore need VPMADDWD, of which two start per cycle. The other half becomes two additions of
// words, of which four start per cycle. Sums of integers are exact in any order.

// Int8WinogradRows is the height of the tiles. The two sums of words take two more registers.
const Int8WinogradRows = 4

// winogradVectors is the number of vectors of columns in a panel.
const winogradVectors = 2

// WinogradGroup is the size of a group of elements of k. Each element of its first half is paired
// with the element half a group later, which puts both into the same lanes of two vectors.
const WinogradGroup = 32

// Int8Winograd is the micro-kernel. A and B hold words.
var Int8Winograd = Only(func(x *x86.Machine) {
	d := &winograd{x: x}
	t := newIntTile(x, d)
	t.scaled = true
	t.rows(Int8WinogradRows, rowParts{
		begin: func() func(i int) vec.V {
			d.b, d.k, d.ofRows, d.ofColumns = t.SlicePtr("b"), t.IntParam("k"), t.besideScales("ofRows"), t.SlicePtr("ofColumns")
			return nil
		},
		sum:     func() { d.loop(t) },
		endRows: t.endRow,
	})
})

// winograd is pairs with other products.
type winograd struct {
	pairs
	x                    *x86.Machine
	k                    vec.Int
	b, ofRows, ofColumns vec.Ptr
}

func (d *winograd) startRow(t *intTile, i int, _ func(i int) vec.V) {
	row, sums := t.SpreadInt(d.ofRows, 4*i), []vec.V(nil)
	for v := range t.vectors {
		sums = append(sums, d.x.AddIntsAt(row, d.ofColumns, 4*v*t.Width()))
	}
	d.sums = append(d.sums[:i], sums)
}

// loop emits the loop over k.
func (d *winograd) loop(t *intTile) {
	t.Label(t.label("loop"))
	for s := range WinogradGroup / 4 {
		d.quad(t, t.lanes, d.b, s)
	}
	t.lanes.Next(WinogradGroup / 2)
	t.Bump(d.b, 2*WinogradGroup*t.Tier().Gemm.NR)
	t.CountDown(d.k, WinogradGroup, vec.NE, t.label("loop"))
}

// quad multiplies the elements 2s and 2s+1 of a group, and the two elements half a group after
// them.
func (d *winograd) quad(t *intTile, a vec.Lanes, b vec.Ptr, s int) {
	var bv [2][]vec.V // of both halves
	for half := range bv {
		for v := range t.vectors {
			bv[half] = append(bv[half], t.Load(b, 4*((s+half*WinogradGroup/4)*t.Tier().Gemm.NR+v*t.Width())))
		}
	}
	for i := range t.h {
		a0, a1 := vec.V{Reg: a.Lane(i, s).Reg}, vec.V{Reg: a.Lane(i, s+WinogradGroup/4).Reg}
		var products []vec.V
		for v := range t.vectors {
			p0, p1 := a0, a1 // the last product may overwrite them
			if v < t.vectors-1 {
				p0, p1 = d.x.Value(d.x.NewV()), d.x.Value(d.x.NewV())
			}
			d.x.AddWords(bv[1][v], a0, p0)
			d.x.AddWords(bv[0][v], a1, p1)
			d.x.MulWords(p0, p1, p0)
			products = append(products, p0)
		}
		for v, p := range products {
			t.AddInt32To(d.sums[i][v], p)
		}
	}
}

// WinogradRows computes the terms to subtract for rows of A.
var WinogradRows = Only(func(x *x86.Machine) {
	rows, to, lda := x.Load64("a_base"), x.Load64("ofRows_base"), x.Load64("lda")
	x.Loop(x.IntParam("rows"), 1, func() {
		a, sum := x.GP64(), x.YMM()
		x.MOVQ(rows, a)
		x.VPXOR(sum, sum, sum)
		x.Loop(x.IntParam("k"), WinogradGroup, func() {
			products := x.YMM()
			x.VMOVDQU(operand.Mem{Base: a}, products)
			x.VPMADDWD(operand.Mem{Base: a, Disp: WinogradGroup}, products, products)
			x.VPSUBD(products, sum, sum)
			x.ADDQ(x86.Imm(2*WinogradGroup), a)
		})
		low, high := sum.AsX(), x.XMM()
		x.VEXTRACTI128(operand.U8(1), sum, high)
		x.VPADDD(high, low, low)
		for _, swap := range []uint8{0x4e, 0xb1} {
			x.VPSHUFD(operand.U8(swap), low, high)
			x.VPADDD(high, low, low)
		}
		x.VMOVD(low, operand.Mem{Base: to})
		x.LEAQ(operand.Mem{Base: rows, Index: lda, Scale: 2}, rows)
		x.ADDQ(x86.Imm(4), to)
	})
})

// WinogradColumns converts a panel of B to words, and computes the terms to subtract for its
// columns.
var WinogradColumns = Only(func(x *x86.Machine) {
	b, dst, start := x.Load64("b_base"), x.Load64("dst_base"), x.Load64("ofColumns_base")
	vector := 4 * x.Width()
	var sums [winogradVectors]reg.VecVirtual
	for v := range sums {
		sums[v] = x.NewV()
		x.VXORPS(sums[v], sums[v], sums[v])
	}
	const half = WinogradGroup / 4 * winogradVectors // vectors of half a group
	x.Loop(x.IntParam("k"), WinogradGroup, func() {
		for i := range half {
			first, second := x.NewV(), x.NewV()
			x.VPMOVSXBW(operand.Mem{Base: b, Disp: i * vector / 2}, first)
			x.VPMOVSXBW(operand.Mem{Base: b, Disp: (i + half) * vector / 2}, second)
			x.VMOVUPS(first, operand.Mem{Base: dst, Disp: i * vector})
			x.VMOVUPS(second, operand.Mem{Base: dst, Disp: (i + half) * vector})
			x.VPMADDWD(first, second, first)
			sum := sums[i%winogradVectors]
			x.VPSUBD(first, sum, sum)
		}
		x.ADDQ(x86.Imm(half*vector), b)
		x.ADDQ(x86.Imm(2*half*vector), dst)
	})
	for v := range sums {
		x.VMOVUPS(sums[v], operand.Mem{Base: start, Disp: v * vector})
	}
})
