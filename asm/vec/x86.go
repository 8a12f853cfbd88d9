package vec

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What a kernel on amd64 needs of registers, parameters and control flow.

const floatOne = Const(0x3f800000)

// X86 is the avo backend. Width 4 and 8 use VEX encodings (AVX2, FMA); width
// 16 uses AVX-512 F, BW, DQ and VL with opmasks for tails.
type X86 struct {
	*build.Context
	width  int
	form   x86Form
	labels int
	pool   *ConstPool
}

// NewX86 is a Machine that emits into ctx, whose active function it fills.
// The functions of one file share a pool.
func NewX86(ctx *build.Context, width int, pool *ConstPool) *X86 {
	form, ok := x86Forms[width]
	if !ok {
		panic(fmt.Sprintf("vec.NewX86: width = %d, want 4, 8 or 16", width))
	}
	return &X86{Context: ctx, width: width, form: form, pool: pool}
}

// End returns from the function.
func (x *X86) End() {
	x.VZEROUPPER()
	x.RET()
}

// ConstPool collects the read-only data that the functions of one file share.
type ConstPool struct {
	names map[string]operand.Mem
}

// NewConstPool is an empty pool.
func NewConstPool() *ConstPool { return &ConstPool{names: map[string]operand.Mem{}} }

// data returns the pool's symbol of that name, defining it on first use.
func (x *X86) data(name string, words []uint32) operand.Mem {
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

// constMem is a full vector of c in memory.
func (x *X86) constMem(c Const) operand.Mem {
	words := make([]uint32, x.width)
	for i := range words {
		words[i] = uint32(c)
	}
	return x.data(fmt.Sprintf("f32x%d_%08x", x.width, uint32(c)), words)
}

// Width implements Machine.
func (x *X86) Width() int { return x.width }

// Masking implements Machine.
func (x *X86) Masking() (Masking, bool) { return x, x.form.masking }

// NewV is a fresh vector register, not yet written.
func (x *X86) NewV() reg.VecVirtual { return x.form.newV(x.Context) }

// Registers is the number of vector registers.
func (x *X86) Registers() int { return x.form.registers }

// Broadcasts reports whether an operand in memory may be one element for every lane.
func (x *X86) Broadcasts() bool { return x.form.broadcasts }

// Imm is an immediate operand in the shorter of the two forms that 64-bit
// instructions take.
func Imm(n int) operand.Op {
	if n == int(int8(n)) {
		return operand.I8(int8(n))
	}
	return operand.I32(int32(n))
}

func (x *X86) newLabel(what string) string {
	x.labels++
	return fmt.Sprintf("%s%d", what, x.labels)
}

// op is the avo operand for b: a register, or the constant in memory.
func (x *X86) op(b Operand) operand.Op {
	switch b := b.(type) {
	case V:
		return b.x86
	case Const:
		return x.constMem(b)
	}
	panic("vec: unknown operand")
}

// SlicePtr implements Machine.
func (x *X86) SlicePtr(name string) Ptr { return Ptr{x86: x.Load64(name + "_base")} }

// SliceLen implements Machine.
func (x *X86) SliceLen(name string) Int { return Int{x86: x.Load64(name + "_len")} }

// IntParam implements Machine.
func (x *X86) IntParam(name string) Int { return Int{x86: x.Load64(name)} }

// Load64 loads a 64-bit parameter, or a slice's _base or _len, into a fresh register.
func (x *X86) Load64(name string) reg.GPVirtual {
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

// Stride loads a leading dimension, in bytes.
func (x *X86) Stride(param string) reg.GPVirtual {
	r := x.Load64(param)
	x.SHLQ(operand.U8(2), r)
	return r
}

// ParamAddr is the address of a scalar parameter in the frame, or of a slice's pointer, name_base.
func (x *X86) ParamAddr(name string) operand.Mem {
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
func (x *X86) FloatParam(name string) V {
	v := x.NewV()
	x.VBROADCASTSS(x.ParamAddr(name), v)
	return V{x86: v}
}

// FloatFromInt implements Machine.
func (x *X86) FloatFromInt(n Int) V {
	s, v := x.XMM(), x.NewV()
	x.VXORPS(s, s, s)
	x.VCVTSI2SSQ(n.x86, s, s)
	x.VBROADCASTSS(s, v)
	return V{x86: v}
}

// Return implements Machine.
func (x *X86) Return(v V) {
	c, err := x.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	x.VMOVSS(v.x86.AsX(), c.Addr)
}

// CopyInt implements Machine.
func (x *X86) CopyInt(n Int) Int {
	r := x.GP64()
	x.MOVQ(n.x86, r)
	return Int{x86: r}
}

// CopyPtr implements Machine.
func (x *X86) CopyPtr(p Ptr) Ptr {
	r := x.GP64()
	x.MOVQ(p.x86, r)
	return Ptr{x86: r}
}

// Subtract implements Machine.
func (x *X86) Subtract(n Int, k int) { x.SUBQ(operand.Imm(uint64(k)), n.x86) }

// SubtractInt implements Machine.
func (x *X86) SubtractInt(n, k Int) { x.SUBQ(k.x86, n.x86) }

// Raise implements Machine.
func (x *X86) Raise(n Int, k int) { x.ADDQ(Imm(k), n.x86) }

// Bump implements Machine.
func (x *X86) Bump(p Ptr, bytes int) { x.ADDQ(Imm(bytes), p.x86) }

// BumpBy implements Machine.
func (x *X86) BumpBy(p Ptr, n Int) { x.BumpBytes(p, n, 4) }

// Loop implements Machine.
func (x *X86) Loop(n Int, step int, body func()) {
	top, end := x.newLabel("loop"), x.newLabel("end")
	x.CMPQ(n.x86, Imm(step))
	x.JLT(operand.LabelRef(end))
	x.Label(top)
	body()
	x.SUBQ(Imm(step), n.x86)
	x.CMPQ(n.x86, Imm(step))
	x.JGE(operand.LabelRef(top))
	x.Label(end)
}

// If implements Machine.
func (x *X86) If(n Int, body func()) {
	end := x.newLabel("end")
	x.TESTQ(n.x86, n.x86)
	x.JZ(operand.LabelRef(end))
	body()
	x.Label(end)
}

// IfLE implements Machine.
func (x *X86) IfLE(n Int, limit int, then, else_ func()) {
	other, end := x.newLabel("else"), x.newLabel("end")
	x.CMPQ(n.x86, Imm(limit))
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
func (x *X86) IfGreater(a, b V, body func()) {
	end := x.newLabel("end")
	x.VUCOMISS(b.x86.AsX(), a.x86.AsX())
	x.JLS(operand.LabelRef(end)) // also where they cannot be compared
	body()
	x.Label(end)
}

// Jump implements Jumper.
func (x *X86) Jump(label string) { x.JMP(operand.LabelRef(label)) }

// Compare implements Jumper.
func (x *X86) Compare(n Int, k int) { x.CMPQ(n.x86, Imm(k)) }

// BranchIf implements Jumper.
func (x *X86) BranchIf(c Cond, label string) {
	[]func(operand.Op){LT: x.JLT, LE: x.JLE, EQ: x.JEQ, GE: x.JGE}[c](operand.LabelRef(label))
}

// Halve implements Jumper.
func (x *X86) Halve(n Int) { x.SHRQ(operand.U8(1), n.x86) }

// IntAt loads an integer from memory.
func (x *X86) IntAt(m operand.Mem) Int {
	r := x.GP64()
	x.MOVQ(m, r)
	return Int{x86: r}
}

// Value is a vector register as the vocabulary knows it.
func (x *X86) Value(r reg.VecVirtual) V { return V{x86: r} }

// Constant is a register with c in every lane.
func (x *X86) Constant(c Const) reg.VecVirtual { return x.Splat(c).x86 }

// Comment implements Machine.
func (x *X86) Comment(text string) { x.Context.Comment(text) }
