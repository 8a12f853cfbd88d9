package kernel

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// The integer products of weights in blocks.
//
// VPDPBUSD adds four products of bytes to a sum. VPMADDUBSW adds two, as a word with a sign,
// which they may exceed if both have 8 bits. So weights of 8 bits are taken as two of 4, and the
// words become sums of 32 bits before they could overflow: 16 products with weights of 4 bits
// make no more than 30720, and 4 with 6 bits no more than 32256.

// dots emits the products of a group: A from element p on, and B at w.
func (g *blocksX86) dots(p int, w operand.Mem) {
	switch g.Bits {
	case 8:
		for s := range g.Group / 4 {
			weights := g.load(w, s)
			if !g.pairs {
				g.quad(p+4*s, weights, 0)
				continue
			}
			g.quad(p+4*s, g.lower(weights), 0)
			g.quad(p+4*s, g.upper(weights), 1)
		}
	case 4:
		for s := range g.Group / 8 {
			weights := g.load(w, s)
			g.quad(p+4*s, g.lower(weights), 0)
			g.quad(p+4*s+g.Group/2, g.upper(weights), 0)
		}
	case 6:
		for s := range g.Group / 4 {
			g.quad(p+4*s, g.sixBits(w, s), 0)
			if s == 1 {
				g.flush()
			}
		}
	}
	g.flush()
}

// load loads row s of the weights: four bytes of each column.
func (g *blocksX86) load(w operand.Mem, s int) (weights columnFactors) {
	for v := range weights {
		weights[v] = g.NewV()
		g.VMOVUPS(w.Offset((s*int8Vectors+v)*g.width), weights[v])
	}
	return weights
}

// lower is the lower 4 bits of the bytes.
func (g *blocksX86) lower(weights columnFactors) (low columnFactors) {
	for v := range low {
		low[v] = g.NewV()
		g.and(g.low, weights[v], low[v])
	}
	return low
}

// upper is the upper 4 bits; the weights are lost.
func (g *blocksX86) upper(weights columnFactors) columnFactors {
	for _, v := range weights {
		g.VPSRLD(operand.U8(4), v, v)
		g.and(g.low, v, v)
	}
	return weights
}

// and is VPAND or VPANDD.
func (g *blocksX86) and(x, y, z reg.VecVirtual) {
	if g.Width() == 16 {
		g.VPANDD(x, y, z)
		return
	}
	g.VPAND(x, y, z)
}

// sixBits puts elements 4s to 4s+3 of each column together: of eight, the lower bits are in the
// lower halves of two rows of bytes, and those of the others in the upper ones; the upper bits
// of all are in the row behind.
func (g *blocksX86) sixBits(w operand.Mem, s int) columnFactors {
	weights, high := g.load(w, s%2), g.load(w, 2)
	for v, x := range weights {
		if s/2 == 1 {
			g.VPSRLD(operand.U8(4), x, x)
		}
		g.and(g.low, x, x)
		switch up := high[v]; {
		case s < 2:
			g.VPSLLD(operand.U8(uint8(4-2*s)), up, up)
		case s > 2:
			g.VPSRLD(operand.U8(uint8(2*s-4)), up, up)
		}
		g.and(g.high, high[v], high[v])
		if g.Width() == 16 {
			g.VPORD(high[v], x, x)
		} else {
			g.VPOR(high[v], x, x)
		}
	}
	return weights
}

// quad multiplies four elements of each row, from element p on, with the weights.
func (g *blocksX86) quad(p int, weights columnFactors, of int) {
	words := &g.words[of]
	first := *words == nil
	if first && g.pairs {
		*words = make(blockWords, g.h)
	}
	for i := range g.h {
		x := g.NewV()
		g.VPBROADCASTD(g.at.a(i, p), x)
		for v, w := range weights {
			if !g.pairs {
				g.DotBytes(x, w, g.sum[i][v])
				continue
			}
			product := g.NewV()
			g.VPMADDUBSW(x, w, product)
			if first {
				(*words)[i][v] = product
			} else {
				g.VPADDW(product, (*words)[i][v], (*words)[i][v])
			}
		}
	}
}

// flush adds the sums of words to those of 32 bits.
func (g *blocksX86) flush() {
	for of, one := range []vec.Const{0x00010001, 0x00100010} { // 1, and 16 for the upper 4 bits
		words := g.words[of]
		if words == nil {
			continue
		}
		factor := g.Constant(one)
		g.each(func(i, v int) {
			w := words[i][v]
			g.VPMADDWD(factor, w, w)
			if g.sum[i][v] == nil {
				g.sum[i][v] = w
			} else {
				g.VPADDD(w, g.sum[i][v], g.sum[i][v])
			}
		})
		g.words[of] = nil
	}
}
