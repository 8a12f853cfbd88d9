package vec

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const floatOne = Const(0x3f800000)

// X86 is the avo backend. Width 4 and 8 use VEX encodings (AVX2, FMA); width
// 16 uses AVX-512 F, BW, DQ and VL with opmasks for tails.
type X86 struct {
	*build.Context
	width  int
	labels int
	pool   *ConstPool
}

// ConstPool collects the read-only data that the functions of one file share.
type ConstPool struct {
	names map[string]operand.Mem
}

// NewX86 is a Machine that emits into ctx, whose active function it fills.
// The functions of one file share a pool.
func NewX86(ctx *build.Context, width int, pool *ConstPool) *X86 {
	if width != 4 && width != 8 && width != 16 {
		panic(fmt.Sprintf("vec.NewX86: width = %d, want 4, 8 or 16", width))
	}
	return &X86{Context: ctx, width: width, pool: pool}
}

// End returns from the function.
func (x *X86) End() {
	x.VZEROUPPER()
	x.RET()
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

// NewV is a fresh vector register, not yet written.
func (x *X86) NewV() reg.VecVirtual {
	switch x.width {
	case 4:
		return x.XMM()
	case 8:
		return x.YMM()
	}
	return x.ZMM()
}

// Imm is an immediate operand in the shorter of the two forms that 64-bit
// instructions take.
func Imm(n int) operand.Op {
	if n == int(int8(n)) {
		return operand.I8(int8(n))
	}
	return operand.I32(int32(n))
}

func vr(v V) reg.Register           { return v.Reg.(reg.Register) }
func ir(n Int) reg.Register         { return n.Reg.(reg.Register) }
func at(p Ptr, off int) operand.Mem { return operand.Mem{Base: p.Reg.(reg.Register), Disp: off} }
func (x *X86) newLabel(what string) string {
	x.labels++
	return fmt.Sprintf("%s%d", what, x.labels)
}

// op is the avo operand for b: a register, or the constant in memory.
func (x *X86) op(b Operand) operand.Op {
	switch b := b.(type) {
	case V:
		return vr(b)
	case Const:
		return x.constMem(b)
	}
	panic("vec: unknown operand")
}

// SlicePtr implements Machine.
func (x *X86) SlicePtr(name string) Ptr { return Ptr{x.Load64(name + "_base")} }

// SliceLen implements Machine.
func (x *X86) SliceLen(name string) Int { return Int{x.Load64(name + "_len")} }

// IntParam implements Machine.
func (x *X86) IntParam(name string) Int { return Int{x.Load64(name)} }

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

// ParamAddr is the address of a scalar parameter in the frame.
func (x *X86) ParamAddr(name string) operand.Mem {
	c, err := x.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

// FloatParam implements Machine.
func (x *X86) FloatParam(name string) V {
	v := x.NewV()
	x.VBROADCASTSS(x.ParamAddr(name), v)
	return V{v}
}

// FloatFromInt implements Machine.
func (x *X86) FloatFromInt(n Int) V {
	s, v := x.XMM(), x.NewV()
	x.VXORPS(s, s, s)
	x.VCVTSI2SSQ(ir(n), s, s)
	x.VBROADCASTSS(s, v)
	return V{v}
}

// Return implements Machine.
func (x *X86) Return(v V) {
	c, err := x.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	x.VMOVSS(vr(v).(reg.Vec).AsX(), c.Addr)
}

// CopyInt implements Machine.
func (x *X86) CopyInt(n Int) Int {
	r := x.GP64()
	x.MOVQ(ir(n), r)
	return Int{r}
}

// CopyPtr implements Machine.
func (x *X86) CopyPtr(p Ptr) Ptr { return Ptr(x.CopyInt(Int(p))) }

// Subtract implements Machine.
func (x *X86) Subtract(n Int, k int) { x.SUBQ(operand.Imm(uint64(k)), ir(n)) }

// SubtractInt implements Machine.
func (x *X86) SubtractInt(n, k Int) { x.SUBQ(ir(k), ir(n)) }

// Bump implements Machine.
func (x *X86) Bump(p Ptr, bytes int) { x.ADDQ(Imm(bytes), p.Reg.(reg.Register)) }

// BumpBy implements Machine.
func (x *X86) BumpBy(p Ptr, n Int) {
	r := p.Reg.(reg.Register)
	x.LEAQ(operand.Mem{Base: r, Index: ir(n), Scale: 4}, r)
}

// Loop implements Machine.
func (x *X86) Loop(n Int, step int, body func()) {
	top, end := x.newLabel("loop"), x.newLabel("end")
	x.CMPQ(ir(n), Imm(step))
	x.JLT(operand.LabelRef(end))
	x.Label(top)
	body()
	x.SUBQ(Imm(step), ir(n))
	x.CMPQ(ir(n), Imm(step))
	x.JGE(operand.LabelRef(top))
	x.Label(end)
}

// If implements Machine.
func (x *X86) If(n Int, body func()) {
	end := x.newLabel("end")
	x.TESTQ(ir(n), ir(n))
	x.JZ(operand.LabelRef(end))
	body()
	x.Label(end)
}

// IfLE implements Machine.
func (x *X86) IfLE(n Int, limit int, then, else_ func()) {
	other, end := x.newLabel("else"), x.newLabel("end")
	x.CMPQ(ir(n), Imm(limit))
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
	x.VUCOMISS(vr(b).(reg.Vec).AsX(), vr(a).(reg.Vec).AsX())
	x.JLS(operand.LabelRef(end)) // also where they cannot be compared
	body()
	x.Label(end)
}

// Comment implements Machine.
func (x *X86) Comment(text string) { x.Context.Comment(text) }

// Zero implements Machine.
func (x *X86) Zero() V {
	v := x.NewV()
	x.VXORPS(v, v, v) // avo knows that this does not read v, and not so of VPXORD
	return V{v}
}

// Splat implements Machine.
func (x *X86) Splat(c Const) V {
	if c == 0 {
		return x.Zero()
	}
	v := x.NewV()
	x.VMOVUPS(x.constMem(c), v)
	return V{v}
}

// Copy implements Machine.
func (x *X86) Copy(v V) V {
	w := x.NewV()
	x.VMOVAPS(vr(v), w)
	return V{w}
}

// CopyTo implements Machine.
func (x *X86) CopyTo(dst, src V) { x.VMOVAPS(vr(src), vr(dst)) }

// Load implements Machine.
func (x *X86) Load(p Ptr, off int) V {
	v := x.NewV()
	x.VMOVUPS(at(p, off), v)
	return V{v}
}

// Store implements Machine.
func (x *X86) Store(p Ptr, off int, v V) { x.VMOVUPS(vr(v), at(p, off)) }

// IfStream implements Machine: the stores need whole vectors that are aligned.
func (x *X86) IfStream(p Ptr, n Int, then, else_ func()) {
	both, other, end := x.GP64(), x.newLabel("else"), x.newLabel("end")
	x.LEAQ(operand.Mem{Base: p.Reg.(reg.Register), Index: ir(n), Scale: 4}, both)
	x.ORQ(p.Reg.(reg.Register), both)
	x.TESTQ(operand.U32(uint32(4*x.width-1)), both)
	x.JNZ(operand.LabelRef(other))
	then()
	x.SFENCE()
	x.JMP(operand.LabelRef(end))
	x.Label(other)
	else_()
	x.Label(end)
}

// StoreStream implements Machine.
func (x *X86) StoreStream(p Ptr, off int, v V) { x.VMOVNTPS(vr(v), at(p, off)) }

// Prefetch implements Machine.
func (x *X86) Prefetch(p Ptr, off int) { x.PREFETCHT0(at(p, off)) }

// LoadFloat16 implements Machine.
func (x *X86) LoadFloat16(p Ptr, off int) V {
	v := x.NewV()
	x.VCVTPH2PS(at(p, off), v)
	return V{v}
}

// LoadFloat16One implements Machine.
func (x *X86) LoadFloat16One(p Ptr) V {
	v, low := x.NewV(), x.XMM()
	x.VMOVD(x.loadHalf(p), low)
	if x.width == 16 {
		x.VCVTPH2PS(low.AsY(), v)
	} else {
		x.VCVTPH2PS(low, v)
	}
	return V{v}
}

// LoadBFloat16 implements Machine.
func (x *X86) LoadBFloat16(p Ptr, off int) V {
	v := x.NewV()
	x.VPMOVZXWD(at(p, off), v)
	x.VPSLLD(operand.U8(16), v, v)
	return V{v}
}

// LoadBFloat16One implements Machine.
func (x *X86) LoadBFloat16One(p Ptr) V {
	bits, v := x.loadHalf(p), x.NewV()
	x.SHLL(operand.U8(16), bits)
	x.VMOVD(bits, v.AsX())
	return V{v}
}

// loadHalf reads 16 bits.
func (x *X86) loadHalf(p Ptr) reg.GPVirtual {
	bits := x.GP32()
	x.MOVWLZX(at(p, 0), bits)
	return bits
}

// LoadScalar implements Machine.
func (x *X86) LoadScalar(p Ptr, off int) V {
	v := x.NewV()
	x.VBROADCASTSS(at(p, off), v)
	return V{v}
}

// StoreScalar implements Machine.
func (x *X86) StoreScalar(p Ptr, off int, v V) {
	x.VMOVSS(vr(v).(reg.Vec).AsX(), at(p, off))
}

// StoreLanes implements Machine.
func (x *X86) StoreLanes(p Ptr, v V, first, n int) {
	from, to := vr(v), at(p, 0)
	extract := func(dst operand.Op) { x.VEXTRACTF128(operand.U8(uint8(first/4)), from, dst) }
	if x.width == 16 {
		extract = func(dst operand.Op) { x.VEXTRACTF32X4(operand.U8(uint8(first/4)), from, dst) }
	}
	low := from.(reg.Vec).AsX()
	if n < 4 && first >= 4 {
		low = x.XMM()
		extract(low)
	}
	switch lane := first % 4; {
	case n == x.width:
		x.VMOVUPS(from, to)
	case n == 8 && first == 0:
		x.VMOVUPS(from.(reg.Vec).AsY(), to)
	case n == 8:
		x.VEXTRACTF64X4(operand.U8(1), from, to)
	case n == 4 && first == 0:
		x.VMOVUPS(low, to)
	case n == 4:
		extract(to)
	case n == 2 && lane == 0:
		x.VMOVLPS(low, to)
	case n == 2:
		x.VMOVHPS(low, to)
	case lane == 0:
		x.VMOVSS(low, to)
	default:
		x.VEXTRACTPS(operand.U8(uint8(lane)), low, to)
	}
}

// Tail implements Machine. AVX-512 makes an opmask; AVX2 a vector of all-ones
// lanes, read at a sliding offset from a table of ones followed by zeros.
func (x *X86) Tail(n Int) Tail {
	count := x.CopyInt(n)
	x.ANDQ(Imm(x.width-1), ir(count))
	return Tail{Count: count, Mask: x.laneMask(ir(count))}
}

// laneMask makes the mask of the first count lanes, 0 <= count <= width.
func (x *X86) laneMask(count reg.Register) any {
	src := x.LaneMaskSource(count)
	if x.width == 16 {
		return src
	}
	mask := x.NewV()
	x.VMOVUPS(operand.Mem{Base: src}, mask)
	return mask
}

// LaneMaskSource is where the mask of the first count lanes comes from,
// 0 <= count <= width: the opmask itself, or, where a mask takes a vector
// register, its address. See LoadMasked and StoreMasked.
func (x *X86) LaneMaskSource(count reg.Register) reg.Register {
	if x.width == 16 {
		k, ones := x.K(), x.GP64()
		x.MOVQ(operand.I32(-1), ones)
		x.BZHIQ(count, ones, ones)
		x.KMOVW(ones.As32(), k)
		return k
	}
	words := make([]uint32, 2*x.width)
	for i := range x.width {
		words[i] = 0xffffffff
	}
	table, from := x.GP64(), x.GP64()
	x.LEAQ(x.data(fmt.Sprintf("lanes%d", x.width), words), table)
	x.MOVQ(operand.U32(uint32(x.width)), from)
	x.SUBQ(count, from)
	x.LEAQ(operand.Mem{Base: table, Index: from, Scale: 4}, table)
	return table
}

// LoadMasked loads the lanes of a mask source into v, zeros elsewhere.
func (x *X86) LoadMasked(m operand.Mem, src reg.Register, v reg.VecVirtual) {
	if x.width == 16 {
		x.VMOVUPS_Z(m, src, v)
		return
	}
	mask := x.NewV()
	x.VMOVUPS(operand.Mem{Base: src}, mask)
	x.VMASKMOVPS(m, mask, v)
}

// StoreMasked stores the lanes of a mask source.
func (x *X86) StoreMasked(v reg.VecVirtual, src reg.Register, m operand.Mem) {
	if x.width == 16 {
		x.VMOVUPS(v, src, m)
		return
	}
	mask := x.NewV()
	x.VMOVUPS(operand.Mem{Base: src}, mask)
	x.VMASKMOVPS(v, mask, m)
}

// IfAcross implements Masking.
func (x *X86) IfAcross(ps []Ptr, n Int, least int, then, else_ func()) {
	all, other, end := x.GP64(), x.newLabel("else"), x.newLabel("end")
	x.CMPQ(ir(n), Imm(least))
	x.JLT(operand.LabelRef(other))
	x.MOVQ(ir(n), all)
	x.SHLQ(operand.U8(2), all)
	for _, p := range ps {
		x.ORQ(p.Reg.(reg.Register), all)
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
	n := x.CopyInt(Int(p))
	x.ANDQ(Imm(4*x.width-1), ir(n))
	x.SHRQ(operand.U8(2), ir(n))
	return n
}

// BumpBack implements Masking.
func (x *X86) BumpBack(p Ptr, n Int) {
	by := x.GP64()
	x.MOVQ(ir(n), by)
	x.SHLQ(operand.U8(2), by)
	x.SUBQ(by, p.Reg.(reg.Register))
}

// LanesFrom implements Masking.
func (x *X86) LanesFrom(n Int) Tail {
	k, lanes := x.K(), x.GP64()
	x.MOVQ(operand.I32(-1), lanes)
	x.SHLXQ(ir(n), lanes, lanes)
	x.KMOVW(lanes.As32(), k)
	return Tail{Mask: k}
}

// IfTwo implements Masking.
func (x *X86) IfTwo(ns []Int, body func()) {
	all, end := x.GP64(), x.newLabel("end")
	x.MOVQ(ir(ns[0]), all)
	x.SUBQ(Imm(x.width+1), all)
	for _, n := range ns[1:] {
		next := x.GP64()
		x.MOVQ(ir(n), next)
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
	x.BZHIQ(ir(n), lanes, lanes)
	x.KMOVW(lanes.As32(), a)
	x.SHRQ(operand.U8(uint8(x.width)), lanes)
	x.KMOVW(lanes.As32(), b)
	return Tail{Mask: a}, Tail{Mask: b}
}

// AlignedWhole implements Masking: the row is in n/width + 1 vectors if n is a multiple
// of width or one more, wherever it begins, and in one more otherwise.
func (x *X86) AlignedWhole(n Int) Int {
	whole := x.CopyInt(n)
	x.ADDQ(Imm(x.width-2), ir(whole))
	x.ANDQ(Imm(-x.width), ir(whole))
	x.SUBQ(Imm(2*x.width), ir(whole))
	return whole
}

// AlignedRest implements Masking.
func (x *X86) AlignedRest(n, before Int) Int {
	rest := x.CopyInt(n)
	x.ADDQ(ir(before), ir(rest))
	x.SUBQ(ir(x.AlignedWhole(n)), ir(rest))
	x.SUBQ(Imm(x.width), ir(rest))
	return rest
}

// LoadTail implements Machine.
func (x *X86) LoadTail(p Ptr, t Tail, fill Const) V {
	v := x.NewV()
	if x.width == 16 {
		if fill == 0 {
			x.VMOVUPS_Z(at(p, 0), t.Mask.(reg.Register), v)
			return V{v}
		}
		x.VMOVUPS(x.constMem(fill), v)
		x.VMOVUPS(at(p, 0), t.Mask.(reg.Register), v)
		return V{v}
	}
	x.VMASKMOVPS(at(p, 0), t.Mask.(reg.Register), v)
	if fill == 0 {
		return V{v}
	}
	return x.KeepTail(t, V{v}, fill)
}

// StoreTail implements Machine.
func (x *X86) StoreTail(p Ptr, t Tail, v V) {
	if x.width == 16 {
		x.VMOVUPS(vr(v), t.Mask.(reg.Register), at(p, 0))
		return
	}
	x.VMASKMOVPS(vr(v), t.Mask.(reg.Register), at(p, 0))
}

// KeepTail implements Machine.
func (x *X86) KeepTail(t Tail, v V, fill Const) V {
	mask := t.Mask.(reg.Register)
	w := x.NewV()
	switch {
	case x.width == 16 && fill == 0:
		x.VMOVAPS_Z(vr(v), mask, w)
	case x.width == 16:
		x.VMOVUPS(x.constMem(fill), w)
		x.VMOVAPS(vr(v), mask, w)
	case fill == 0:
		x.VANDPS(vr(v), mask, w)
	default:
		x.VMOVUPS(x.constMem(fill), w)
		x.VBLENDVPS(mask, vr(v), w, w)
	}
	return V{w}
}

// Add implements Machine.
func (x *X86) Add(a V, b Operand) V { w := x.NewV(); x.VADDPS(x.op(b), vr(a), w); return V{w} }

// Sub implements Machine.
func (x *X86) Sub(a V, b Operand) V { w := x.NewV(); x.VSUBPS(x.op(b), vr(a), w); return V{w} }

// Mul implements Machine.
func (x *X86) Mul(a V, b Operand) V { w := x.NewV(); x.VMULPS(x.op(b), vr(a), w); return V{w} }

// Div implements Machine.
func (x *X86) Div(a, b V) V { w := x.NewV(); x.VDIVPS(vr(b), vr(a), w); return V{w} }

// Sqrt implements Machine.
func (x *X86) Sqrt(a V) V { w := x.NewV(); x.VSQRTPS(vr(a), w); return V{w} }

// Max implements Machine.
func (x *X86) Max(a V, b Operand) V { w := x.NewV(); x.VMAXPS(x.op(b), vr(a), w); return V{w} }

// Min implements Machine.
func (x *X86) Min(a V, b Operand) V { w := x.NewV(); x.VMINPS(x.op(b), vr(a), w); return V{w} }

// AddTo implements Machine.
func (x *X86) AddTo(acc V, b Operand) { x.VADDPS(x.op(b), vr(acc), vr(acc)) }

// MaxTo implements Machine.
func (x *X86) MaxTo(acc V, b Operand) { x.VMAXPS(x.op(b), vr(acc), vr(acc)) }

// FMATo implements Machine.
func (x *X86) FMATo(acc, a V, b Operand) { x.VFMADD231PS(x.op(b), vr(a), vr(acc)) }

// FNMATo implements Machine.
func (x *X86) FNMATo(acc, a V, b Operand) { x.VFNMADD231PS(x.op(b), vr(a), vr(acc)) }

// Horner implements Machine.
func (x *X86) Horner(p, y V, c Operand) V { x.VFMADD213PS(x.op(c), vr(y), vr(p)); return p }

// And implements Machine.
func (x *X86) And(a V, b Operand) V { w := x.NewV(); x.VANDPS(x.op(b), vr(a), w); return V{w} }

// Or implements Machine.
func (x *X86) Or(a V, b Operand) V { w := x.NewV(); x.VORPS(x.op(b), vr(a), w); return V{w} }

// Xor implements Machine.
func (x *X86) Xor(a V, b Operand) V { w := x.NewV(); x.VXORPS(x.op(b), vr(a), w); return V{w} }

// Predicates of VCMPPS, quiet.
const (
	cmpUnordered = 0x03
	cmpGreater   = 0x1e
)

func (x *X86) compare(predicate uint8, a V, b Operand) Mask {
	var m reg.Register
	if x.width == 16 {
		m = x.K()
	} else {
		m = x.NewV()
	}
	x.VCMPPS(operand.U8(predicate), x.op(b), vr(a), m)
	return Mask{m}
}

// Greater implements Machine.
func (x *X86) Greater(a V, b Operand) Mask { return x.compare(cmpGreater, a, b) }

// Unordered implements Machine.
func (x *X86) Unordered(a, b V) Mask { return x.compare(cmpUnordered, a, b) }

// Select implements Machine.
func (x *X86) Select(m Mask, a, b V) V {
	w := x.NewV()
	if x.width == 16 {
		x.VBLENDMPS(vr(a), vr(b), m.Reg.(reg.Register), w)
	} else {
		x.VBLENDVPS(m.Reg.(reg.Register), vr(a), vr(b), w)
	}
	return V{w}
}

// Pow2 implements Machine.
func (x *X86) Pow2(biased V) V {
	w := x.NewV()
	x.VPSLLD(operand.U8(23), vr(biased), w)
	return V{w}
}

// Lookup implements Machine.
func (x *X86) Lookup(table []float32) func(index V) V {
	words := make([]uint32, len(table))
	for i, v := range table {
		words[i] = math.Float32bits(v)
	}
	in := func() operand.Mem { return x.data(fmt.Sprintf("lookup_%08x_%08x", words[1], words[2]), words) }
	switch {
	case len(table) == x.width && x.width >= 8:
		all := x.NewV()
		x.VMOVUPS(in(), all)
		return func(index V) V {
			w := x.NewV()
			x.VPERMPS(all, vr(index), w)
			return V{w}
		}
	case len(table) == 32 && x.width == 16:
		low, high := x.NewV(), x.NewV()
		x.VMOVUPS(in(), low)
		x.VMOVUPS(in().Offset(64), high)
		return func(index V) V {
			w := x.Copy(index)
			x.VPERMI2PS(high, low, vr(w))
			return w
		}
	}
	return nil
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
		x.VPSLLD(operand.U8(up), vr(biased), shifted)
		x.VPADDD(shifted, vr(w), vr(w))
		return w
	}
}

// RoundedFrom implements Machine.
func (x *X86) RoundedFrom(biased, bias V) Rounded {
	if x.width == 16 {
		return Rounded{N: x.Sub(biased, bias)}
	}
	return Rounded{Biased: biased}
}

// ScaleByPow2Full implements Machine: 2^N as the product of two powers that
// are normal numbers, N = floor(N/2) + (N - floor(N/2)).
func (x *X86) ScaleByPow2Full(p V, r Rounded) V {
	if x.width == 16 {
		w := x.NewV()
		x.VSCALEFPS(vr(r.N), vr(p), w)
		return V{w}
	}
	half, rest, one := x.NewV(), x.NewV(), x.constMem(floatOne)
	x.VPSLLD(operand.U8(10), vr(r.Biased), half) // drop the bias, keep the sign
	x.VPSRAD(operand.U8(11), half, half)         // floor(N/2)
	x.VPSUBD(half, vr(r.Biased), rest)           // N - floor(N/2), still biased
	x.VPSLLD(operand.U8(23), half, half)
	x.VPADDD(one, half, half)
	x.VPSLLD(operand.U8(23), rest, rest)
	x.VPADDD(one, rest, rest)
	x.VMULPS(vr(p), rest, rest)
	x.VMULPS(half, rest, rest)
	return V{rest}
}

// Sums implements Machine: four vectors at a time within groups of four lanes, and
// then across the groups. Half of what a first addition takes is blended, since few
// ports shuffle.
func (x *X86) Sums() func(vs []V) V {
	with := func(imm uint8, op func(...operand.Op)) func(a, b V) V {
		return func(a, b V) V { w := x.NewV(); op(operand.U8(imm), vr(b), vr(a), w); return V{w} }
	}
	blend := func(bits uint32) func(a, b V) V {
		if x.width < 16 {
			return with(uint8(bits)&(1<<x.width-1), func(ops ...operand.Op) { x.VBLENDPS(ops[0], ops[1], ops[2], ops[3]) })
		}
		from, mask := x.GP32(), x.K()
		x.MOVL(operand.U32(bits), from)
		x.KMOVW(from, mask)
		return func(a, b V) V { x.VMOVAPS(vr(b), mask, vr(a)); return a } // VBLENDMPS, in avo's eyes, reads what it overwrites
	}
	// fours adds the four parts of each vector, of which there are two or four.
	fours := func(op func(...operand.Op), upper func(a, b V) V) func(vs []V) V {
		crossed, even, odd := with(0x4e, op), with(0x88, op), with(0xdd, op)
		return func(vs []V) V {
			var halves []V
			for i := 0; i < len(vs); i += 2 {
				lower := crossed(vs[i], vs[i+1])
				halves = append(halves, x.Add(upper(vs[i], vs[i+1]), lower))
			}
			a, b := halves[0], halves[len(halves)-1]
			return x.Add(even(a, b), odd(a, b))
		}
	}
	lanes, groups := fours(x.VSHUFPS, blend(0xcccc)), func([]V) V { panic("vec: no groups of lanes") }
	switch x.width {
	case 8:
		upper, crossed := blend(0xf0), with(0x21, func(ops ...operand.Op) { x.VPERM2F128(ops[0], ops[1], ops[2], ops[3]) })
		groups = func(vs []V) V { return x.Add(upper(vs[0], vs[1]), crossed(vs[0], vs[1])) }
	case 16:
		groups = fours(x.VSHUFF32X4, blend(0xff00))
	}
	return func(vs []V) V {
		if len(vs) == 1 {
			return x.ReduceAdd(vs[0])
		}
		var sums []V
		for ; len(vs) > 0; vs = vs[min(4, len(vs)):] {
			sums = append(sums, lanes(vs[:min(4, len(vs))]))
		}
		if len(sums) > 1 {
			return groups(sums)
		}
		return V{x.acrossGroups(vr(sums[0]), func(a, b, w reg.Register) { x.VADDPS(a, b, w) })}
	}
}

// ReduceAdd implements Machine.
func (x *X86) ReduceAdd(v V) V { return x.reduce(v, func(a, b, w reg.Register) { x.VADDPS(a, b, w) }) }

// ReduceMax implements Machine.
func (x *X86) ReduceMax(v V) V { return x.reduce(v, func(a, b, w reg.Register) { x.VMAXPS(a, b, w) }) }

// reduce combines each lane with its partner at distance 8, 4, 2, 1, so that
// every lane ends with the whole.
func (x *X86) reduce(v V, op func(a, b, w reg.Register)) V {
	cur := x.acrossGroups(vr(v), op)
	for _, imm := range []uint8{0x4e, 0xb1} {
		s, w := x.NewV(), x.NewV()
		x.VSHUFPS(operand.U8(imm), cur, cur, s)
		op(s, cur, w)
		cur = w
	}
	return V{cur}
}

// acrossGroups combines the groups of four lanes.
func (x *X86) acrossGroups(cur reg.Register, op func(a, b, w reg.Register)) reg.Register {
	stage := func(shuffle func(w reg.Register)) {
		s, w := x.NewV(), x.NewV()
		shuffle(s)
		op(s, cur, w)
		cur = w
	}
	if x.width == 16 {
		stage(func(w reg.Register) { x.VSHUFF32X4(operand.U8(0x4e), cur, cur, w) })
		stage(func(w reg.Register) { x.VSHUFF32X4(operand.U8(0xb1), cur, cur, w) })
	}
	if x.width == 8 {
		stage(func(w reg.Register) { x.VPERM2F128(operand.U8(0x01), cur, cur, w) })
	}
	return cur
}

// TransposeBlock implements Machine.
func (x *X86) TransposeBlock() int {
	if x.width == 4 {
		return 4
	}
	return 8
}

// Transpose implements Machine, with vectors of 128 or 256 bits at any width:
// the shuffles that cross 128-bit lanes are replaced by loads of half rows, rows
// i and i+4 into the halves of one register, and the rest works within lanes.
func (x *X86) Transpose(dst Ptr, ldDst Int, src Ptr, ldSrc Int) {
	newV, lanes := x.XMM, 1
	if x.TransposeBlock() == 8 {
		newV, lanes = x.YMM, 2
	}
	from := x.rowsFrom(src, ldSrc, 4*lanes)
	var in [2][4]reg.VecVirtual
	for part := range lanes { // four columns of the source
		for i := range in[part] {
			v := newV()
			m := from[i]
			m.Disp = 16 * part
			if lanes == 1 {
				x.VMOVUPS(m, v)
			} else {
				x.VBROADCASTF128(m, v) // a plain load of 128 bits, in avo's eyes, leaves v's upper half alive
				m = from[i+4]
				m.Disp = 16 * part
				x.VINSERTF128(operand.U8(1), m, v, v)
			}
			in[part][i] = v
		}
	}
	to := x.rowsFrom(dst, ldDst, 4*lanes)
	for part := range lanes {
		var mid [4]reg.VecVirtual
		for i := range 2 {
			mid[2*i], mid[2*i+1] = newV(), newV()
			x.VUNPCKLPS(in[part][2*i+1], in[part][2*i], mid[2*i])
			x.VUNPCKHPS(in[part][2*i+1], in[part][2*i], mid[2*i+1])
		}
		for i := range 4 {
			out := newV()
			if i%2 == 0 {
				x.VUNPCKLPD(mid[2+i/2], mid[i/2], out)
			} else {
				x.VUNPCKHPD(mid[2+i/2], mid[i/2], out)
			}
			x.VMOVUPS(out, to[4*part+i])
		}
	}
}

// rowsFrom are the addresses of n rows that begin at p, ld elements apart.
func (x *X86) rowsFrom(p Ptr, ld Int, n int) []operand.Mem {
	rows := make([]operand.Mem, n)
	base := p.Reg.(reg.Register)
	for i := range rows {
		rows[i] = operand.Mem{Base: base}
		if i == 0 {
			continue
		}
		rows[i].Index, rows[i].Scale = ir(ld), uint8(4*(1+(i-1)%2))
		if i%2 == 0 && i+1 < n {
			next := x.GP64()
			x.LEAQ(rows[i], next)
			base = next
		}
	}
	return rows
}
