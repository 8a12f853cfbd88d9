// Package x86 is the backend of package vec for amd64, over avo.
package x86

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/vec"
)

// This file has registers, parameters and control flow of kernels on amd64.

// Machine is the backend for amd64, over avo. Width 4 and 8 use VEX encodings (AVX2, FMA); width 16
// uses AVX-512 F, BW, DQ and VL with opmasks for tails.
type Machine struct {
	*build.Context
	vec.Base
	form   form
	masks  masks
	leave  []string // instructions before a return
	labels int
	pool   *ConstPool
}

// New returns a Machine of a tier that emits into the active function of ctx. The function returns
// after the instructions named by leave. The functions of a file share a pool.
func New(ctx *build.Context, tier arch.Tier, leave []string, pool *ConstPool) *Machine {
	form, ok := forms[tier.Width]
	if !ok {
		panic(fmt.Sprintf("x86.New: width = %d, want 4, 8 or 16", tier.Width))
	}
	x := &Machine{Context: ctx, form: form, masks: kindsOfMasks[tier.Masks], leave: leave, pool: pool}
	x.Base = vec.NewBase(x, tier)
	return x
}

// narrow returns a Machine for vectors of four lanes.
func (x *Machine) narrow() *Machine {
	tier := x.Tier()
	tier.Width, tier.Masks = 4, arch.VectorMasks
	return New(x.Context, tier, x.leave, x.pool)
}

// End returns from the function.
func (x *Machine) End() {
	for _, opcode := range x.leave {
		switch opcode {
		case "VZEROUPPER":
			x.VZEROUPPER()
		case tileRelease:
			x.ReleaseTiles()
		default:
			panic(fmt.Sprintf("x86.End: %s is not an instruction that is known here", opcode))
		}
	}
	x.RET()
}

// ConstPool collects the read-only data that the functions of a file share.
type ConstPool struct {
	names map[string]operand.Mem
}

// NewConstPool returns an empty pool.
func NewConstPool() *ConstPool { return &ConstPool{names: map[string]operand.Mem{}} }

// data returns the pool's symbol of that name, and defines it on first use.
func (x *Machine) data(name string, words []uint32) operand.Mem {
	if m, ok := x.pool.names[name]; ok {
		return m
	}
	m := x.StaticGlobal(name)
	x.DataAttributes(attr.RODATA | attr.NOPTR)
	for _, w := range words {
		x.AppendDatum(operand.U32(w))
	}
	x.pool.names[name] = m
	return m
}

// constant returns c in memory.
func (x *Machine) constant(c vec.Const) operand.Mem {
	return x.data(fmt.Sprintf("f32_%08x", uint32(c)), []uint32{uint32(c)})
}

// with emits an instruction with b, a and to. If possible, the instruction broadcasts a constant
// from memory: the linker places data at multiples of 32 bytes at best, and a vector of 64 bytes
// that crosses a cache line needs two loads.
func (x *Machine) with(b vec.Operand, a, to operand.Op, plain, broadcast func(...operand.Op)) {
	if c, ok := b.(vec.Const); ok && x.Tier().Embedded {
		broadcast(x.constant(c), a, to)
		return
	}
	plain(x.op(b), a, to)
}

// constMem returns a full vector of c in memory.
func (x *Machine) constMem(c vec.Const) operand.Mem {
	words := make([]uint32, x.Width())
	for i := range words {
		words[i] = uint32(c)
	}
	return x.data(fmt.Sprintf("f32x%d_%08x", x.Width(), uint32(c)), words)
}

// Masking implements Machine.
func (x *Machine) Masking() (vec.Masking, bool) { return x, x.Opmasks() }

// Opmasks reports whether masks have registers of their own.
func (x *Machine) Opmasks() bool { return x.Tier().Masks == arch.Opmasks }

// NewV returns a fresh vector register, not yet written.
func (x *Machine) NewV() reg.VecVirtual { return x.form.newV(x.Context) }

// Imm returns an immediate operand in the shorter of the two forms that 64-bit instructions take.
func Imm(n int) operand.Op {
	if n == int(int8(n)) {
		return operand.I8(int8(n))
	}
	return operand.I32(int32(n))
}

func (x *Machine) newLabel(what string) string {
	x.labels++
	return fmt.Sprintf("%s%d", what, x.labels)
}

// op returns the avo operand for b: a register, or the constant in memory.
func (x *Machine) op(b vec.Operand) operand.Op {
	switch b := b.(type) {
	case vec.V:
		return vector(b)
	case vec.Const:
		return x.constMem(b)
	}
	panic("vec: unknown operand")
}

// SlicePtr implements Machine.
func (x *Machine) SlicePtr(name string) vec.Ptr { return vec.Ptr{Reg: x.Load64(name + "_base")} }

// SliceLen implements Machine.
func (x *Machine) SliceLen(name string) vec.Int { return vec.Int{Reg: x.Load64(name + "_len")} }

// IntParam implements Machine.
func (x *Machine) IntParam(name string) vec.Int { return vec.Int{Reg: x.Load64(name)} }

// Load64 loads a 64-bit parameter, or a slice's _base or _len, into a fresh register.
func (x *Machine) Load64(name string) reg.GPVirtual {
	r := x.GP64()
	n := len(name)
	switch {
	case n > 5 && name[n-5:] == "_base":
		x.Context.Load(x.Param(name[:n-5]).Base(), r)
	case n > 4 && name[n-4:] == "_len":
		x.Context.Load(x.Param(name[:n-4]).Len(), r)
	default:
		x.Context.Load(x.Param(name), r)
	}
	return r
}

// Stride loads a leading dimension and converts it to bytes.
func (x *Machine) Stride(param string) reg.GPVirtual {
	r := x.Load64(param)
	x.SHLQ(operand.U8(2), r)
	return r
}

// ParamAddr returns the address of a scalar parameter in the frame, or of a slice's pointer,
// name_base.
func (x *Machine) ParamAddr(name string) operand.Mem {
	param := x.Param(strings.TrimSuffix(name, "_base"))
	if strings.HasSuffix(name, "_base") {
		param = param.Base()
	}
	c, err := param.Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// FloatParam implements Machine.
func (x *Machine) FloatParam(name string) vec.V {
	v := x.NewV()
	x.VBROADCASTSS(x.ParamAddr(name), v)
	return vec.V{Reg: v}
}

// FloatFromInt implements Machine.
func (x *Machine) FloatFromInt(n vec.Int) vec.V {
	s, v := x.XMM(), x.NewV()
	x.VXORPS(s, s, s)
	x.VCVTSI2SSQ(general(n), s, s)
	x.VBROADCASTSS(s, v)
	return vec.V{Reg: v}
}

// Return implements Machine.
func (x *Machine) Return(v vec.V) {
	c, err := x.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	x.VMOVSS(vector(v).AsX(), c.Addr)
}

// ReturnInt implements Machine.
func (x *Machine) ReturnInt(n vec.Int) {
	c, err := x.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	x.MOVQ(general(n), c.Addr)
}

// CopyInt implements Machine.
func (x *Machine) CopyInt(n vec.Int) vec.Int {
	r := x.GP64()
	x.MOVQ(general(n), r)
	return vec.Int{Reg: r}
}

// CopyPtr implements Machine.
func (x *Machine) CopyPtr(p vec.Ptr) vec.Ptr {
	r := x.GP64()
	x.MOVQ(general(p), r)
	return vec.Ptr{Reg: r}
}

// Subtract implements Machine.
func (x *Machine) Subtract(n vec.Int, k int) { x.SUBQ(operand.Imm(uint64(k)), general(n)) }

// SubtractInt implements Machine.
func (x *Machine) SubtractInt(n, k vec.Int) { x.SUBQ(general(k), general(n)) }

// Raise implements Machine.
func (x *Machine) Raise(n vec.Int, k int) { x.ADDQ(Imm(k), general(n)) }

// Bump implements Machine.
func (x *Machine) Bump(p vec.Ptr, bytes int) { x.ADDQ(Imm(bytes), general(p)) }

// Loop implements Machine.
func (x *Machine) Loop(n vec.Int, step int, body func()) { x.loop(n, step, body, false) }

// InnerLoop implements Machine. On Zen 3 a loop over keys took up to a sixth longer where it did
// not begin at a cache line.
func (x *Machine) InnerLoop(n vec.Int, step int, body func()) { x.loop(n, step, body, true) }

func (x *Machine) loop(n vec.Int, step int, body func(), aligned bool) {
	top, end := x.newLabel("loop"), x.newLabel("end")
	x.CMPQ(general(n), Imm(step))
	x.JLT(operand.LabelRef(end))
	if aligned {
		x.Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []operand.Op{operand.Imm(64)}})
	}
	x.Label(top)
	body()
	x.SUBQ(Imm(step), general(n))
	x.CMPQ(general(n), Imm(step))
	x.JGE(operand.LabelRef(top))
	x.Label(end)
}

// If implements Machine.
func (x *Machine) If(n vec.Int, body func()) {
	end := x.newLabel("end")
	x.TESTQ(general(n), general(n))
	x.JZ(operand.LabelRef(end))
	body()
	x.Label(end)
}

// IfLE implements Machine.
func (x *Machine) IfLE(n vec.Int, limit int, then, else_ func()) {
	other, end := x.newLabel("else"), x.newLabel("end")
	x.CMPQ(general(n), Imm(limit))
	x.JGT(operand.LabelRef(other))
	then()
	if else_ != nil {
		x.JMP(operand.LabelRef(end))
	}
	x.Label(other)
	if else_ != nil {
		else_()
		x.Label(end)
	}
}

// IfGreater implements Machine.
func (x *Machine) IfGreater(a, b vec.V, body func()) {
	end := x.newLabel("end")
	x.VUCOMISS(vector(b).AsX(), vector(a).AsX())
	x.JLS(operand.LabelRef(end)) // also if they are unordered
	body()
	x.Label(end)
}

// IfOutside implements Machine. Compared as unsigned integers, NaN and negative numbers are larger
// than the positive numbers.
func (x *Machine) IfOutside(v vec.V, least, most vec.Const, body func()) {
	bits, end := x.GP32(), x.newLabel("end")
	x.VMOVD(vector(v).AsX(), bits)
	x.SUBL(operand.Imm(uint64(least)), bits)
	x.CMPL(bits, operand.Imm(uint64(most-least)))
	x.JLS(operand.LabelRef(end))
	body()
	x.Label(end)
}

// Leavable implements Machine.
func (x *Machine) Leavable(body func(leave func())) {
	end := x.newLabel("end")
	body(func() { x.JMP(operand.LabelRef(end)) })
	x.Label(end)
}

// Jump implements Jumper.
func (x *Machine) Jump(label string) { x.JMP(operand.LabelRef(label)) }

// Compare implements Jumper.
func (x *Machine) Compare(n vec.Int, k int) { x.CMPQ(general(n), Imm(k)) }

// BranchIf implements Jumper.
func (x *Machine) BranchIf(c vec.Cond, label string) {
	[]func(operand.Op){vec.LT: x.JLT, vec.LE: x.JLE, vec.EQ: x.JEQ, vec.NE: x.JNZ, vec.GE: x.JGE}[c](operand.LabelRef(label))
}

// Halve implements Jumper.
func (x *Machine) Halve(n vec.Int, times int) { x.SHRQ(operand.U8(times), general(n)) }

// IntAt loads an integer from memory.
func (x *Machine) IntAt(m operand.Mem) vec.Int {
	r := x.GP64()
	x.MOVQ(m, r)
	return vec.Int{Reg: r}
}

// Value returns a vector register as a value of package vec.
func (x *Machine) Value(r reg.VecVirtual) vec.V { return vec.V{Reg: r} }

// Constant returns a register with c in every lane.
func (x *Machine) Constant(c vec.Const) reg.VecVirtual { return vector(x.Splat(c)) }

// Comment implements Machine.
func (x *Machine) Comment(text string) { x.Context.Comment(text) }

// Registers of values.

func vector(v vec.V) reg.VecVirtual { return v.Reg.(reg.VecVirtual) }

// general returns the register of an integer or an address.
func general[T vec.Int | vec.Ptr](v T) reg.GPVirtual {
	return struct{ Reg any }(v).Reg.(reg.GPVirtual)
}

func mask(m vec.Mask) reg.Register { return m.Reg.(reg.Register) }
func tail(t vec.Tail) reg.Register { return t.Reg.(reg.Register) }
