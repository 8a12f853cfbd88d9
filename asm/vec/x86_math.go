package vec

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
)

// Arithmetic in the lanes.

// Zero implements Machine.
func (x *X86) Zero() V {
	v := x.NewV()
	x.VXORPS(v, v, v) // avo knows that this does not read v, and not so of VPXORD
	return V{x86: v}
}

// Splat implements Machine.
func (x *X86) Splat(c Const) V {
	if c == 0 {
		return x.Zero()
	}
	v := x.NewV()
	x.VMOVUPS(x.constMem(c), v)
	return V{x86: v}
}

// Copy implements Machine.
func (x *X86) Copy(v V) V {
	w := x.NewV()
	x.VMOVAPS(v.x86, w)
	return V{x86: w}
}

// CopyTo implements Machine.
func (x *X86) CopyTo(dst, src V) { x.VMOVAPS(src.x86, dst.x86) }

// Add implements Machine.
func (x *X86) Add(a V, b Operand) V { w := x.NewV(); x.VADDPS(x.op(b), a.x86, w); return V{x86: w} }

// Sub implements Machine.
func (x *X86) Sub(a V, b Operand) V { w := x.NewV(); x.VSUBPS(x.op(b), a.x86, w); return V{x86: w} }

// Mul implements Machine.
func (x *X86) Mul(a V, b Operand) V { w := x.NewV(); x.VMULPS(x.op(b), a.x86, w); return V{x86: w} }

// Div implements Machine.
func (x *X86) Div(a, b V) V { w := x.NewV(); x.VDIVPS(b.x86, a.x86, w); return V{x86: w} }

// Sqrt implements Machine.
func (x *X86) Sqrt(a V) V { w := x.NewV(); x.VSQRTPS(a.x86, w); return V{x86: w} }

// Max implements Machine.
func (x *X86) Max(a V, b Operand) V { w := x.NewV(); x.VMAXPS(x.op(b), a.x86, w); return V{x86: w} }

// Min implements Machine.
func (x *X86) Min(a V, b Operand) V { w := x.NewV(); x.VMINPS(x.op(b), a.x86, w); return V{x86: w} }

// AddTo implements Machine.
func (x *X86) AddTo(acc V, b Operand) { x.VADDPS(x.op(b), acc.x86, acc.x86) }

// MulTo implements Machine.
func (x *X86) MulTo(acc V, b Operand) { x.VMULPS(x.op(b), acc.x86, acc.x86) }

// MaxTo implements Machine.
func (x *X86) MaxTo(acc V, b Operand) { x.VMAXPS(x.op(b), acc.x86, acc.x86) }

// FMATo implements Machine.
func (x *X86) FMATo(acc, a V, b Operand) { x.VFMADD231PS(x.op(b), a.x86, acc.x86) }

// FMALoad implements Machine.
func (x *X86) FMALoad(acc, a V, p Ptr, off int) { x.VFMADD231PS(at(p, off), a.x86, acc.x86) }

// FNMATo implements Machine.
func (x *X86) FNMATo(acc, a V, b Operand) { x.VFNMADD231PS(x.op(b), a.x86, acc.x86) }

// Horner implements Machine.
func (x *X86) Horner(p, y V, c Operand) V { x.VFMADD213PS(x.op(c), y.x86, p.x86); return p }

// And implements Machine.
func (x *X86) And(a V, b Operand) V { w := x.NewV(); x.VANDPS(x.op(b), a.x86, w); return V{x86: w} }

// Or implements Machine.
func (x *X86) Or(a V, b Operand) V { w := x.NewV(); x.VORPS(x.op(b), a.x86, w); return V{x86: w} }

// Xor implements Machine.
func (x *X86) Xor(a V, b Operand) V { w := x.NewV(); x.VXORPS(x.op(b), a.x86, w); return V{x86: w} }

// AddInt32To implements Machine.
func (x *X86) AddInt32To(acc V, b Operand) { x.VPADDD(x.op(b), acc.x86, acc.x86) }

// SubInt32 implements Machine.
func (x *X86) SubInt32(a V, b Operand) V {
	w := x.NewV()
	x.VPSUBD(x.op(b), a.x86, w)
	return V{x86: w}
}

// ShiftLeft implements Machine.
func (x *X86) ShiftLeft(a V, bits int) V {
	w := x.NewV()
	x.VPSLLD(operand.U8(bits), a.x86, w)
	return V{x86: w}
}

// MaxMagnitudeTo implements Machine. Without a sign, floats compare as integers, and NaNs are above infinity.
func (x *X86) MaxMagnitudeTo(acc V, b Operand) { x.VPMAXSD(x.op(b), acc.x86, acc.x86) }

// Pow2 implements Machine.
func (x *X86) Pow2(biased V) V {
	w := x.NewV()
	x.VPSLLD(operand.U8(23), biased.x86, w)
	return V{x86: w}
}

// Lookup implements Machine.
func (x *X86) Lookup(table []float32) func(index V) V {
	lookup := x.form.lookups[len(table)]
	if lookup == nil {
		return nil
	}
	words := make([]uint32, len(table))
	for i, v := range table {
		words[i] = math.Float32bits(v)
	}
	return lookup(x, x.data(fmt.Sprintf("lookup_%08x_%08x", words[1], words[2]), words))
}

// Pow2Steps implements Machine. biased*n stands in the low bits of biased: moved
// up, its whole part adds to an exponent, and its steps are in the mantissa, where
// the table has them subtracted already.
func (x *X86) Pow2Steps(steps []float32) func(biased V) V {
	up := 23 - bits.TrailingZeros(uint(len(steps)))
	less := make([]float32, len(steps))
	for i, s := range steps {
		less[i] = math.Float32frombits(math.Float32bits(s) - uint32(i)<<up)
	}
	lookup := x.Lookup(less)
	if lookup == nil {
		return nil
	}
	return func(biased V) V {
		w, shifted := lookup(biased), x.NewV()
		x.VPSLLD(operand.U8(up), biased.x86, shifted)
		x.VPADDD(shifted, w.x86, w.x86)
		return w
	}
}

// RoundedFrom implements Machine.
func (x *X86) RoundedFrom(biased, bias V) Rounded {
	if x.form.scales {
		return Rounded{N: x.Sub(biased, bias)}
	}
	return Rounded{Biased: biased}
}

// ScaleByPow2Full implements Machine: 2^N as the product of two powers that
// are normal numbers, N = floor(N/2) + (N - floor(N/2)).
func (x *X86) ScaleByPow2Full(p V, r Rounded) V {
	if x.form.scales {
		w := x.NewV()
		x.VSCALEFPS(r.N.x86, p.x86, w)
		return V{x86: w}
	}
	half, rest, one := x.NewV(), x.NewV(), x.constMem(floatOne)
	x.VPSLLD(operand.U8(10), r.Biased.x86, half) // drop the bias, keep the sign
	x.VPSRAD(operand.U8(11), half, half)         // floor(N/2)
	x.VPSUBD(half, r.Biased.x86, rest)           // N - floor(N/2), still biased
	x.VPSLLD(operand.U8(23), half, half)
	x.VPADDD(one, half, half)
	x.VPSLLD(operand.U8(23), rest, rest)
	x.VPADDD(one, rest, rest)
	x.VMULPS(p.x86, rest, rest)
	x.VMULPS(half, rest, rest)
	return V{x86: rest}
}
