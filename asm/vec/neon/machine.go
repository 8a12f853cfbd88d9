// Package neon is the backend of package vec for arm64's Advanced SIMD, over package arm64.
package neon

import (
	"fmt"

	"github.com/mmcloughlin/avo/gotypes"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
)

// This file has registers, parameters and control flow of kernels on arm64.

// Machine emits code for NEON, width 4.
//
// An instruction takes no constant from memory: operands that are constants stay in registers if
// there are enough (arm64.Function.Const). If an instruction overwrites an operand that is a
// constant, the constant is loaded each time: a load is as cheap as the copy that it saves.
type Machine struct {
	*arm64.Function
	vec.Base
	labels int
}

// New returns a Machine that emits into f.
func New(f *arm64.Function) *Machine {
	x := &Machine{Function: f}
	x.Base = vec.NewBase(x, arch.NEON)
	return x
}

// End returns from the function.
func (x *Machine) End() { x.RET() }

func splat(c vec.Const) [4]uint32 { return [4]uint32{uint32(c), uint32(c), uint32(c), uint32(c)} }

// op returns b in a register that must not be written.
func (x *Machine) op(b vec.Operand) arm64.Vec {
	if c, ok := b.(vec.Const); ok {
		return x.Const(splat(c))
	}
	return vector(b.(vec.V))
}

// NewLabel returns a unique label.
func (x *Machine) NewLabel(what string) string {
	x.labels++
	return fmt.Sprintf("%s%d", what, x.labels)
}

// LoadInt loads an integer, or a slice's base or length, from the arguments into a fresh register.
func (x *Machine) LoadInt(c gotypes.Component) arm64.GP {
	r := x.GP()
	x.Function.Load(c, r)
	return r
}

// SlicePtr implements Machine.
func (x *Machine) SlicePtr(name string) vec.Ptr { return vec.Ptr{Reg: x.LoadInt(x.Param(name).Base())} }

// SliceLen implements Machine.
func (x *Machine) SliceLen(name string) vec.Int { return vec.Int{Reg: x.LoadInt(x.Param(name).Len())} }

// IntParam implements Machine.
func (x *Machine) IntParam(name string) vec.Int { return vec.Int{Reg: x.LoadInt(x.Param(name))} }

// FloatFromInt implements Machine.
func (x *Machine) FloatFromInt(n vec.Int) vec.V {
	v := x.V()
	x.SCVTFS(general(n), v)
	x.VDUP(v.S(0), v.S4())
	return vec.V{Reg: v}
}

// FloatParam implements Machine.
func (x *Machine) FloatParam(name string) vec.V {
	v := x.V()
	x.Function.Load(x.Param(name), v)
	x.VDUP(v.S(0), v.S4())
	return vec.V{Reg: v}
}

// Return implements Machine.
func (x *Machine) Return(v vec.V) { x.Function.Store(vector(v), x.ReturnIndex(0)) }

// ReturnInt implements Machine.
func (x *Machine) ReturnInt(n vec.Int) { x.Function.Store(general(n), x.ReturnIndex(0)) }

// CopyInt implements Machine.
func (x *Machine) CopyInt(n vec.Int) vec.Int {
	r := x.GP()
	x.MOVD(general(n), r)
	return vec.Int{Reg: r}
}

// CopyPtr implements Machine.
func (x *Machine) CopyPtr(p vec.Ptr) vec.Ptr {
	r := x.GP()
	x.MOVD(general(p), r)
	return vec.Ptr{Reg: r}
}

// Subtract implements Machine.
func (x *Machine) Subtract(n vec.Int, k int) { x.SUB(arm64.Imm(k), general(n), general(n)) }

// SubtractInt implements Machine.
func (x *Machine) SubtractInt(n, k vec.Int) { x.SUB(general(k), general(n), general(n)) }

// Raise implements Machine.
func (x *Machine) Raise(n vec.Int, k int) { x.ADD(arm64.Imm(k), general(n), general(n)) }

// Bump implements Machine.
func (x *Machine) Bump(p vec.Ptr, bytes int) {
	if bytes < 0 {
		x.SUB(arm64.Imm(-bytes), general(p), general(p))
		return
	}
	x.ADD(arm64.Imm(bytes), general(p), general(p))
}

// Loop implements Machine.
func (x *Machine) Loop(n vec.Int, step int, body func()) {
	top, end := x.NewLabel("loop"), x.NewLabel("end")
	x.CMP(arm64.Imm(step), general(n))
	x.BCond(arm64.LT, end)
	x.Label(top)
	body()
	x.SUB(arm64.Imm(step), general(n), general(n))
	x.CMP(arm64.Imm(step), general(n))
	x.BCond(arm64.GE, top)
	x.Label(end)
}

// If implements Machine.
func (x *Machine) If(n vec.Int, body func()) {
	end := x.NewLabel("end")
	x.CBZ(general(n), end)
	body()
	x.Label(end)
}

// IfLE implements Machine.
func (x *Machine) IfLE(n vec.Int, limit int, then, else_ func()) {
	other, end := x.NewLabel("else"), x.NewLabel("end")
	x.CMP(arm64.Imm(limit), general(n))
	x.BCond(arm64.GT, other)
	then()
	if else_ != nil {
		x.B(end)
	}
	x.Label(other)
	if else_ != nil {
		else_()
		x.Label(end)
	}
}

// Jump implements Jumper.
func (x *Machine) Jump(label string) { x.B(label) }

// Compare implements Jumper.
func (x *Machine) Compare(n vec.Int, k int) { x.CMP(arm64.Imm(k), general(n)) }

// BranchIf implements Jumper.
func (x *Machine) BranchIf(c vec.Cond, label string) {
	x.BCond([]arm64.Cond{vec.LT: arm64.LT, vec.LE: arm64.LE, vec.EQ: arm64.EQ, vec.NE: arm64.NE, vec.GE: arm64.GE}[c], label)
}

// Halve implements Jumper.
func (x *Machine) Halve(n vec.Int, times int) { x.LSR(arm64.Imm(times), general(n), general(n)) }

// Value returns a vector register as a value of package vec.
func (x *Machine) Value(r arm64.Vec) vec.V { return vec.V{Reg: r} }

// IfGreater implements Machine.
func (x *Machine) IfGreater(a, b vec.V, body func()) {
	greater, end := x.GP(), x.NewLabel("end")
	x.FMOVSToGP(mask(x.Greater(a, b)), greater)
	x.CBZ(greater, end)
	body()
	x.Label(end)
}

// IfOutside implements Machine. Compared as unsigned integers, NaN and negative numbers are larger
// than the positive numbers.
func (x *Machine) IfOutside(v vec.V, least, most vec.Const, body func()) {
	bits, low, span, end := x.GP(), x.GP(), x.GP(), x.NewLabel("end")
	x.FMOVSToGP(vector(v), bits)
	x.MOVI(int64(least), low)
	x.SUB(low, bits, bits)
	x.MOVI(int64(most-least), span)
	x.CMP(span, bits)
	x.BCond(arm64.LS, end)
	body()
	x.Label(end)
}

// Leavable implements Machine.
func (x *Machine) Leavable(body func(leave func())) {
	end := x.NewLabel("end")
	body(func() { x.B(end) })
	x.Label(end)
}

// Registers of values.

func vector(v vec.V) arm64.Vec  { return v.Reg.(arm64.Vec) }
func mask(m vec.Mask) arm64.Vec { return m.Reg.(arm64.Vec) }
func tail(t vec.Tail) lanesOf   { return t.Reg.(lanesOf) }

// general returns the register of an integer or an address.
func general[T vec.Int | vec.Ptr](v T) arm64.GP { return struct{ Reg any }(v).Reg.(arm64.GP) }
