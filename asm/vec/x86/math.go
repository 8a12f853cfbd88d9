package x86

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// This file has arithmetic in the lanes.

// Zero implements Machine.
func (x *Machine) Zero() vec.V {
	v := x.NewV()
	x.VXORPS(v, v, v) // avo knows that this does not read v; it does not know it of VPXORD
	return vec.V{Reg: v}
}

// Splat implements Machine.
func (x *Machine) Splat(c vec.Const) vec.V {
	if c == 0 {
		return x.Zero()
	}
	v := x.NewV()
	x.VBROADCASTSS(x.constant(c), v)
	return vec.V{Reg: v}
}

// KeepConst implements Machine.
func (x *Machine) KeepConst(c vec.Const) vec.Operand {
	if x.Opmasks() {
		return x.Splat(c)
	}
	return c
}

// Copy implements Machine.
func (x *Machine) Copy(v vec.V) vec.V {
	w := x.NewV()
	x.VMOVAPS(vector(v), w)
	return vec.V{Reg: w}
}

// CopyTo implements Machine.
func (x *Machine) CopyTo(dst, src vec.V) { x.VMOVAPS(vector(src), vector(dst)) }

// Add implements Machine.
func (x *Machine) Add(a vec.V, b vec.Operand) vec.V {
	w := x.NewV()
	x.with(b, vector(a), w, x.VADDPS, x.VADDPS_BCST)
	return vec.V{Reg: w}
}

// Sub implements Machine.
func (x *Machine) Sub(a vec.V, b vec.Operand) vec.V {
	w := x.NewV()
	x.with(b, vector(a), w, x.VSUBPS, x.VSUBPS_BCST)
	return vec.V{Reg: w}
}

// Mul implements Machine.
func (x *Machine) Mul(a vec.V, b vec.Operand) vec.V {
	w := x.NewV()
	x.with(b, vector(a), w, x.VMULPS, x.VMULPS_BCST)
	return vec.V{Reg: w}
}

// Div implements Machine.
func (x *Machine) Div(a, b vec.V) vec.V {
	w := x.NewV()
	x.VDIVPS(vector(b), vector(a), w)
	return vec.V{Reg: w}
}

// Sqrt implements Machine.
func (x *Machine) Sqrt(a vec.V) vec.V { w := x.NewV(); x.VSQRTPS(vector(a), w); return vec.V{Reg: w} }

// Max implements Machine.
func (x *Machine) Max(a vec.V, b vec.Operand) vec.V {
	w := x.NewV()
	x.with(b, vector(a), w, x.VMAXPS, x.VMAXPS_BCST)
	return vec.V{Reg: w}
}

// Least implements Machine.
func (x *Machine) Least(least, y vec.V) vec.V { return x.Max(least, y) }

// Min implements Machine.
func (x *Machine) Min(a vec.V, b vec.Operand) vec.V {
	w := x.NewV()
	x.with(b, vector(a), w, x.VMINPS, x.VMINPS_BCST)
	return vec.V{Reg: w}
}

// AddTo implements Machine.
func (x *Machine) AddTo(acc vec.V, b vec.Operand) {
	x.with(b, vector(acc), vector(acc), x.VADDPS, x.VADDPS_BCST)
}

// MulTo implements Machine.
func (x *Machine) MulTo(acc vec.V, b vec.Operand) {
	x.with(b, vector(acc), vector(acc), x.VMULPS, x.VMULPS_BCST)
}

// MaxTo implements Machine.
func (x *Machine) MaxTo(acc vec.V, b vec.Operand) {
	x.with(b, vector(acc), vector(acc), x.VMAXPS, x.VMAXPS_BCST)
}

// FMATo implements Machine.
func (x *Machine) FMATo(acc, a vec.V, b vec.Operand) {
	x.with(b, vector(a), vector(acc), x.VFMADD231PS, x.VFMADD231PS_BCST)
}

// FMALoad implements Machine.
func (x *Machine) FMALoad(acc, a vec.V, p vec.Ptr, off int) {
	x.VFMADD231PS(at(p, off), vector(a), vector(acc))
}

// FNMATo implements Machine.
func (x *Machine) FNMATo(acc, a vec.V, b vec.Operand) {
	x.with(b, vector(a), vector(acc), x.VFNMADD231PS, x.VFNMADD231PS_BCST)
}

// Horner implements Machine.
func (x *Machine) Horner(p, y vec.V, c vec.Operand) vec.V {
	x.with(c, vector(y), vector(p), x.VFMADD213PS, x.VFMADD213PS_BCST)
	return p
}

// And implements Machine.
func (x *Machine) And(a vec.V, b vec.Operand) vec.V {
	w := x.NewV()
	x.with(b, vector(a), w, x.VANDPS, x.VANDPS_BCST)
	return vec.V{Reg: w}
}

// Or implements Machine.
func (x *Machine) Or(a vec.V, b vec.Operand) vec.V {
	w := x.NewV()
	x.with(b, vector(a), w, x.VORPS, x.VORPS_BCST)
	return vec.V{Reg: w}
}

// Xor implements Machine.
func (x *Machine) Xor(a vec.V, b vec.Operand) vec.V {
	w := x.NewV()
	x.with(b, vector(a), w, x.VXORPS, x.VXORPS_BCST)
	return vec.V{Reg: w}
}

// AddInt32To implements Machine.
func (x *Machine) AddInt32To(acc vec.V, b vec.Operand) {
	x.with(b, vector(acc), vector(acc), x.VPADDD, x.VPADDD_BCST)
}

// SubInt32 implements Machine.
func (x *Machine) SubInt32(a vec.V, b vec.Operand) vec.V {
	w := x.NewV()
	x.with(b, vector(a), w, x.VPSUBD, x.VPSUBD_BCST)
	return vec.V{Reg: w}
}

// ShiftLeft implements Machine.
func (x *Machine) ShiftLeft(a vec.V, bits int) vec.V {
	w := x.NewV()
	x.VPSLLD(operand.U8(bits), vector(a), w)
	return vec.V{Reg: w}
}

// MaxMagnitudeTo implements Machine. Floats without a sign compare as integers, and NaNs are above
// infinity.
func (x *Machine) MaxMagnitudeTo(acc vec.V, b vec.Operand) {
	x.with(b, vector(acc), vector(acc), x.VPMAXSD, x.VPMAXSD_BCST)
}

// Pow2Steps implements Machine. A register holds the table, once or twice.
func (x *Machine) Pow2Steps(steps [8]float32) func(biased vec.V) vec.V {
	words, width := vec.StepWords(steps), max(x.Width(), len(steps))
	table := x.ofWidth(width)
	x.VMOVUPS(x.data(fmt.Sprintf("steps%d", width), slices.Repeat(words[:], width/len(words))), table)
	lookUp := func(index, w reg.VecVirtual) { x.VPERMPS(table, index, w) }
	if x.Width() < width { // use shorter vectors as parts of a full one
		lookUp = func(index, w reg.VecVirtual) { x.VPERMPS(table, index.AsY(), w.AsY()) }
	}
	return func(biased vec.V) vec.V {
		w, shifted := x.NewV(), x.NewV()
		lookUp(vector(biased), w)
		x.VPSLLD(operand.U8(vec.StepShift), vector(biased), shifted)
		x.VPADDD(shifted, w, w)
		return vec.V{Reg: w}
	}
}

// RoundedFrom implements Machine.
func (x *Machine) RoundedFrom(biased, bias vec.V) vec.Rounded {
	if x.form.scales {
		return vec.Rounded{N: x.Sub(biased, bias)}
	}
	return vec.Rounded{Biased: biased}
}

// ScaleByPow2Full implements Machine: 2^N as the product of two powers that are normal numbers, N =
// floor(N/2) + (N - floor(N/2)).
func (x *Machine) ScaleByPow2Full(p vec.V, r vec.Rounded) vec.V {
	if x.form.scales {
		w := x.NewV()
		x.VSCALEFPS(vector(r.N), vector(p), w)
		return vec.V{Reg: w}
	}
	half, rest, one := x.NewV(), x.NewV(), x.constMem(vec.One)
	x.VPSLLD(operand.U8(10), vector(r.Biased), half) // drop the bias, keep the sign
	x.VPSRAD(operand.U8(11), half, half)             // floor(N/2)
	x.VPSUBD(half, vector(r.Biased), rest)           // N - floor(N/2), still biased
	x.VPSLLD(operand.U8(23), half, half)
	x.VPADDD(one, half, half)
	x.VPSLLD(operand.U8(23), rest, rest)
	x.VPADDD(one, rest, rest)
	x.VMULPS(vector(p), rest, rest)
	x.VMULPS(half, rest, rest)
	return vec.V{Reg: rest}
}
