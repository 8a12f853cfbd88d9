package x86

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/vec"
)

// masks is the way in which a form of vectors selects some of its lanes: with an opmask, or with a
// vector whose lanes are all ones.
type masks interface {
	// source returns the source of the mask of the first count lanes,
	// 0 <= count <= width: the mask itself, or its address if the mask takes a vector register.
	source(x *Machine, count reg.Register) reg.Register
	// register returns the mask of a source.
	register(x *Machine, source reg.Register) reg.Register
	// load loads the lanes of the mask; lanes outside it hold fill.
	load(x *Machine, m operand.Mem, mask reg.Register, fill vec.Const, v reg.VecVirtual) vec.V
	store(x *Machine, v reg.Register, mask reg.Register, m operand.Mem)
	// keep returns v with fill in the lanes outside the mask.
	keep(x *Machine, v vec.V, mask reg.Register, fill vec.Const) vec.V
	// fresh returns a register for a mask.
	fresh(x *Machine) reg.Register
	// choose returns a where the mask is true, b elsewhere.
	choose(x *Machine, mask reg.Register, a, b vec.V) vec.V
}

// kindsOfMasks has the masks of the records.
var kindsOfMasks = map[arch.Masks]masks{arch.Opmasks: opmasks{}, arch.VectorMasks: vectorMasks{}}

// opmasks has the masks of AVX-512.
type opmasks struct{}

func (opmasks) source(x *Machine, count reg.Register) reg.Register {
	k, ones := x.K(), x.GP64()
	x.MOVQ(operand.I32(-1), ones)
	x.BZHIQ(count, ones, ones)
	x.KMOVW(ones.As32(), k)
	return k
}

func (opmasks) register(_ *Machine, source reg.Register) reg.Register { return source }

func (opmasks) load(x *Machine, m operand.Mem, mask reg.Register, fill vec.Const, v reg.VecVirtual) vec.V {
	if fill == 0 {
		x.VMOVUPS_Z(m, mask, v)
		return vec.V{Reg: v}
	}
	x.VBROADCASTSS(x.constant(fill), v)
	x.VMOVUPS(m, mask, v)
	return vec.V{Reg: v}
}

func (opmasks) store(x *Machine, v, mask reg.Register, m operand.Mem) { x.VMOVUPS(v, mask, m) }

func (opmasks) keep(x *Machine, v vec.V, mask reg.Register, fill vec.Const) vec.V {
	w := x.NewV()
	if fill == 0 {
		x.VMOVAPS_Z(vector(v), mask, w)
		return vec.V{Reg: w}
	}
	x.VBROADCASTSS(x.constant(fill), w)
	x.VMOVAPS(vector(v), mask, w)
	return vec.V{Reg: w}
}

func (opmasks) fresh(x *Machine) reg.Register { return x.K() }

func (opmasks) choose(x *Machine, mask reg.Register, a, b vec.V) vec.V {
	w := x.NewV()
	x.VBLENDMPS(vector(a), vector(b), mask, w)
	return vec.V{Reg: w}
}

// vectorMasks has the masks of AVX2, loaded at a sliding offset from a table of ones followed by
// zeros.
type vectorMasks struct{}

func (vectorMasks) source(x *Machine, count reg.Register) reg.Register {
	words := make([]uint32, 2*x.Width())
	for i := range x.Width() {
		words[i] = 0xffffffff
	}
	table, from := x.GP64(), x.GP64()
	x.LEAQ(x.data(fmt.Sprintf("lanes%d", x.Width()), words), table)
	x.MOVQ(operand.U32(uint32(x.Width())), from)
	x.SUBQ(count, from)
	x.LEAQ(operand.Mem{Base: table, Index: from, Scale: 4}, table)
	return table
}

func (vectorMasks) register(x *Machine, source reg.Register) reg.Register {
	mask := x.NewV()
	x.VMOVUPS(operand.Mem{Base: source}, mask)
	return mask
}

func (k vectorMasks) load(x *Machine, m operand.Mem, mask reg.Register, fill vec.Const, v reg.VecVirtual) vec.V {
	x.VMASKMOVPS(m, mask, v)
	if fill == 0 {
		return vec.V{Reg: v}
	}
	return k.keep(x, vec.V{Reg: v}, mask, fill)
}

func (vectorMasks) store(x *Machine, v, mask reg.Register, m operand.Mem) { x.VMASKMOVPS(v, mask, m) }

func (vectorMasks) keep(x *Machine, v vec.V, mask reg.Register, fill vec.Const) vec.V {
	w := x.NewV()
	if fill == 0 {
		x.VANDPS(vector(v), mask, w)
		return vec.V{Reg: w}
	}
	x.VMOVUPS(x.constMem(fill), w)
	x.VBLENDVPS(mask, vector(v), w, w)
	return vec.V{Reg: w}
}

func (vectorMasks) fresh(x *Machine) reg.Register { return x.NewV() }

func (vectorMasks) choose(x *Machine, mask reg.Register, a, b vec.V) vec.V {
	w := x.NewV()
	x.VBLENDVPS(mask, vector(a), vector(b), w)
	return vec.V{Reg: w}
}

// LaneMaskSource returns the source of the mask of the first count lanes,
// 0 <= count <= width: the opmask itself, or its address if a mask takes a
// vector register. See LoadMasked and StoreMasked.
func (x *Machine) LaneMaskSource(count reg.Register) reg.Register {
	return x.masks.source(x, count)
}

// LoadMasked loads the lanes of a mask source into v, with zeros elsewhere.
func (x *Machine) LoadMasked(m operand.Mem, source reg.Register, v reg.VecVirtual) {
	x.masks.load(x, m, x.masks.register(x, source), 0, v)
}

// StoreMasked stores the lanes of a mask source.
func (x *Machine) StoreMasked(v reg.VecVirtual, source reg.Register, m operand.Mem) {
	x.masks.store(x, v, x.masks.register(x, source), m)
}

// Tail implements Machine.
func (x *Machine) Tail(n vec.Int) vec.Tail {
	count := x.CopyInt(n)
	x.ANDQ(Imm(x.Width()-1), general(count))
	return vec.Tail{Count: count, Reg: x.masks.register(x, x.LaneMaskSource(general(count)))}
}

// LoadTail implements Machine.
func (x *Machine) LoadTail(p vec.Ptr, t vec.Tail, fill vec.Const) vec.V {
	return x.masks.load(x, at(p, 0), tail(t), fill, x.NewV())
}

// StoreTail implements Machine.
func (x *Machine) StoreTail(p vec.Ptr, t vec.Tail, v vec.V) {
	x.masks.store(x, vector(v), tail(t), at(p, 0))
}

// KeepTail implements Machine.
func (x *Machine) KeepTail(t vec.Tail, v vec.V, fill vec.Const) vec.V {
	return x.masks.keep(x, v, tail(t), fill)
}

// These are quiet predicates of VCMPPS.
const (
	cmpUnordered = 0x03
	cmpGreater   = 0x1e
)

func (x *Machine) compare(predicate uint8, a vec.V, b vec.Operand) vec.Mask {
	m := x.masks.fresh(x)
	x.VCMPPS(operand.U8(predicate), x.op(b), vector(a), m)
	return vec.Mask{Reg: m}
}

// Greater implements Machine.
func (x *Machine) Greater(a vec.V, b vec.Operand) vec.Mask { return x.compare(cmpGreater, a, b) }

// Unordered implements Machine.
func (x *Machine) Unordered(a, b vec.V) vec.Mask { return x.compare(cmpUnordered, a, b) }

// Select implements Machine.
func (x *Machine) Select(m vec.Mask, a, b vec.V) vec.V { return x.masks.choose(x, mask(m), a, b) }
