package vec

import (
	"github.com/mmcloughlin/avo/operand"
)

// The Machine that masks for nothing: rows in aligned vectors.

// IfAcross implements Masking.
func (x *X86) IfAcross(ps []Ptr, n Int, least int, then, else_ func()) {
	all, other, end := x.GP64(), x.newLabel("else"), x.newLabel("end")
	x.CMPQ(n.x86, Imm(least))
	x.JLT(operand.LabelRef(other))
	x.MOVQ(n.x86, all)
	x.SHLQ(operand.U8(2), all)
	for _, p := range ps {
		x.ORQ(p.x86, all)
	}
	x.TESTQ(operand.U32(uint32(4*x.width/2-1)), all)
	x.JZ(operand.LabelRef(other))
	then()
	x.JMP(operand.LabelRef(end))
	x.Label(other)
	else_()
	x.Label(end)
}

// Misaligned implements Masking.
func (x *X86) Misaligned(p Ptr) Int {
	n := Int{x86: x.CopyPtr(p).x86}
	x.ANDQ(Imm(4*x.width-1), n.x86)
	x.SHRQ(operand.U8(2), n.x86)
	return n
}

// BumpBack implements Masking.
func (x *X86) BumpBack(p Ptr, n Int) {
	by := x.GP64()
	x.MOVQ(n.x86, by)
	x.SHLQ(operand.U8(2), by)
	x.SUBQ(by, p.x86)
}

// LanesFrom implements Masking.
func (x *X86) LanesFrom(n Int) Tail {
	k, lanes := x.K(), x.GP64()
	x.MOVQ(operand.I32(-1), lanes)
	x.SHLXQ(n.x86, lanes, lanes)
	x.KMOVW(lanes.As32(), k)
	return Tail{x86: k}
}

// Expand implements Masking.
func (x *X86) Expand(v V, t Tail) V {
	w := x.NewV()
	x.VEXPANDPS_Z(v.x86, t.x86, w)
	return V{x86: w}
}

// FinishStream implements Masking.
func (x *X86) FinishStream() { x.SFENCE() }

// IfTwo implements Masking.
func (x *X86) IfTwo(ns []Int, body func()) {
	all, end := x.GP64(), x.newLabel("end")
	x.MOVQ(ns[0].x86, all)
	x.SUBQ(Imm(x.width+1), all)
	for _, n := range ns[1:] {
		next := x.GP64()
		x.MOVQ(n.x86, next)
		x.SUBQ(Imm(x.width+1), next)
		x.ANDQ(next, all)
	}
	x.TESTQ(all, all)
	x.JS(operand.LabelRef(end))
	body()
	x.Label(end)
}

// LanesOfTwo implements Masking.
func (x *X86) LanesOfTwo(n Int) (first, second Tail) {
	a, b, lanes := x.K(), x.K(), x.GP64()
	x.MOVQ(operand.I32(-1), lanes)
	x.BZHIQ(n.x86, lanes, lanes)
	x.KMOVW(lanes.As32(), a)
	x.SHRQ(operand.U8(uint8(x.width)), lanes)
	x.KMOVW(lanes.As32(), b)
	return Tail{x86: a}, Tail{x86: b}
}

// AlignedWhole implements Masking: the row is in n/width + 1 vectors if n is a multiple
// of width or one more, wherever it begins, and in one more otherwise.
func (x *X86) AlignedWhole(n Int) Int {
	whole := x.CopyInt(n)
	x.ADDQ(Imm(x.width-2), whole.x86)
	x.ANDQ(Imm(-x.width), whole.x86)
	x.SUBQ(Imm(2*x.width), whole.x86)
	return whole
}

// AlignedRest implements Masking.
func (x *X86) AlignedRest(n, before Int) Int {
	rest := x.CopyInt(n)
	x.ADDQ(before.x86, rest.x86)
	x.SUBQ(x.AlignedWhole(n).x86, rest.x86)
	x.SUBQ(Imm(x.width), rest.x86)
	return rest
}
