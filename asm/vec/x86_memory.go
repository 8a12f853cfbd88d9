package vec

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Loads and stores of whole vectors, single lanes and other types, and prefetching.

// at is the memory off bytes after p.
func at(p Ptr, off int) operand.Mem { return operand.Mem{Base: p.x86, Disp: off} }

// Load implements Machine.
func (x *X86) Load(p Ptr, off int) V {
	v := x.NewV()
	x.VMOVUPS(at(p, off), v)
	return V{x86: v}
}

// Store implements Machine.
func (x *X86) Store(p Ptr, off int, v V) { x.VMOVUPS(v.x86, at(p, off)) }

// IfStream implements Machine: the stores need whole vectors that are aligned.
func (x *X86) IfStream(p Ptr, n Int, then, else_ func()) {
	both, other, end := x.GP64(), x.newLabel("else"), x.newLabel("end")
	x.LEAQ(operand.Mem{Base: p.x86, Index: n.x86, Scale: 4}, both)
	x.ORQ(p.x86, both)
	x.TESTQ(operand.U32(uint32(4*x.width-1)), both)
	x.JNZ(operand.LabelRef(other))
	then()
	x.FinishStream()
	x.JMP(operand.LabelRef(end))
	x.Label(other)
	else_()
	x.Label(end)
}

// StoreStream implements Machine.
func (x *X86) StoreStream(p Ptr, off int, v V) { x.VMOVNTPS(v.x86, at(p, off)) }

// Prefetch implements Machine.
func (x *X86) Prefetch(p Ptr, off int) { x.PREFETCHT0(at(p, off)) }

// PrefetchFar implements Machine.
func (x *X86) PrefetchFar(p Ptr, off int, n Int, size int) {
	x.PREFETCHT1(operand.Mem{Base: p.x86, Disp: off, Index: n.x86, Scale: uint8(size)})
}

// Prefetches implements Machine.
func (x *X86) Prefetches() bool { return true }

// LoadFloat16 implements Machine.
func (x *X86) LoadFloat16(p Ptr, off int) V {
	v := x.NewV()
	x.VCVTPH2PS(at(p, off), v)
	return V{x86: v}
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
	return V{x86: v}
}

// LoadBFloat16 implements Machine.
func (x *X86) LoadBFloat16(p Ptr, off int) V {
	v := x.NewV()
	x.VPMOVZXWD(at(p, off), v)
	x.VPSLLD(operand.U8(16), v, v)
	return V{x86: v}
}

// LoadBFloat16One implements Machine.
func (x *X86) LoadBFloat16One(p Ptr) V {
	bits, v := x.loadHalf(p), x.NewV()
	x.SHLL(operand.U8(16), bits)
	x.VMOVD(bits, v.AsX())
	return V{x86: v}
}

// LoadInt8 implements Machine.
func (x *X86) LoadInt8(p Ptr, off int) V {
	v := x.NewV()
	x.VPMOVSXBD(at(p, off), v)
	x.VCVTDQ2PS(v, v)
	return V{x86: v}
}

// LoadInt8One implements Machine.
func (x *X86) LoadInt8One(p Ptr) V {
	n, v := x.GP32(), x.NewV()
	x.MOVBLSX(at(p, 0), n)
	x.VMOVD(n, v.AsX())
	x.VCVTDQ2PS(v, v)
	return V{x86: v}
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
	return V{x86: v}
}

// StoreScalar implements Machine.
func (x *X86) StoreScalar(p Ptr, off int, v V) {
	x.VMOVSS(v.x86.AsX(), at(p, off))
}

// StoreLanes implements Machine.
func (x *X86) StoreLanes(p Ptr, v V, first, n int) {
	from, to := v.x86, at(p, 0)
	extract := func(dst operand.Op) { x.form.extract(x, uint8(first/4), from, dst) }
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
