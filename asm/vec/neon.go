package vec

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/mmcloughlin/avo/gotypes"
)

// What a kernel on arm64 needs of registers, parameters and control flow.

// NEON is the backend for arm64's Advanced SIMD, width 4.
//
// An instruction takes no constant from memory, so operands that are constants
// are kept in registers where there are enough (arm64.Function.Const). Where an
// instruction overwrites one of its operands and that is a constant, it is
// loaded each time: a load is as cheap as the copy that it saves.
type NEON struct {
	*arm64.Function
	labels int
}

// NewNEON is a Machine that emits into f.
func NewNEON(f *arm64.Function) *NEON { return &NEON{Function: f} }

// End returns from the function.
func (x *NEON) End() { x.RET() }

// Width implements Machine.
func (x *NEON) Width() int { return 4 }

// Masking implements Machine.
func (x *NEON) Masking() (Masking, bool) { return nil, false }

func splat(c Const) [4]uint32 { return [4]uint32{uint32(c), uint32(c), uint32(c), uint32(c)} }

// op is b in a register, to be read only.
func (x *NEON) op(b Operand) arm64.Vec {
	if c, ok := b.(Const); ok {
		return x.Const(splat(c))
	}
	return b.(V).neon
}

// NewLabel is a label of its own.
func (x *NEON) NewLabel(what string) string {
	x.labels++
	return fmt.Sprintf("%s%d", what, x.labels)
}

// LoadInt loads an integer, or a slice's base or length, from the arguments into
// a fresh register.
func (x *NEON) LoadInt(c gotypes.Component) arm64.GP {
	r := x.GP()
	x.Function.Load(c, r)
	return r
}

// SlicePtr implements Machine.
func (x *NEON) SlicePtr(name string) Ptr { return Ptr{neon: x.LoadInt(x.Param(name).Base())} }

// SliceLen implements Machine.
func (x *NEON) SliceLen(name string) Int { return Int{neon: x.LoadInt(x.Param(name).Len())} }

// IntParam implements Machine.
func (x *NEON) IntParam(name string) Int { return Int{neon: x.LoadInt(x.Param(name))} }

// FloatFromInt implements Machine.
func (x *NEON) FloatFromInt(n Int) V {
	v := x.V()
	x.SCVTFS(n.neon, v)
	x.VDUP(v.S(0), v.S4())
	return V{neon: v}
}

// FloatParam implements Machine.
func (x *NEON) FloatParam(name string) V {
	v := x.V()
	x.Function.Load(x.Param(name), v)
	x.VDUP(v.S(0), v.S4())
	return V{neon: v}
}

// Return implements Machine.
func (x *NEON) Return(v V) { x.Function.Store(v.neon, x.ReturnIndex(0)) }

// CopyInt implements Machine.
func (x *NEON) CopyInt(n Int) Int {
	r := x.GP()
	x.MOVD(n.neon, r)
	return Int{neon: r}
}

// CopyPtr implements Machine.
func (x *NEON) CopyPtr(p Ptr) Ptr {
	r := x.GP()
	x.MOVD(p.neon, r)
	return Ptr{neon: r}
}

// Subtract implements Machine.
func (x *NEON) Subtract(n Int, k int) { x.SUB(arm64.Imm(k), n.neon, n.neon) }

// SubtractInt implements Machine.
func (x *NEON) SubtractInt(n, k Int) { x.SUB(k.neon, n.neon, n.neon) }

// Raise implements Machine.
func (x *NEON) Raise(n Int, k int) { x.ADD(arm64.Imm(k), n.neon, n.neon) }

// Bump implements Machine.
func (x *NEON) Bump(p Ptr, bytes int) {
	if bytes < 0 {
		x.SUB(arm64.Imm(-bytes), p.neon, p.neon)
		return
	}
	x.ADD(arm64.Imm(bytes), p.neon, p.neon)
}

// BumpBy implements Machine.
func (x *NEON) BumpBy(p Ptr, n Int) { x.BumpBytes(p, n, 4) }

// Loop implements Machine.
func (x *NEON) Loop(n Int, step int, body func()) {
	top, end := x.NewLabel("loop"), x.NewLabel("end")
	x.CMP(arm64.Imm(step), n.neon)
	x.BCond(arm64.LT, end)
	x.Label(top)
	body()
	x.SUB(arm64.Imm(step), n.neon, n.neon)
	x.CMP(arm64.Imm(step), n.neon)
	x.BCond(arm64.GE, top)
	x.Label(end)
}

// If implements Machine.
func (x *NEON) If(n Int, body func()) {
	end := x.NewLabel("end")
	x.CBZ(n.neon, end)
	body()
	x.Label(end)
}

// IfLE implements Machine.
func (x *NEON) IfLE(n Int, limit int, then, else_ func()) {
	other, end := x.NewLabel("else"), x.NewLabel("end")
	x.CMP(arm64.Imm(limit), n.neon)
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
func (x *NEON) Jump(label string) { x.B(label) }

// Compare implements Jumper.
func (x *NEON) Compare(n Int, k int) { x.CMP(arm64.Imm(k), n.neon) }

// BranchIf implements Jumper.
func (x *NEON) BranchIf(c Cond, label string) {
	x.BCond([]arm64.Cond{LT: arm64.LT, LE: arm64.LE, EQ: arm64.EQ, GE: arm64.GE}[c], label)
}

// Halve implements Jumper.
func (x *NEON) Halve(n Int) { x.LSR(arm64.Imm(1), n.neon, n.neon) }

// Value is a vector register as the vocabulary knows it.
func (x *NEON) Value(r arm64.Vec) V { return V{neon: r} }

// IfGreater implements Machine.
func (x *NEON) IfGreater(a, b V, body func()) {
	greater, end := x.GP(), x.NewLabel("end")
	x.FMOVSToGP(x.Greater(a, b).neon, greater)
	x.CBZ(greater, end)
	body()
	x.Label(end)
}
