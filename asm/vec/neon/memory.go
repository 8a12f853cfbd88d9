package neon

import (
	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
)

// This file has loads and stores of whole vectors, single lanes, tails and other types.

// Load implements Machine.
func (x *Machine) Load(p vec.Ptr, off int) vec.V {
	v := x.V()
	x.FMOVQ(arm64.At(general(p), off), v)
	return vec.V{Reg: v}
}

// Store implements Machine.
func (x *Machine) Store(p vec.Ptr, off int, v vec.V) {
	x.FMOVQStore(vector(v), arm64.At(general(p), off))
}

// LoadFloat16 implements Machine.
func (x *Machine) LoadFloat16(p vec.Ptr, off int) vec.V {
	v := x.V()
	x.FMOVD(arm64.At(general(p), off), v)
	x.VFCVTL(v.As(arm64.H4), v.S4())
	return vec.V{Reg: v}
}

// LoadFloat16One implements Machine.
func (x *Machine) LoadFloat16One(p vec.Ptr) vec.V {
	v := x.loadHalf(p)
	x.VFCVTL(v.As(arm64.H4), v.S4())
	return vec.V{Reg: v}
}

// LoadBFloat16 implements Machine: it puts zeros below each element.
func (x *Machine) LoadBFloat16(p vec.Ptr, off int) vec.V {
	v := x.V()
	x.FMOVD(arm64.At(general(p), off), v)
	x.VZIP1(v.As(arm64.H8), x.Const([4]uint32{}).As(arm64.H8), v.As(arm64.H8))
	return vec.V{Reg: v}
}

// LoadBFloat16One implements Machine.
func (x *Machine) LoadBFloat16One(p vec.Ptr) vec.V {
	v := x.loadHalf(p)
	x.VSHL(16, v.S4(), v.S4())
	return vec.V{Reg: v}
}

// LoadInt8 implements Machine.
func (x *Machine) LoadInt8(p vec.Ptr, off int) vec.V {
	v := x.upperBytes(p, off)
	x.VSSHR(24, v.S4(), v.S4())
	x.VSCVTF(v.S4(), v.S4())
	return vec.V{Reg: v}
}

// upperBytes loads a byte for each lane, and shifts it to the top.
func (x *Machine) upperBytes(p vec.Ptr, off int) arm64.Vec {
	v, zero := x.V(), x.Const([4]uint32{})
	x.FMOVS(arm64.At(general(p), off), v)
	x.VZIP1(v.As(arm64.B16), zero.As(arm64.B16), v.As(arm64.B16))
	x.VZIP1(v.As(arm64.H8), zero.As(arm64.H8), v.As(arm64.H8))
	return v
}

// LoadInt8One implements Machine.
func (x *Machine) LoadInt8One(p vec.Ptr) vec.V {
	r, v := x.GP(), x.V()
	x.MOVBLoad(arm64.At(general(p), 0), r)
	x.SCVTFS(r, v)
	return vec.V{Reg: v}
}

// loadHalf loads 16 bits into lane 0, with zeros above.
func (x *Machine) loadHalf(p vec.Ptr) arm64.Vec {
	r, v := x.GP(), x.V()
	x.MOVHULoad(arm64.At(general(p), 0), r)
	x.FMOVSFromGP(r, v)
	return v
}

// LoadScalar implements Machine.
func (x *Machine) LoadScalar(p vec.Ptr, off int) vec.V {
	v := x.V()
	x.FMOVS(arm64.At(general(p), off), v)
	x.VDUP(v.S(0), v.S4())
	return vec.V{Reg: v}
}

// StoreScalar implements Machine.
func (x *Machine) StoreScalar(p vec.Ptr, off int, v vec.V) {
	x.FMOVSStore(vector(v), arm64.At(general(p), off))
}

// StoreLanes implements Machine.
func (x *Machine) StoreLanes(p vec.Ptr, v vec.V, first, n int) {
	to := arm64.At(general(p), 0)
	switch {
	case n == 4:
		x.FMOVQStore(vector(v), to)
	case n == 2 && first == 0:
		x.FMOVDStore(vector(v), to)
	case n == 2:
		x.VST1Lane(vector(v).D(1), to)
	case first == 0:
		x.FMOVSStore(vector(v), to)
	default:
		x.VST1Lane(vector(v).S(first), to)
	}
}

// lanesOf is the Mask of a Tail. NEON has no masked loads: lanes 1 and 2 are loaded from and stored
// to offsets that stay within the elements.
type lanesOf struct {
	offset [3]arm64.GP // of each lane, in bytes; offset[0] is not used
	lanes  arm64.Vec   // ones in the first Count lanes
}

// Tail implements Machine.
func (x *Machine) Tail(n vec.Int) vec.Tail {
	count := x.GP()
	x.AND(arm64.Imm(3), general(n), count)
	var t lanesOf
	before := arm64.ZR
	for lane := 1; lane < 3; lane++ {
		t.offset[lane] = x.GP()
		x.MOVI(int64(4*lane), t.offset[lane])
		x.CMP(arm64.Imm(lane), count)
		x.CSEL(arm64.GT, t.offset[lane], before, t.offset[lane])
		before = t.offset[lane]
	}
	t.lanes = vector(x.FloatFromInt(vec.Int{Reg: count}))
	index := x.V()
	x.LoadConst([4]uint32{0, 0x3f800000, 0x40000000, 0x40400000}, index) // 0, 1, 2, 3
	x.VFCMGT(index.S4(), t.lanes.S4(), t.lanes.S4())
	return vec.Tail{Count: vec.Int{Reg: count}, Reg: t}
}

// laneAt returns the address of a lane.
func (x *Machine) laneAt(p vec.Ptr, t lanesOf, lane int) arm64.Mem {
	r := x.GP()
	x.ADD(t.offset[lane], general(p), r)
	return arm64.At(r, 0)
}

// LoadTail implements Machine. It first loads lanes past the end with the last element.
func (x *Machine) LoadTail(p vec.Ptr, t vec.Tail, fill vec.Const) vec.V {
	mask, v := tail(t), x.V()
	x.FMOVS(arm64.At(general(p), 0), v)
	for lane := 1; lane < 3; lane++ {
		x.VLD1Lane(x.laneAt(p, mask, lane), v.S(lane))
	}
	x.keepTail(mask, v, fill)
	return vec.V{Reg: v}
}

// StoreTail implements Machine. It stores lanes past the end at the place of the last element,
// which is stored last.
func (x *Machine) StoreTail(p vec.Ptr, t vec.Tail, v vec.V) {
	mask := tail(t)
	for lane := 2; lane > 0; lane-- {
		x.VST1Lane(vector(v).S(lane), x.laneAt(p, mask, lane))
	}
	x.FMOVSStore(vector(v), arm64.At(general(p), 0))
}

// KeepTail implements Machine.
func (x *Machine) KeepTail(t vec.Tail, v vec.V, fill vec.Const) vec.V {
	w := x.Copy(v)
	x.keepTail(tail(t), vector(w), fill)
	return w
}

func (x *Machine) keepTail(t lanesOf, v arm64.Vec, fill vec.Const) {
	if fill == 0 {
		x.VAND(t.lanes.B16(), v.B16(), v.B16())
		return
	}
	x.VBIF(t.lanes.B16(), x.op(fill).B16(), v.B16())
}
