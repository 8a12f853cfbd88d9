package neon

import (
	"encoding/binary"

	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
)

// This file has lanes as integers, and their products.

func lane(l vec.Lane) arm64.Element { return l.Reg.(arm64.Vec).S(l.N) }

// LoadTwo implements Tiler.
func (x *Machine) LoadTwo(p vec.Ptr, off int) (vec.V, vec.V) {
	v, w := x.V(), x.V()
	x.FLDPQ(arm64.At(general(p), off), v, w)
	return vec.V{Reg: v}, vec.V{Reg: w}
}

// StoreTwo implements Tiler.
func (x *Machine) StoreTwo(p vec.Ptr, off int, a, b vec.V) {
	x.FSTPQ(vector(a), vector(b), arm64.At(general(p), off))
}

// LoadLanes implements Tiler.
func (x *Machine) LoadLanes(p vec.Ptr, n int) vec.V {
	v := x.V()
	if n == 2 {
		x.FMOVD(arm64.At(general(p), 0), v)
	} else {
		x.FMOVS(arm64.At(general(p), 0), v)
	}
	return vec.V{Reg: v}
}

// AddLoad implements Tiler.
func (x *Machine) AddLoad(acc vec.V, p vec.Ptr, off int) { x.AddTo(acc, x.Load(p, off)) }

// LoadTo implements Tiler.
func (x *Machine) LoadTo(dst vec.V, p vec.Ptr, off int) {
	x.FMOVQ(arm64.At(general(p), off), vector(dst))
}

// MulLane implements Tiler.
func (x *Machine) MulLane(l vec.Lane, b vec.V) vec.V {
	w := x.V()
	x.VFMUL(lane(l), vector(b).S4(), w.S4())
	return vec.V{Reg: w}
}

// MulLaneTo implements Tiler.
func (x *Machine) MulLaneTo(acc vec.V, l vec.Lane) {
	x.VFMUL(lane(l), vector(acc).S4(), vector(acc).S4())
}

// FMALane implements Tiler.
func (x *Machine) FMALane(acc vec.V, l vec.Lane, b vec.V) {
	x.VFMLA(lane(l), vector(b).S4(), vector(acc).S4())
}

// SpreadInt implements Tiler.
func (x *Machine) SpreadInt(p vec.Ptr, off int) vec.V { return x.LoadScalar(p, off) }

// IntToFloat implements Tiler.
func (x *Machine) IntToFloat(v vec.V) { x.VSCVTF(vector(v).S4(), vector(v).S4()) }

// LoadUint8 implements Tiler.
func (x *Machine) LoadUint8(p vec.Ptr, off int) vec.V {
	v := x.upperBytes(p, off)
	x.VUSHR(24, v.S4(), v.S4())
	x.VSCVTF(v.S4(), v.S4())
	return vec.V{Reg: v}
}

// ShiftRight implements Tiler.
func (x *Machine) ShiftRight(v vec.V, bits int) vec.V {
	w := x.V()
	x.VUSHR(bits, vector(v).S4(), w.S4())
	return vec.V{Reg: w}
}

// ShiftRightTo implements Tiler.
func (x *Machine) ShiftRightTo(v vec.V, bits int) { x.VSSHR(bits, vector(v).S4(), vector(v).S4()) }

// AndInt implements Tiler.
func (x *Machine) AndInt(a, b vec.V) vec.V { return x.And(a, b) }

// OrIntTo implements Tiler.
func (x *Machine) OrIntTo(acc, b vec.V) {
	x.VORR(vector(b).B16(), vector(acc).B16(), vector(acc).B16())
}

// LoadPowers implements Tiler as on amd64.
func (x *Machine) LoadPowers(p vec.Ptr, off int) vec.V {
	v, low, one := x.upperBytes(p, off), x.V(), x.V()
	x.VMOVI(1, one.B16())
	x.VUSHR(24, one.S4(), one.S4())
	x.VUSHR(24, v.S4(), v.S4())
	x.VADD(one.S4(), v.S4(), low.S4())
	x.VSHL(21, low.S4(), low.S4())
	x.VSUB(one.S4(), v.S4(), v.S4())
	x.VSHL(23, v.S4(), v.S4())
	x.VFMAX(low.S4(), v.S4(), v.S4())
	return vec.V{Reg: v}
}

// Table implements Tiler.
func (x *Machine) Table(_ string, b [16]byte) vec.V {
	var words [4]uint32
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return vec.V{Reg: x.Const(words)}
}

// LookUp implements Tiler.
func (x *Machine) LookUp(table, v vec.V) vec.V {
	w := x.V()
	x.VTBL(vector(v).B16(), vector(table), w.B16())
	return vec.V{Reg: w}
}

// CountBytes implements Tiler.
func (x *Machine) CountBytes() func(v vec.V) vec.V {
	return func(v vec.V) vec.V {
		x.VCNT(vector(v).B16(), vector(v).B16())
		return v
	}
}

// UpperHalves implements Tiler.
func (x *Machine) UpperHalves(v, ones vec.V) vec.V {
	w := x.V()
	x.VUSHR(4, vector(v).B16(), w.B16())
	return vec.V{Reg: w}
}

// DotQuads implements Tiler with SDOT.
func (x *Machine) DotQuads(acc vec.V, l vec.Lane, b vec.V) {
	x.VSDOT(lane(l), vector(b).B16(), vector(acc).S4())
}

// QuadsSigned implements Tiler.
func (x *Machine) QuadsSigned() bool { return true }

// DotByWords adds the products of four bytes of l0 and b0, and of l1 and b1. It adds two products
// as a word, which cannot overflow. Each of the two sums gets the products of half the lanes; its
// pairs of lanes add up.
func (x *Machine) DotByWords(sums [2]vec.V, l0, l1 vec.Lane, b0, b1 vec.V) {
	x0, x1, low, high := x.V(), x.V(), x.V(), x.V()
	x.VDUP(lane(l0), x0.S4())
	x.VDUP(lane(l1), x1.S4())
	v0, v1 := vector(b0), vector(b1)
	x.VSMULL(v0.B8(), x0.B8(), low.H8())
	x.VSMULL2(v0.B16(), x0.B16(), high.H8())
	x.VSMLAL(v1.B8(), x1.B8(), low.H8())
	x.VSMLAL2(v1.B16(), x1.B16(), high.H8())
	x.VSADALP(low.H8(), vector(sums[0]).S4())
	x.VSADALP(high.H8(), vector(sums[1]).S4())
}

// DotWords adds the products of two words of l and each pair of words of b to two sums, whose pairs
// of lanes add up.
func (x *Machine) DotWords(sums [2]vec.V, l vec.Lane, b vec.V) {
	both := x.V()
	x.VDUP(lane(l), both.S4())
	x.VSMLAL(vector(b).H4(), both.H4(), vector(sums[0]).S4())
	x.VSMLAL2(vector(b).H8(), both.H8(), vector(sums[1]).S4())
}

// AddPairs returns the sums of pairs of a, and then of b, in a.
func (x *Machine) AddPairs(a, b vec.V) vec.V {
	x.VADDP(vector(b).S4(), vector(a).S4(), vector(a).S4())
	return a
}

// Zip returns the lower or the upper halves of a and b.
func (x *Machine) Zip(upper bool, a, b vec.V) vec.V {
	zip, v := x.VZIP1, x.V()
	if upper {
		zip = x.VZIP2
	}
	zip(vector(b).D2(), vector(a).D2(), v.D2())
	return vec.V{Reg: v}
}

// DotMatrices adds the products of two rows of eight bytes of a and two columns of b.
func (x *Machine) DotMatrices(acc, a, b vec.V) {
	x.VSMMLA(vector(b).B16(), vector(a).B16(), vector(acc).S4())
}
