package vec

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// x86Masks is how a form of vectors names some of its lanes: by an opmask, or by
// a vector of all-ones lanes.
type x86Masks interface {
	// source is where the mask of the first count lanes comes from, 0 <= count <= width:
	// the mask itself, or, where it takes a vector register, its address.
	source(x *X86, count reg.Register) reg.Register
	// register is the mask of a source.
	register(x *X86, source reg.Register) reg.Register
	// load reads the lanes of the mask; lanes outside it hold fill.
	load(x *X86, m operand.Mem, mask reg.Register, fill Const, v reg.VecVirtual) V
	store(x *X86, v reg.Register, mask reg.Register, m operand.Mem)
	// keep is v with fill in the lanes that the mask leaves out.
	keep(x *X86, v V, mask reg.Register, fill Const) V
	// fresh is a register for a mask.
	fresh(x *X86) reg.Register
	// choose is a where the mask is true, b elsewhere.
	choose(x *X86, mask reg.Register, a, b V) V
}

// opmasks are AVX-512's.
type opmasks struct{}

func (opmasks) source(x *X86, count reg.Register) reg.Register {
	k, ones := x.K(), x.GP64()
	x.MOVQ(operand.I32(-1), ones)
	x.BZHIQ(count, ones, ones)
	x.KMOVW(ones.As32(), k)
	return k
}

func (opmasks) register(_ *X86, source reg.Register) reg.Register { return source }

func (opmasks) load(x *X86, m operand.Mem, mask reg.Register, fill Const, v reg.VecVirtual) V {
	if fill == 0 {
		x.VMOVUPS_Z(m, mask, v)
		return V{x86: v}
	}
	x.VMOVUPS(x.constMem(fill), v)
	x.VMOVUPS(m, mask, v)
	return V{x86: v}
}

func (opmasks) store(x *X86, v, mask reg.Register, m operand.Mem) { x.VMOVUPS(v, mask, m) }

func (opmasks) keep(x *X86, v V, mask reg.Register, fill Const) V {
	w := x.NewV()
	if fill == 0 {
		x.VMOVAPS_Z(v.x86, mask, w)
		return V{x86: w}
	}
	x.VMOVUPS(x.constMem(fill), w)
	x.VMOVAPS(v.x86, mask, w)
	return V{x86: w}
}

func (opmasks) fresh(x *X86) reg.Register { return x.K() }

func (opmasks) choose(x *X86, mask reg.Register, a, b V) V {
	w := x.NewV()
	x.VBLENDMPS(a.x86, b.x86, mask, w)
	return V{x86: w}
}

// vectorMasks are AVX2's, read at a sliding offset from a table of ones followed by zeros.
type vectorMasks struct{}

func (vectorMasks) source(x *X86, count reg.Register) reg.Register {
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

func (vectorMasks) register(x *X86, source reg.Register) reg.Register {
	mask := x.NewV()
	x.VMOVUPS(operand.Mem{Base: source}, mask)
	return mask
}

func (k vectorMasks) load(x *X86, m operand.Mem, mask reg.Register, fill Const, v reg.VecVirtual) V {
	x.VMASKMOVPS(m, mask, v)
	if fill == 0 {
		return V{x86: v}
	}
	return k.keep(x, V{x86: v}, mask, fill)
}

func (vectorMasks) store(x *X86, v, mask reg.Register, m operand.Mem) { x.VMASKMOVPS(v, mask, m) }

func (vectorMasks) keep(x *X86, v V, mask reg.Register, fill Const) V {
	w := x.NewV()
	if fill == 0 {
		x.VANDPS(v.x86, mask, w)
		return V{x86: w}
	}
	x.VMOVUPS(x.constMem(fill), w)
	x.VBLENDVPS(mask, v.x86, w, w)
	return V{x86: w}
}

func (vectorMasks) fresh(x *X86) reg.Register { return x.NewV() }

func (vectorMasks) choose(x *X86, mask reg.Register, a, b V) V {
	w := x.NewV()
	x.VBLENDVPS(mask, a.x86, b.x86, w)
	return V{x86: w}
}

// LaneMaskSource is where the mask of the first count lanes comes from,
// 0 <= count <= width: the opmask itself, or, where a mask takes a vector
// register, its address. See LoadMasked and StoreMasked.
func (x *X86) LaneMaskSource(count reg.Register) reg.Register { return x.form.masks.source(x, count) }

// LoadMasked loads the lanes of a mask source into v, zeros elsewhere.
func (x *X86) LoadMasked(m operand.Mem, source reg.Register, v reg.VecVirtual) {
	x.form.masks.load(x, m, x.form.masks.register(x, source), 0, v)
}

// StoreMasked stores the lanes of a mask source.
func (x *X86) StoreMasked(v reg.VecVirtual, source reg.Register, m operand.Mem) {
	x.form.masks.store(x, v, x.form.masks.register(x, source), m)
}

// Tail implements Machine.
func (x *X86) Tail(n Int) Tail {
	count := x.CopyInt(n)
	x.ANDQ(Imm(x.width-1), count.x86)
	return Tail{Count: count, x86: x.form.masks.register(x, x.LaneMaskSource(count.x86))}
}

// LoadTail implements Machine.
func (x *X86) LoadTail(p Ptr, t Tail, fill Const) V {
	return x.form.masks.load(x, at(p, 0), t.x86, fill, x.NewV())
}

// StoreTail implements Machine.
func (x *X86) StoreTail(p Ptr, t Tail, v V) { x.form.masks.store(x, v.x86, t.x86, at(p, 0)) }

// KeepTail implements Machine.
func (x *X86) KeepTail(t Tail, v V, fill Const) V { return x.form.masks.keep(x, v, t.x86, fill) }

// Predicates of VCMPPS, quiet.
const (
	cmpUnordered = 0x03
	cmpGreater   = 0x1e
)

func (x *X86) compare(predicate uint8, a V, b Operand) Mask {
	m := x.form.masks.fresh(x)
	x.VCMPPS(operand.U8(predicate), x.op(b), a.x86, m)
	return Mask{x86: m}
}

// Greater implements Machine.
func (x *X86) Greater(a V, b Operand) Mask { return x.compare(cmpGreater, a, b) }

// Unordered implements Machine.
func (x *X86) Unordered(a, b V) Mask { return x.compare(cmpUnordered, a, b) }

// Select implements Machine.
func (x *X86) Select(m Mask, a, b V) V { return x.form.masks.choose(x, m.x86, a, b) }
