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
// What is taken off depends on a row of A or a column of B alone. So VPMADDWD, of which two
// start at a time, is needed for half of the products, and the other half becomes two
// additions of words, of which four do. Sums of integers are exact in any order.

// Int8WinogradRows is the height of the tiles: two sums of words take two registers more.
const Int8WinogradRows = 4

// WinogradGroup is a group of elements of k. One of its first half goes with the one half a group
// further on, so that both are the same lanes of two vectors.
const WinogradGroup = 32

// Int8WinogradX86 emits the micro-kernel. A and B have words.
func Int8WinogradX86() func(vec.Machine) {
	return Only(func(x *x86.Machine) {
		g := &winograd{newInt8X86(x, DotPairs)}
		g.beginInFrame(Int8WinogradRows)
		g.rows(Int8WinogradRows, g.tile)
	})
}

type winograd struct{ int8X86 }

// tile emits a tile.
func (g *winograd) tile(label func(string) string) {
	a, aBases := g.rowsOfA()
	b, k, scale, ofColumns := g.Load64("b_base"), g.Load64("k"), g.GP64(), g.Load64("ofColumns_base")
	g.MOVQ(g.scale, scale)
	ofRows := g.Load64("ofRows_base") // how far it lies from the scales
	g.SUBQ(g.Load64("scale_base"), ofRows)
	g.blocks(label, operand.U32(Int8Block), k, scale, func(n reg.Register) {
		g.sum = g.newTile()
		for i := range g.h {
			row := g.NewV()
			g.VPBROADCASTD(operand.Mem{Base: scale, Index: ofRows, Scale: 1, Disp: 4 * i}, row)
			for v := range int8Vectors {
				g.VPADDD(operand.Mem{Base: ofColumns, Disp: v * g.width}, row, g.sum[i][v])
			}
		}
		g.ADDQ(x86.Imm(int8Vectors*g.width), ofColumns)
		g.Label(label("loop"))
		for s := range WinogradGroup / 4 {
			g.quad(a, b, s)
		}
		for _, r := range aBases {
			g.ADDQ(x86.Imm(2*WinogradGroup), r)
		}
		g.ADDQ(x86.Imm(WinogradGroup/2*int8Vectors*g.width), b)
		g.SUBQ(x86.Imm(WinogradGroup), n)
		g.JNZ(operand.LabelRef(label("loop")))
	})
	g.finish(label)
}

// quad multiplies the elements 2s and 2s+1 of a group, and those half a group further on.
func (g *winograd) quad(a func(i, disp int) operand.Mem, b reg.Register, s int) {
	const halves = 2
	var bv [halves][int8Vectors]reg.VecVirtual
	for half := range bv {
		for v := range bv[half] {
			bv[half][v] = g.NewV()
			g.VMOVUPS(operand.Mem{Base: b, Disp: ((s+half*WinogradGroup/4)*int8Vectors + v) * g.width}, bv[half][v])
		}
	}
	for i := range g.h {
		a0, a1 := g.NewV(), g.NewV()
		g.VPBROADCASTD(a(i, 4*s), a0)
		g.VPBROADCASTD(a(i, 4*s+WinogradGroup), a1)
		var products [int8Vectors]reg.VecVirtual
		for v := range products {
			p0, p1 := a0, a1 // the last one may overwrite them
			if v < int8Vectors-1 {
				p0, p1 = g.NewV(), g.NewV()
			}
			g.VPADDW(bv[1][v], a0, p0)
			g.VPADDW(bv[0][v], a1, p1)
			g.VPMADDWD(p0, p1, p0)
			products[v] = p0
		}
		for v, p := range products {
			g.VPADDD(p, g.sum[i][v], g.sum[i][v])
		}
	}
}

// WinogradRowsX86 emits what is taken off for rows of A, for each block of Int8Block elements.
func WinogradRowsX86() func(vec.Machine) {
	return Only(func(x *x86.Machine) {
		rows, to, lda := x.Load64("a_base"), x.Load64("ofRows_base"), x.Load64("lda")
		x.Loop(x.IntParam("rows"), 1, func() {
			a, start := x.GP64(), x.GP64()
			x.MOVQ(rows, a)
			x.MOVQ(to, start)
			int8Blocks(x, func(eachGroup func(func())) {
				sum := x.YMM()
				x.VPXOR(sum, sum, sum)
				eachGroup(func() {
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
				x.VMOVD(low, operand.Mem{Base: start})
				x.LEAQ(operand.Mem{Base: start, Index: x.Load64("ldscale"), Scale: 4}, start)
			})
			x.LEAQ(operand.Mem{Base: rows, Index: lda, Scale: 2}, rows)
			x.ADDQ(x86.Imm(4), to)
		})
	})
}

// WinogradColumnsX86 emits a panel of B in words, and what is taken off for its columns, for
// each block of Int8Block elements.
func WinogradColumnsX86() func(vec.Machine) {
	return Only(func(x *x86.Machine) {
		b, dst, start := x.Load64("b_base"), x.Load64("dst_base"), x.Load64("ofColumns_base")
		vector := 4 * x.Width()
		int8Blocks(x, func(eachGroup func(func())) {
			var sums [int8Vectors]reg.VecVirtual
			for v := range sums {
				sums[v] = x.NewV()
				x.VXORPS(sums[v], sums[v], sums[v])
			}
			const half = WinogradGroup / 4 * int8Vectors // vectors of half a group
			eachGroup(func() {
				for i := range half {
					first, second := x.NewV(), x.NewV()
					x.VPMOVSXBW(operand.Mem{Base: b, Disp: i * vector / 2}, first)
					x.VPMOVSXBW(operand.Mem{Base: b, Disp: (i + half) * vector / 2}, second)
					x.VMOVUPS(first, operand.Mem{Base: dst, Disp: i * vector})
					x.VMOVUPS(second, operand.Mem{Base: dst, Disp: (i + half) * vector})
					x.VPMADDWD(first, second, first)
					sum := sums[i%int8Vectors]
					x.VPSUBD(first, sum, sum)
				}
				x.ADDQ(x86.Imm(half*vector), b)
				x.ADDQ(x86.Imm(2*half*vector), dst)
			})
			for v := range sums {
				x.VMOVUPS(sums[v], operand.Mem{Base: start, Disp: v * vector})
			}
			x.ADDQ(x86.Imm(int8Vectors*vector), start)
		})
	})
}

// int8Blocks runs do for whole blocks of the parameter k and for a rest. eachGroup runs what it is
// given for every group of the block.
func int8Blocks(x *x86.Machine, do func(eachGroup func(group func()))) {
	k := x.IntParam("k")
	x.Loop(k, Int8Block, func() {
		do(func(group func()) {
			for range Int8Block / WinogradGroup {
				group()
			}
		})
	})
	x.If(k, func() { do(func(group func()) { x.Loop(k, WinogradGroup, group) }) })
}
