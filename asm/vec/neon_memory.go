package vec

import (
	"github.com/avoformer/avoformer/asm/arm64"
)

// Loads and stores of whole vectors, single lanes, tails and other types.

// Load implements Machine.
func (x *NEON) Load(p Ptr, off int) V {
	v := x.V()
	x.FMOVQ(arm64.At(p.neon, off), v)
	return V{neon: v}
}

// Store implements Machine.
func (x *NEON) Store(p Ptr, off int, v V) { x.FMOVQStore(v.neon, arm64.At(p.neon, off)) }

// IfStream implements Machine: there are no such stores here.
func (x *NEON) IfStream(p Ptr, n Int, then, else_ func()) { else_() }

// StoreStream implements Machine.
func (x *NEON) StoreStream(p Ptr, off int, v V) { x.Store(p, off, v) }

// Prefetch implements Machine.
func (x *NEON) Prefetch(p Ptr, off int) {}

// PrefetchFar implements Machine.
func (x *NEON) PrefetchFar(p Ptr, off int, n Int, size int) {}

// Prefetches implements Machine.
func (x *NEON) Prefetches() bool { return false }

// LoadFloat16 implements Machine.
func (x *NEON) LoadFloat16(p Ptr, off int) V {
	v := x.V()
	x.FMOVD(arm64.At(p.neon, off), v)
	x.VFCVTL(v.As(arm64.H4), v.S4())
	return V{neon: v}
}

// LoadFloat16One implements Machine.
func (x *NEON) LoadFloat16One(p Ptr) V {
	v := x.loadHalf(p)
	x.VFCVTL(v.As(arm64.H4), v.S4())
	return V{neon: v}
}

// LoadBFloat16 implements Machine: zeros go below each element.
func (x *NEON) LoadBFloat16(p Ptr, off int) V {
	v := x.V()
	x.FMOVD(arm64.At(p.neon, off), v)
	x.VZIP1(v.As(arm64.H8), x.Const([4]uint32{}).As(arm64.H8), v.As(arm64.H8))
	return V{neon: v}
}

// LoadBFloat16One implements Machine.
func (x *NEON) LoadBFloat16One(p Ptr) V {
	v := x.loadHalf(p)
	x.VSHL(16, v.S4(), v.S4())
	return V{neon: v}
}

// LoadInt8 implements Machine: zeros go below each byte, until it is the highest of a lane.
func (x *NEON) LoadInt8(p Ptr, off int) V {
	v, zero := x.V(), x.Const([4]uint32{})
	x.FMOVS(arm64.At(p.neon, off), v)
	x.VZIP1(v.As(arm64.B16), zero.As(arm64.B16), v.As(arm64.B16))
	x.VZIP1(v.As(arm64.H8), zero.As(arm64.H8), v.As(arm64.H8))
	x.VSSHR(24, v.S4(), v.S4())
	x.VSCVTF(v.S4(), v.S4())
	return V{neon: v}
}

// LoadInt8One implements Machine.
func (x *NEON) LoadInt8One(p Ptr) V {
	r, v := x.GP(), x.V()
	x.MOVBLoad(arm64.At(p.neon, 0), r)
	x.SCVTFS(r, v)
	return V{neon: v}
}

// loadHalf reads 16 bits into lane 0, and zeros above.
func (x *NEON) loadHalf(p Ptr) arm64.Vec {
	r, v := x.GP(), x.V()
	x.MOVHULoad(arm64.At(p.neon, 0), r)
	x.FMOVSFromGP(r, v)
	return v
}

// LoadScalar implements Machine.
func (x *NEON) LoadScalar(p Ptr, off int) V {
	v := x.V()
	x.FMOVS(arm64.At(p.neon, off), v)
	x.VDUP(v.S(0), v.S4())
	return V{neon: v}
}

// StoreScalar implements Machine.
func (x *NEON) StoreScalar(p Ptr, off int, v V) { x.FMOVSStore(v.neon, arm64.At(p.neon, off)) }

// StoreLanes implements Machine.
func (x *NEON) StoreLanes(p Ptr, v V, first, n int) {
	to := arm64.At(p.neon, 0)
	switch {
	case n == 4:
		x.FMOVQStore(v.neon, to)
	case n == 2 && first == 0:
		x.FMOVDStore(v.neon, to)
	case n == 2:
		x.VST1Lane(v.neon.D(1), to)
	case first == 0:
		x.FMOVSStore(v.neon, to)
	default:
		x.VST1Lane(v.neon.S(first), to)
	}
}

// neonTail is the Mask of a Tail. There are no masked loads: lanes 1 and 2 are
// loaded from and stored to offsets that stay within the elements.
type neonTail struct {
	offset [3]arm64.GP // of each lane, in bytes; that of lane 0 is not used
	lanes  arm64.Vec   // ones in the first Count lanes
}

// Tail implements Machine.
func (x *NEON) Tail(n Int) Tail {
	count := x.GP()
	x.AND(arm64.Imm(3), n.neon, count)
	var t neonTail
	before := arm64.ZR
	for lane := 1; lane < 3; lane++ {
		t.offset[lane] = x.GP()
		x.MOVI(int64(4*lane), t.offset[lane])
		x.CMP(arm64.Imm(lane), count)
		x.CSEL(arm64.GT, t.offset[lane], before, t.offset[lane])
		before = t.offset[lane]
	}
	t.lanes = x.FloatFromInt(Int{neon: count}).neon
	index := x.V()
	x.LoadConst([4]uint32{0, 0x3f800000, 0x40000000, 0x40400000}, index) // 0, 1, 2, 3
	x.VFCMGT(index.S4(), t.lanes.S4(), t.lanes.S4())
	return Tail{Count: Int{neon: count}, neon: t}
}

// laneAt is the place of a lane.
func (x *NEON) laneAt(p Ptr, t neonTail, lane int) arm64.Mem {
	r := x.GP()
	x.ADD(t.offset[lane], p.neon, r)
	return arm64.At(r, 0)
}

// LoadTail implements Machine. Lanes past the end are first loaded with the
// last element.
func (x *NEON) LoadTail(p Ptr, t Tail, fill Const) V {
	mask, v := t.neon, x.V()
	x.FMOVS(arm64.At(p.neon, 0), v)
	for lane := 1; lane < 3; lane++ {
		x.VLD1Lane(x.laneAt(p, mask, lane), v.S(lane))
	}
	x.keepTail(mask, v, fill)
	return V{neon: v}
}

// StoreTail implements Machine. Lanes past the end go where the last element
// then is written over them.
func (x *NEON) StoreTail(p Ptr, t Tail, v V) {
	mask := t.neon
	for lane := 2; lane > 0; lane-- {
		x.VST1Lane(v.neon.S(lane), x.laneAt(p, mask, lane))
	}
	x.FMOVSStore(v.neon, arm64.At(p.neon, 0))
}

// KeepTail implements Machine.
func (x *NEON) KeepTail(t Tail, v V, fill Const) V {
	w := x.Copy(v)
	x.keepTail(t.neon, w.neon, fill)
	return w
}

func (x *NEON) keepTail(t neonTail, v arm64.Vec, fill Const) {
	if fill == 0 {
		x.VAND(t.lanes.B16(), v.B16(), v.B16())
		return
	}
	x.VBIF(t.lanes.B16(), x.op(fill).B16(), v.B16())
}
