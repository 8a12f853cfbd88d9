package x86

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// This file has loads and stores of whole vectors, single lanes and other types, and prefetching.

// at returns the memory off bytes after p, which is one register, or several for rows.
func at(p vec.Ptr, off int) operand.Mem {
	if m, ok := p.Reg.(operand.Mem); ok {
		return m.Offset(off)
	}
	return operand.Mem{Base: general(p), Disp: off}
}

// Load implements Machine.
func (x *Machine) Load(p vec.Ptr, off int) vec.V {
	v := x.NewV()
	x.VMOVUPS(at(p, off), v)
	return vec.V{Reg: v}
}

// Store implements Machine.
func (x *Machine) Store(p vec.Ptr, off int, v vec.V) { x.VMOVUPS(vector(v), at(p, off)) }

// IfStream implements Machine: the stores need whole, aligned vectors.
func (x *Machine) IfStream(param string, p vec.Ptr, n vec.Int, then, else_ func()) {
	both, other, end := x.GP64(), x.newLabel("else"), x.newLabel("end")
	x.CMPQ(x.ParamAddr(param), Imm(0))
	x.JEQ(operand.LabelRef(other))
	x.LEAQ(operand.Mem{Base: general(p), Index: general(n), Scale: 4}, both)
	x.ORQ(general(p), both)
	x.TESTQ(operand.U32(uint32(4*x.Width()-1)), both)
	x.JNZ(operand.LabelRef(other))
	then()
	x.FinishStream()
	x.JMP(operand.LabelRef(end))
	x.Label(other)
	else_()
	x.Label(end)
}

// StoreStream implements Machine.
func (x *Machine) StoreStream(p vec.Ptr, off int, v vec.V) { x.VMOVNTPS(vector(v), at(p, off)) }

// Prefetch implements Machine.
func (x *Machine) Prefetch(p vec.Ptr, off int) { x.PREFETCHT0(at(p, off)) }

// PrefetchFar implements Machine.
func (x *Machine) PrefetchFar(p vec.Ptr, off int, n vec.Int, size int) {
	m := at(p, off)
	if n != (vec.Int{}) {
		m = m.Idx(general(n), uint8(size))
	}
	x.PREFETCHT1(m)
}

// LoadFloat16 implements Machine.
func (x *Machine) LoadFloat16(p vec.Ptr, off int) vec.V {
	v := x.NewV()
	x.VCVTPH2PS(at(p, off), v)
	return vec.V{Reg: v}
}

// LoadFloat16One implements Machine.
func (x *Machine) LoadFloat16One(p vec.Ptr) vec.V {
	v, low := x.NewV(), x.XMM()
	x.VMOVD(x.loadHalf(p), low)
	if x.Width() == 16 {
		x.VCVTPH2PS(low.AsY(), v)
	} else {
		x.VCVTPH2PS(low, v)
	}
	return vec.V{Reg: v}
}

// LoadBFloat16 implements Machine.
func (x *Machine) LoadBFloat16(p vec.Ptr, off int) vec.V {
	v := x.NewV()
	x.VPMOVZXWD(at(p, off), v)
	x.VPSLLD(operand.U8(16), v, v)
	return vec.V{Reg: v}
}

// LoadBFloat16One implements Machine.
func (x *Machine) LoadBFloat16One(p vec.Ptr) vec.V {
	bits, v := x.loadHalf(p), x.NewV()
	x.SHLL(operand.U8(16), bits)
	x.VMOVD(bits, v.AsX())
	return vec.V{Reg: v}
}

// LoadInt8 implements Machine.
func (x *Machine) LoadInt8(p vec.Ptr, off int) vec.V {
	v := x.NewV()
	x.VPMOVSXBD(at(p, off), v)
	x.VCVTDQ2PS(v, v)
	return vec.V{Reg: v}
}

// LoadInt8One implements Machine.
func (x *Machine) LoadInt8One(p vec.Ptr) vec.V {
	n, v := x.GP32(), x.NewV()
	x.MOVBLSX(at(p, 0), n)
	x.VMOVD(n, v.AsX())
	x.VCVTDQ2PS(v, v)
	return vec.V{Reg: v}
}

// loadHalf loads 16 bits.
func (x *Machine) loadHalf(p vec.Ptr) reg.GPVirtual {
	bits := x.GP32()
	x.MOVWLZX(at(p, 0), bits)
	return bits
}

// Park implements Machine.
func (x *Machine) Park() vec.Place {
	if x.Opmasks() {
		return x.Base.Park()
	}
	return parked{x, x.AllocLocal(8)}
}

// parked is a number in the frame.
type parked struct {
	x  *Machine
	at operand.Mem
}

func (p parked) Put(v vec.V) { p.x.VMOVSS(vector(v).AsX(), p.at) }

func (p parked) Get() vec.V {
	v := p.x.NewV()
	p.x.VBROADCASTSS(p.at, v)
	return vec.V{Reg: v}
}

// LoadScalar implements Machine.
func (x *Machine) LoadScalar(p vec.Ptr, off int) vec.V {
	v := x.NewV()
	x.VBROADCASTSS(at(p, off), v)
	return vec.V{Reg: v}
}

// StoreScalar implements Machine.
func (x *Machine) StoreScalar(p vec.Ptr, off int, v vec.V) {
	x.VMOVSS(vector(v).AsX(), at(p, off))
}

// StoreLanes implements Machine.
func (x *Machine) StoreLanes(p vec.Ptr, v vec.V, first, n int) {
	from, to := vector(v), at(p, 0)
	extract := func(dst operand.Op) { x.form.extract(x, uint8(first/4), from, dst) }
	low := from.(reg.Vec).AsX()
	if n < 4 && first >= 4 {
		low = x.XMM()
		extract(low)
	}
	switch lane := first % 4; {
	case n == x.Width():
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
