package kernel

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// WeightBlock is how many elements of a column have a scale in common, where they have
// one for each block, as GGUF has it.
const WeightBlock = 32

// BlocksX86 emits the micro-kernel of products with weights in blocks, of 8 bits or of 4:
// tiles of up to mr rows and two vectors of columns. A block of a panel is the scales of
// its columns, as binary16, and the weights without sign, four of a column side by side.
// Of 4 bits, a byte has an element in its lower half, and the one 16 further in the upper.
func BlocksX86(mr, bits int) Body {
	return Body{X86: func(x *vec.X86) {
		g := &blocksX86{int8X86{X86: x, dot: DotQuads, width: 4 * x.Width()}, bits, nil}
		if bits == 4 {
			low, bits := g.NewV(), g.GP32()
			g.MOVL(operand.U32(0x0f0f0f0f), bits)
			g.VPBROADCASTD(bits, low)
			g.low = low
		}
		frame := x.AllocLocal(32)
		g.m, g.a, g.c, g.scale = frame, frame.Offset(8), frame.Offset(16), frame.Offset(24)
		x.MOVQ(x.Load64("m"), g.m)
		x.MOVQ(x.Load64("a_base"), g.a)
		x.MOVQ(x.Load64("c_base"), g.c)
		x.MOVQ(x.Load64("scale_base"), g.scale)
		g.rows(mr, g.blocks)
	}}
}

type blocksX86 struct {
	int8X86
	bits int
	low  reg.VecVirtual // the lower halves of all bytes
}

// blocks emits a tile of h rows.
func (g *blocksX86) blocks(h int) {
	g.h = h
	label := func(what string) string { return fmt.Sprintf("%s%d", what, h) }
	g.startTotals(label)
	aBase, lda := g.GP64(), g.Load64("lda")
	g.MOVQ(g.a, aBase)
	a, aBases := g.rowsFrom(aBase, lda)
	b, k, scale := g.Load64("b_base"), g.Load64("k"), g.GP64()
	g.MOVQ(g.scale, scale)
	start := g.Load64("start_base")
	g.SUBQ(g.Load64("scale_base"), start)
	lds := g.Load64("ldscale")

	g.Label(label("block"))
	g.startSums(scale, start)
	if g.bits == 4 {
		g.Context.Comment("the weights are larger by 8, not 128")
		g.each(func(i, v int) { g.VPSRAD(operand.U8(4), g.sum[i][v], g.sum[i][v]) })
	}
	weights := int8Vectors * g.width / 2 // behind the scales
	for s := range WeightBlock / 4 {
		if g.bits == 8 {
			g.quad(a, 4*s, func(v int) reg.VecVirtual {
				return g.loadWeights(b, weights+(s*int8Vectors+v)*g.width)
			})
			continue
		}
		if s == WeightBlock/8 {
			break
		}
		var both [int8Vectors]reg.VecVirtual
		g.quad(a, 4*s, func(v int) reg.VecVirtual {
			both[v] = g.loadWeights(b, weights+(s*int8Vectors+v)*g.width)
			low := g.NewV()
			g.VPANDD(g.low, both[v], low)
			return low
		})
		g.quad(a, 4*s+WeightBlock/2, func(v int) reg.VecVirtual {
			g.VPSRLD(operand.U8(4), both[v], both[v])
			g.VPANDD(g.low, both[v], both[v])
			return both[v]
		})
	}
	g.addBlock(b, scale)
	for _, r := range aBases {
		g.ADDQ(vec.Imm(WeightBlock), r)
	}
	g.ADDQ(vec.Imm(weights+WeightBlock/4*int8Vectors*g.width*g.bits/8), b)
	g.LEAQ(operand.Mem{Base: scale, Index: lds, Scale: 4}, scale)
	g.SUBQ(vec.Imm(WeightBlock), k)
	g.JNZ(operand.LabelRef(label("block")))
	g.each(func(i, v int) { g.VMOVUPS(g.total[i][v], g.cRow(i, v*g.width)) })
}

func (g *blocksX86) loadWeights(b reg.Register, disp int) reg.VecVirtual {
	v := g.NewV()
	g.VMOVUPS(operand.Mem{Base: b, Disp: disp}, v)
	return v
}

// quad multiplies four elements of each row, from element p on, with the weights.
func (g *blocksX86) quad(a func(i, disp int) operand.Mem, p int, weights func(v int) reg.VecVirtual) {
	var w [int8Vectors]reg.VecVirtual
	for v := range w {
		w[v] = weights(v)
	}
	for i := range g.h {
		x := g.NewV()
		g.VPBROADCASTD(a(i, p), x)
		for v := range w {
			g.VPDPBUSD(x, w[v], g.sum[i][v])
		}
	}
}

// addBlock adds the block to the totals: its scale in the row first, then those of the columns.
func (g *blocksX86) addBlock(b, scale reg.Register) {
	var ofColumns [int8Vectors]reg.VecVirtual
	for v := range ofColumns {
		ofColumns[v] = g.NewV()
		g.VCVTPH2PS(operand.Mem{Base: b, Disp: v * g.width / 2}, ofColumns[v])
	}
	for i := range g.h {
		ofRow := g.NewV()
		g.VBROADCASTSS(operand.Mem{Base: scale, Disp: 4 * i}, ofRow)
		for v := range int8Vectors {
			sum := g.sum[i][v]
			g.VCVTDQ2PS(sum, sum)
			g.VMULPS(ofRow, sum, sum)
			g.VMULPS(ofColumns[v], sum, sum)
			g.VADDPS(sum, g.total[i][v], g.total[i][v])
		}
	}
}
