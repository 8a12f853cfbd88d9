package vec

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// x86Form is all that differs between vectors of one width and another.
type x86Form struct {
	newV      func(*build.Context) reg.VecVirtual
	registers int
	// broadcasts is set where an operand in memory may be one element for every lane.
	broadcasts bool
	masks      x86Masks
	// masking is set where masks cost nothing.
	masking bool
	// extract moves four lanes, by number, of a longer vector.
	extract func(x *X86, group uint8, v reg.Register, to operand.Op)
	// upper moves the upper half of a vector that is longer than a YMM register.
	upper func(x *X86, v reg.Register, to reg.Register)
	// across are the steps of a reduction over the groups of four lanes: each brings
	// to every group its partner.
	across []func(x *X86, v, w reg.Register)
	// halves are the steps from the vector to its four lowest lanes: each gives the lower
	// half, and the upper one in a register of that length.
	halves []func(x *X86, v reg.VecVirtual) (low, high reg.VecVirtual)
	// blend prepares vectors of a's lanes, but b's where the bits are 1.
	blend func(x *X86, bits uint32) func(a, b V) V
	// groups prepares the sums over groups of four lanes of several vectors.
	groups func(x *X86) func(vs []V) V
	// lookups has, by the length of a table, how every lane looks up an element of it.
	lookups map[int]func(x *X86, table operand.Mem) func(index V) V
	// scales is set where VSCALEFPS multiplies by powers of two.
	scales bool
	// block is the side of the squares that are transposed.
	block int
}

// x86Forms are those of AVX2, and of AVX-512 for 16 lanes.
var x86Forms = map[int]x86Form{
	4: {
		newV: (*build.Context).XMM, registers: 16,
		masks:  vectorMasks{},
		blend:  blendByImmediate,
		groups: func(*X86) func([]V) V { return func([]V) V { panic("vec: no groups of lanes") } },
		block:  4,
	},
	8: {
		newV: (*build.Context).YMM, registers: 16,
		masks:   vectorMasks{},
		extract: func(x *X86, group uint8, v reg.Register, to operand.Op) { x.VEXTRACTF128(operand.U8(group), v, to) },
		across: []func(x *X86, v, w reg.Register){
			func(x *X86, v, w reg.Register) { x.VPERM2F128(operand.U8(0x01), v, v, w) },
		},
		halves: []func(*X86, reg.VecVirtual) (low, high reg.VecVirtual){halvesOf8},
		blend:  blendByImmediate,
		groups: func(x *X86) func([]V) V {
			upper := blendByImmediate(x, 0xf0)
			return func(vs []V) V {
				a, crossed := upper(vs[0], vs[1]), x.NewV()
				x.VPERM2F128(operand.U8(0x21), vs[1].x86, vs[0].x86, crossed)
				return x.Add(a, V{x86: crossed})
			}
		},
		lookups: map[int]func(*X86, operand.Mem) func(V) V{8: lookupOne},
		block:   8,
	},
	16: {
		newV: (*build.Context).ZMM, registers: 32, broadcasts: true,
		masks:   opmasks{},
		masking: true,
		extract: func(x *X86, group uint8, v reg.Register, to operand.Op) { x.VEXTRACTF32X4(operand.U8(group), v, to) },
		upper:   func(x *X86, v, to reg.Register) { x.VEXTRACTF64X4(operand.U8(1), v, to) },
		across: []func(x *X86, v, w reg.Register){
			func(x *X86, v, w reg.Register) { x.VSHUFF32X4(operand.U8(0x4e), v, v, w) },
			func(x *X86, v, w reg.Register) { x.VSHUFF32X4(operand.U8(0xb1), v, v, w) },
		},
		halves:  []func(*X86, reg.VecVirtual) (low, high reg.VecVirtual){halvesOf16, halvesOf8},
		blend:   blendByOpmask,
		groups:  func(x *X86) func([]V) V { return x.fours(x.VSHUFF32X4, blendByOpmask(x, 0xff00), x.Add) },
		lookups: map[int]func(*X86, operand.Mem) func(V) V{16: lookupOne, 32: lookupTwo},
		scales:  true,
		block:   8,
	},
}

func halvesOf8(x *X86, v reg.VecVirtual) (low, high reg.VecVirtual) {
	high = x.XMM()
	x.VEXTRACTF128(operand.U8(1), v.AsY(), high)
	return v.AsX().(reg.VecVirtual), high
}

func halvesOf16(x *X86, v reg.VecVirtual) (low, high reg.VecVirtual) {
	high = x.YMM()
	x.VEXTRACTF64X4(operand.U8(1), v, high)
	return v.AsY().(reg.VecVirtual), high
}

func blendByImmediate(x *X86, bits uint32) func(a, b V) V {
	return func(a, b V) V {
		w := x.NewV()
		x.VBLENDPS(operand.U8(uint8(bits)&(1<<x.width-1)), b.x86, a.x86, w)
		return V{x86: w}
	}
}

func blendByOpmask(x *X86, bits uint32) func(a, b V) V {
	from, mask := x.GP32(), x.K()
	x.MOVL(operand.U32(bits), from)
	x.KMOVW(from, mask)
	return func(a, b V) V { x.VMOVAPS(b.x86, mask, a.x86); return a } // VBLENDMPS, in avo's eyes, reads what it overwrites
}

// lookupOne keeps the table in a register, and lookupTwo in two.

func lookupOne(x *X86, table operand.Mem) func(index V) V {
	all := x.NewV()
	x.VMOVUPS(table, all)
	return func(index V) V {
		w := x.NewV()
		x.VPERMPS(all, index.x86, w)
		return V{x86: w}
	}
}

func lookupTwo(x *X86, table operand.Mem) func(index V) V {
	low, high := x.NewV(), x.NewV()
	x.VMOVUPS(table, low)
	x.VMOVUPS(table.Offset(4*x.width), high)
	return func(index V) V {
		w := x.Copy(index)
		x.VPERMI2PS(high, low, w.x86)
		return w
	}
}
