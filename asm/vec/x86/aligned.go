package x86

import (
	"github.com/mmcloughlin/avo/operand"

	"github.com/avoformer/avoformer/asm/vec"
)

// This file processes rows in aligned vectors, for the Machine whose masks cost nothing.

// IfAcross implements Masking.
func (x *Machine) IfAcross(ps []vec.Ptr, n vec.Int, least int, then, else_ func()) {
	all, other, end := x.GP64(), x.newLabel("else"), x.newLabel("end")
	x.CMPQ(general(n), Imm(least))
	x.JLT(operand.LabelRef(other))
	x.MOVQ(general(n), all)
	x.SHLQ(operand.U8(2), all)
	for _, p := range ps {
		x.ORQ(general(p), all)
	}
	x.TESTQ(operand.U32(uint32(4*x.Width()/2-1)), all)
	x.JZ(operand.LabelRef(other))
	then()
	x.JMP(operand.LabelRef(end))
	x.Label(other)
	else_()
	x.Label(end)
}

// Misaligned implements Masking.
func (x *Machine) Misaligned(p vec.Ptr) vec.Int {
	n := vec.Int{Reg: general(x.CopyPtr(p))}
	x.ANDQ(Imm(4*x.Width()-1), general(n))
	x.SHRQ(operand.U8(2), general(n))
	return n
}

// BumpBack implements Masking.
func (x *Machine) BumpBack(p vec.Ptr, n vec.Int) {
	by := x.GP64()
	x.MOVQ(general(n), by)
	x.SHLQ(operand.U8(2), by)
	x.SUBQ(by, general(p))
}

// LanesFrom implements Masking.
func (x *Machine) LanesFrom(n vec.Int) vec.Tail {
	k, lanes := x.K(), x.GP64()
	x.MOVQ(operand.I32(-1), lanes)
	x.SHLXQ(general(n), lanes, lanes)
	x.KMOVW(lanes.As32(), k)
	return vec.Tail{Reg: k}
}

// Expand implements Masking.
func (x *Machine) Expand(v vec.V, t vec.Tail) vec.V {
	w := x.NewV()
	x.VEXPANDPS_Z(vector(v), tail(t), w)
	return vec.V{Reg: w}
}

// FinishStream implements Masking.
func (x *Machine) FinishStream() { x.SFENCE() }

// IfTwo implements Masking.
func (x *Machine) IfTwo(ns []vec.Int, body func()) {
	all, end := x.GP64(), x.newLabel("end")
	x.MOVQ(general(ns[0]), all)
	x.SUBQ(Imm(x.Width()+1), all)
	for _, n := range ns[1:] {
		next := x.GP64()
		x.MOVQ(general(n), next)
		x.SUBQ(Imm(x.Width()+1), next)
		x.ANDQ(next, all)
	}
	x.TESTQ(all, all)
	x.JS(operand.LabelRef(end))
	body()
	x.Label(end)
}

// LanesOfTwo implements Masking.
func (x *Machine) LanesOfTwo(n vec.Int) (first, second vec.Tail) {
	a, b, lanes := x.K(), x.K(), x.GP64()
	x.MOVQ(operand.I32(-1), lanes)
	x.BZHIQ(general(n), lanes, lanes)
	x.KMOVW(lanes.As32(), a)
	x.SHRQ(operand.U8(uint8(x.Width())), lanes)
	x.KMOVW(lanes.As32(), b)
	return vec.Tail{Reg: a}, vec.Tail{Reg: b}
}

// AlignedWhole implements Masking: the row is in n/width + 1 vectors if n is a multiple of width or
// one more, wherever it begins, and in one more otherwise.
func (x *Machine) AlignedWhole(n vec.Int) vec.Int {
	whole := x.CopyInt(n)
	x.ADDQ(Imm(x.Width()-2), general(whole))
	x.ANDQ(Imm(-x.Width()), general(whole))
	x.SUBQ(Imm(2*x.Width()), general(whole))
	return whole
}

// AlignedRest implements Masking.
func (x *Machine) AlignedRest(n, before vec.Int) vec.Int {
	rest := x.CopyInt(n)
	x.ADDQ(general(before), general(rest))
	x.SUBQ(general(x.AlignedWhole(n)), general(rest))
	x.SUBQ(Imm(x.Width()), general(rest))
	return rest
}
