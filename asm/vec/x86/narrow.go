package x86

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// This file has single numbers, and integers narrower than a lane.

// BumpBytes implements Machine.
func (x *Machine) BumpBytes(p vec.Ptr, n vec.Int, size int) {
	x.LEAQ(operand.Mem{Base: general(p), Index: general(n), Scale: uint8(size)}, general(p))
}

// Scalars implements Machine.
func (x *Machine) Scalars() vec.Machine { return x.narrow() }

// FoldAddInt32 implements Machine.
func (x *Machine) FoldAddInt32(v vec.V) vec.V {
	return x.fold(v, func(a, b, w reg.Register) { x.VPADDD(a, b, w) })
}

// FoldMaxMagnitude implements Machine.
func (x *Machine) FoldMaxMagnitude(v vec.V) vec.V {
	return x.fold(v, func(a, b, w reg.Register) { x.VPMAXSD(a, b, w) })
}

// fold combines the halves of v down to four lanes, and then these lanes.
func (x *Machine) fold(v vec.V, op func(a, b, w reg.Register)) vec.V {
	cur := vector(v)
	for _, halves := range x.form.halves {
		low, high := halves(x, cur)
		op(low, high, high)
		cur = high
	}
	return x.narrow().reduce(vec.V{Reg: cur}, op)
}

// Spread implements Machine.
func (x *Machine) Spread(v vec.V) vec.V {
	w := x.NewV()
	x.VBROADCASTSS(vector(v), w)
	return vec.V{Reg: w}
}

// StoreNarrow implements Machine. On AVX2 it gathers the bytes in each group of four lanes, and
// then the groups.
func (x *Machine) StoreNarrow(p vec.Ptr, off int, v vec.V, bytes int) {
	to := at(p, off)
	switch {
	case x.Opmasks() && bytes == 1:
		x.VPMOVDB(vector(v), to)
		return
	case x.Opmasks():
		x.VPMOVDW(vector(v), to)
		return
	}
	words := make([]uint32, x.Width())
	for i := range words {
		words[i] = 0x80808080 // zero
	}
	for group := 0; group < x.Width(); group += 4 {
		words[group] = 0x0c080400
		if bytes == 2 {
			words[group], words[group+1] = 0x05040100, 0x0d0c0908
		}
	}
	w := x.NewV()
	x.VPSHUFB(x.data(fmt.Sprintf("narrow%dx%d", x.Width(), bytes), words), vector(v), w)
	low := w.AsX()
	for _, halves := range x.form.halves {
		_, high := halves(x, w)
		if bytes == 1 {
			x.VPUNPCKLDQ(high, low, low)
		} else {
			x.VPUNPCKLQDQ(high, low, low)
		}
	}
	switch x.Width() * bytes {
	case 16:
		x.VMOVDQU(low, to)
	case 8:
		x.VMOVQ(low, to)
	case 4:
		x.VMOVD(low, to)
	}
}
