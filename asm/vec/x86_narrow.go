package vec

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Single numbers beside vectors, and integers narrower than a lane.

// BumpBytes implements Machine.
func (x *X86) BumpBytes(p Ptr, n Int, size int) {
	x.LEAQ(operand.Mem{Base: p.x86, Index: n.x86, Scale: uint8(size)}, p.x86)
}

// Scalars implements Machine.
func (x *X86) Scalars() Machine { return NewX86(x.Context, 4, x.pool) }

// FoldAddInt32 implements Machine.
func (x *X86) FoldAddInt32(v V) V {
	return x.fold(v, func(a, b, w reg.Register) { x.VPADDD(a, b, w) })
}

// FoldMaxMagnitude implements Machine.
func (x *X86) FoldMaxMagnitude(v V) V {
	return x.fold(v, func(a, b, w reg.Register) { x.VPMAXSD(a, b, w) })
}

// fold combines the halves of v, down to four lanes, and then these.
func (x *X86) fold(v V, op func(a, b, w reg.Register)) V {
	cur := v.x86
	for _, halves := range x.form.halves {
		low, high := halves(x, cur)
		op(low, high, high)
		cur = high
	}
	return NewX86(x.Context, 4, x.pool).reduce(V{x86: cur}, op)
}

// Spread implements Machine.
func (x *X86) Spread(v V) V {
	w := x.NewV()
	x.VBROADCASTSS(v.x86, w)
	return V{x86: w}
}

// StoreNarrow implements Machine. AVX2 brings the bytes together in each group of four
// lanes, and then the groups.
func (x *X86) StoreNarrow(p Ptr, off int, v V, bytes int) {
	to := at(p, off)
	switch {
	case x.form.masking && bytes == 1:
		x.VPMOVDB(v.x86, to)
		return
	case x.form.masking:
		x.VPMOVDW(v.x86, to)
		return
	}
	words := make([]uint32, x.width)
	for i := range words {
		words[i] = 0x80808080 // zero
	}
	for group := 0; group < x.width; group += 4 {
		words[group] = 0x0c080400
		if bytes == 2 {
			words[group], words[group+1] = 0x05040100, 0x0d0c0908
		}
	}
	w := x.NewV()
	x.VPSHUFB(x.data(fmt.Sprintf("narrow%dx%d", x.width, bytes), words), v.x86, w)
	low := w.AsX()
	for _, halves := range x.form.halves {
		_, high := halves(x, w)
		if bytes == 1 {
			x.VPUNPCKLDQ(high, low, low)
		} else {
			x.VPUNPCKLQDQ(high, low, low)
		}
	}
	switch x.width * bytes {
	case 16:
		x.VMOVDQU(low, to)
	case 8:
		x.VMOVQ(low, to)
	case 4:
		x.VMOVD(low, to)
	}
}
