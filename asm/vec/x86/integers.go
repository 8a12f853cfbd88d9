package x86

import (
	"encoding/binary"
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// This file has lanes as integers, and their products.

func lane(l vec.Lane) reg.VecVirtual { return l.Reg.(reg.VecVirtual) }

// LoadTwo implements Tiler.
func (x *Machine) LoadTwo(p vec.Ptr, off int) (vec.V, vec.V) {
	return x.Load(p, off), x.Load(p, off+4*x.Width())
}

// StoreTwo implements Tiler.
func (x *Machine) StoreTwo(p vec.Ptr, off int, a, b vec.V) {
	x.Store(p, off, a)
	x.Store(p, off+4*x.Width(), b)
}

// LoadLanes implements Tiler.
func (x *Machine) LoadLanes(p vec.Ptr, n int) vec.V {
	v := x.NewV()
	switch m := at(p, 0); n {
	case 1:
		x.VMOVSS(m, v.AsX())
	case 2:
		x.VMOVSD(m, v.AsX())
	case 4:
		x.VMOVUPS(m, v.AsX())
	case 8:
		x.VMOVUPS(m, v.AsY())
	}
	return vec.V{Reg: v}
}

// AddLoad implements Tiler.
func (x *Machine) AddLoad(acc vec.V, p vec.Ptr, off int) {
	x.VADDPS(at(p, off), vector(acc), vector(acc))
}

// LoadTo implements Tiler.
func (x *Machine) LoadTo(dst vec.V, p vec.Ptr, off int) { x.VMOVUPS(at(p, off), vector(dst)) }

// MulLane implements Tiler.
func (x *Machine) MulLane(l vec.Lane, b vec.V) vec.V { return x.Mul(vec.V{Reg: l.Reg}, b) }

// MulLaneTo implements Tiler.
func (x *Machine) MulLaneTo(acc vec.V, l vec.Lane) { x.VMULPS(lane(l), vector(acc), vector(acc)) }

// FMALane implements Tiler.
func (x *Machine) FMALane(acc vec.V, l vec.Lane, b vec.V) {
	x.VFMADD231PS(vector(b), lane(l), vector(acc))
}

// SpreadInt implements Tiler.
func (x *Machine) SpreadInt(p vec.Ptr, off int) vec.V {
	v := x.NewV()
	x.VPBROADCASTD(at(p, off), v)
	return vec.V{Reg: v}
}

// IntToFloat implements Tiler.
func (x *Machine) IntToFloat(v vec.V) { x.VCVTDQ2PS(vector(v), vector(v)) }

// LoadUint8 implements Tiler.
func (x *Machine) LoadUint8(p vec.Ptr, off int) vec.V {
	v := x.NewV()
	x.VPMOVZXBD(at(p, off), v)
	x.VCVTDQ2PS(v, v)
	return vec.V{Reg: v}
}

// ShiftRight implements Tiler.
func (x *Machine) ShiftRight(v vec.V, bits int) vec.V {
	w := x.NewV()
	x.VPSRLD(operand.U8(bits), vector(v), w)
	return vec.V{Reg: w}
}

// ShiftRightTo implements Tiler.
func (x *Machine) ShiftRightTo(v vec.V, bits int) { x.VPSRAD(operand.U8(bits), vector(v), vector(v)) }

// AndInt implements Tiler.
func (x *Machine) AndInt(a, b vec.V) vec.V {
	w := x.NewV()
	x.and(vector(b), vector(a), w)
	return vec.V{Reg: w}
}

// and is VPAND or, for vectors of 512 bits, VPANDD.
func (x *Machine) and(a, b, to reg.VecVirtual) {
	if x.Width() == 16 {
		x.VPANDD(a, b, to)
		return
	}
	x.VPAND(a, b, to)
}

// OrIntTo implements Tiler.
func (x *Machine) OrIntTo(acc, b vec.V) {
	if x.Width() == 16 {
		x.VPORD(vector(b), vector(acc), vector(acc))
		return
	}
	x.VPOR(vector(b), vector(acc), vector(acc))
}

// LoadPowers implements Tiler. The exponent of a float is the byte minus one. The two powers below
// all exponents are denormal: as integers, 2^21 and twice that.
func (x *Machine) LoadPowers(p vec.Ptr, off int) vec.V {
	one, v, low := x.Constant(1), x.NewV(), x.NewV()
	x.VPMOVZXBD(at(p, off), v)
	x.VPADDD(one, v, low)
	x.VPSLLD(operand.U8(21), low, low)
	x.VPSUBD(one, v, v)
	x.VPSLLD(operand.U8(23), v, v)
	x.VMAXPS(low, v, v)
	return vec.V{Reg: v}
}

// Table implements Tiler. It repeats the 16 bytes.
func (x *Machine) Table(name string, b [16]byte) vec.V {
	words := make([]uint32, x.Width())
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[i%4*4:])
	}
	v := x.NewV()
	x.VMOVUPS(x.data(fmt.Sprint(name, x.Width()), words), v)
	return vec.V{Reg: v}
}

// LookUp implements Tiler.
func (x *Machine) LookUp(table, v vec.V) vec.V {
	w := x.NewV()
	x.VPSHUFB(vector(v), vector(table), w)
	return vec.V{Reg: w}
}

// bitsOf has the number of set bits of each number below 16.
var bitsOf = [16]byte{0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4}

// CountBytes implements Tiler with a table, for the lower and the upper four bits.
func (x *Machine) CountBytes() func(v vec.V) vec.V {
	table, low := x.Table("bits", bitsOf), x.Splat(0x0f0f0f0f)
	return func(v vec.V) vec.V {
		count := x.LookUp(table, x.AndInt(v, low))
		upper := x.LookUp(table, x.UpperHalves(v, low))
		x.AddInt32To(count, upper)
		return count
	}
}

// CountWords counts the set bits of every lane, with AVX512-VPOPCNTDQ. It consumes v.
func (x *Machine) CountWords(v vec.V) vec.V {
	x.VPOPCNTD(vector(v), vector(v))
	return v
}

// UpperHalves implements Tiler.
func (x *Machine) UpperHalves(v, ones vec.V) vec.V {
	x.VPSRLD(operand.U8(4), vector(v), vector(v))
	x.and(vector(ones), vector(v), vector(v))
	return v
}

// DotQuads implements Tiler with VPDPBUSD.
func (x *Machine) DotQuads(acc vec.V, l vec.Lane, b vec.V) {
	x.DotBytes(lane(l), vector(b), vector(acc))
}

// QuadsSigned implements Tiler.
func (x *Machine) QuadsSigned() bool { return false }

// The functions below add pairs of products to words or to integers of 32 bits.

// LoadWords loads bytes at p + off and widens them to words.
func (x *Machine) LoadWords(p vec.Ptr, off int) vec.V {
	v := x.NewV()
	x.VPMOVSXBW(at(p, off), v)
	return vec.V{Reg: v}
}

// MulWords multiplies words of a, which may be a lane, by those of b, and writes the sums of pairs
// of products, of 32 bits, into to.
func (x *Machine) MulWords(a, b, to vec.V) { x.VPMADDWD(vector(a), vector(b), vector(to)) }

// DotWords adds pairs of products of words of a, which may be a lane, and b, to integers of 32
// bits: VPDPWSSD.
func (x *Machine) DotWords(acc, a, b vec.V) { x.VPDPWSSD(vector(b), vector(a), vector(acc)) }

// MulBytes returns the sums, as words, of pairs of products of an unsigned byte of b and a signed
// byte of l.
func (x *Machine) MulBytes(l vec.Lane, b vec.V) vec.V {
	v := x.NewV()
	x.VPMADDUBSW(lane(l), vector(b), v)
	return vec.V{Reg: v}
}

// SignBytes returns the bytes of a lane times the signs of those of b, which are -1, 0 and 1.
func (x *Machine) SignBytes(l vec.Lane, b vec.V) vec.Lane {
	v := x.NewV()
	x.VPSIGNB(vector(b), lane(l), v)
	return vec.Lane{Reg: v}
}

// Magnitudes returns the bytes of b without their signs.
func (x *Machine) Magnitudes(b vec.V) vec.V {
	to := x.NewV()
	x.VPABSB(vector(b), to)
	return vec.V{Reg: to}
}

// AddWords adds lanes as words.
func (x *Machine) AddWords(a, b, to vec.V) { x.VPADDW(vector(a), vector(b), vector(to)) }

// SubBytes returns the bytes of a less those of b.
func (x *Machine) SubBytes(a, b vec.V) vec.V {
	w := x.NewV()
	x.VPSUBB(vector(b), vector(a), w)
	return vec.V{Reg: w}
}

// AddIntsAt returns v plus the integers of 32 bits at p + off.
func (x *Machine) AddIntsAt(v vec.V, p vec.Ptr, off int) vec.V {
	w := x.NewV()
	x.VPADDD(at(p, off), vector(v), w)
	return vec.V{Reg: w}
}
