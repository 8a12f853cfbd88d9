package x86

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// form has everything that depends on the width of vectors.
type form struct {
	newV func(*build.Context) reg.VecVirtual
	// extract extracts four lanes, the group of that number, from a longer vector.
	extract func(x *Machine, group uint8, v reg.Register, to operand.Op)
	// upper moves the upper half of a vector that is longer than a YMM register.
	upper func(x *Machine, v reg.Register, to reg.Register)
	// across has the steps of a reduction over the groups of four lanes: each brings every group's
	// partner to it.
	across []func(x *Machine, v, w reg.Register)
	// halves has the steps from the vector to its four lowest lanes: each returns the lower half,
	// and the upper half in a register of the same length.
	halves []func(x *Machine, v reg.VecVirtual) (low, high reg.VecVirtual)
	// blend prepares a function that returns the lanes of b where bits are 1, and those of a
	// elsewhere.
	blend func(x *Machine, bits uint32) func(a, b vec.V) vec.V
	// groups prepares the sums over groups of four lanes of several vectors.
	groups func(x *Machine) func(vs []vec.V) vec.V
	// scales reports that VSCALEFPS multiplies by powers of two.
	scales bool
	// block is the side of the squares that are transposed.
	block int
}

// forms has the forms of AVX2, and that of AVX-512 for 16 lanes.
var forms = map[int]form{
	4: {
		newV:   (*build.Context).XMM,
		blend:  blendByImmediate,
		groups: func(*Machine) func([]vec.V) vec.V { return func([]vec.V) vec.V { panic("vec: no groups of lanes") } },
		block:  4,
	},
	8: {
		newV:    (*build.Context).YMM,
		extract: func(x *Machine, group uint8, v reg.Register, to operand.Op) { x.VEXTRACTF128(operand.U8(group), v, to) },
		across: []func(x *Machine, v, w reg.Register){
			func(x *Machine, v, w reg.Register) { x.VPERM2F128(operand.U8(0x01), v, v, w) },
		},
		halves: []func(*Machine, reg.VecVirtual) (low, high reg.VecVirtual){halvesOf8},
		blend:  blendByImmediate,
		groups: func(x *Machine) func([]vec.V) vec.V {
			upper := blendByImmediate(x, 0xf0)
			return func(vs []vec.V) vec.V {
				a, crossed := upper(vs[0], vs[1]), x.NewV()
				x.VPERM2F128(operand.U8(0x21), vector(vs[1]), vector(vs[0]), crossed)
				return x.Add(a, vec.V{Reg: crossed})
			}
		},
		block: 8,
	},
	16: {
		newV: (*build.Context).ZMM,
		extract: func(x *Machine, group uint8, v reg.Register, to operand.Op) {
			x.VEXTRACTF32X4(operand.U8(group), v, to)
		},
		upper: func(x *Machine, v, to reg.Register) { x.VEXTRACTF64X4(operand.U8(1), v, to) },
		across: []func(x *Machine, v, w reg.Register){
			func(x *Machine, v, w reg.Register) { x.VSHUFF32X4(operand.U8(0x4e), v, v, w) },
			func(x *Machine, v, w reg.Register) { x.VSHUFF32X4(operand.U8(0xb1), v, v, w) },
		},
		halves: []func(*Machine, reg.VecVirtual) (low, high reg.VecVirtual){halvesOf16, halvesOf8},
		blend:  blendByOpmask,
		groups: func(x *Machine) func([]vec.V) vec.V { return x.fours(x.VSHUFF32X4, blendByOpmask(x, 0xff00), x.Add) },
		scales: true,
		block:  8,
	},
}

func halvesOf8(x *Machine, v reg.VecVirtual) (low, high reg.VecVirtual) {
	high = x.XMM()
	x.VEXTRACTF128(operand.U8(1), v.AsY(), high)
	return v.AsX().(reg.VecVirtual), high
}

func halvesOf16(x *Machine, v reg.VecVirtual) (low, high reg.VecVirtual) {
	high = x.YMM()
	x.VEXTRACTF64X4(operand.U8(1), v, high)
	return v.AsY().(reg.VecVirtual), high
}

func blendByImmediate(x *Machine, bits uint32) func(a, b vec.V) vec.V {
	return func(a, b vec.V) vec.V {
		w := x.NewV()
		x.VBLENDPS(operand.U8(uint8(bits)&(1<<x.Width()-1)), vector(b), vector(a), w)
		return vec.V{Reg: w}
	}
}

func blendByOpmask(x *Machine, bits uint32) func(a, b vec.V) vec.V {
	from, mask := x.GP32(), x.K()
	x.MOVL(operand.U32(bits), from)
	x.KMOVW(from, mask)
	return func(a, b vec.V) vec.V { x.VMOVAPS(vector(b), mask, vector(a)); return a } // avo takes VBLENDMPS to read the register that it overwrites
}
