package x86

import (
	"fmt"
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// This file has operations across lanes: sums, maxima and transposes.

// Sums implements Machine: it sums four vectors at a time within groups of four lanes, and then
// across the groups. Half of the operands of the first additions are blended, because few ports
// shuffle.
func (x *Machine) Sums() func(vs []vec.V) vec.V {
	lanes, groups := x.fours(x.VSHUFPS, x.form.blend(x, 0xcccc), x.Add), x.form.groups(x)
	return func(vs []vec.V) vec.V {
		if len(vs) == 1 {
			return x.ReduceAdd(vs[0])
		}
		var sums []vec.V
		for ; len(vs) > 0; vs = vs[min(4, len(vs)):] {
			sums = append(sums, lanes(vs[:min(4, len(vs))]))
		}
		if len(sums) > 1 {
			return groups(sums)
		}
		return vec.V{Reg: x.acrossGroups(vector(sums[0]), func(a, b, w reg.Register) { x.VADDPS(a, b, w) })}
	}
}

// Maxima implements Machine in the same way as Sums.
func (x *Machine) Maxima() func(vs []vec.V) vec.V {
	lanes := x.fours(x.VSHUFPS, x.form.blend(x, 0xcccc), x.Max)
	return func(vs []vec.V) vec.V {
		return vec.V{Reg: x.acrossGroups(vector(lanes(vs)), func(a, b, w reg.Register) { x.VMAXPS(a, b, w) })}
	}
}

// fours combines the four parts of each of two or four vectors. shuffle combines two parts of each
// of two vectors; upper combines the lower half of one vector and the upper half of the other.
func (x *Machine) fours(shuffle func(...operand.Op), upper func(a, b vec.V) vec.V, op func(a vec.V, b vec.Operand) vec.V) func(vs []vec.V) vec.V {
	with := func(imm uint8) func(a, b vec.V) vec.V {
		return func(a, b vec.V) vec.V {
			w := x.NewV()
			shuffle(operand.U8(imm), vector(b), vector(a), w)
			return vec.V{Reg: w}
		}
	}
	crossed, even, odd := with(0x4e), with(0x88), with(0xdd)
	return func(vs []vec.V) vec.V {
		var halves []vec.V
		for i := 0; i < len(vs); i += 2 {
			lower := crossed(vs[i], vs[i+1])
			halves = append(halves, op(upper(vs[i], vs[i+1]), lower))
		}
		a, b := halves[0], halves[len(halves)-1]
		return op(even(a, b), odd(a, b))
	}
}

// ReduceAdd implements Machine.
func (x *Machine) ReduceAdd(v vec.V) vec.V {
	return x.reduce(v, func(a, b, w reg.Register) { x.VADDPS(a, b, w) })
}

// ReduceMax implements Machine.
func (x *Machine) ReduceMax(v vec.V) vec.V {
	return x.reduce(v, func(a, b, w reg.Register) { x.VMAXPS(a, b, w) })
}

// reduce combines each lane with its partner at distance 8, 4, 2, 1. Every lane ends with the full
// result.
func (x *Machine) reduce(v vec.V, op func(a, b, w reg.Register)) vec.V {
	cur := x.acrossGroups(vector(v), op)
	for _, imm := range []uint8{0x4e, 0xb1} {
		s, w := x.NewV(), x.NewV()
		x.VSHUFPS(operand.U8(imm), cur, cur, s)
		op(s, cur, w)
		cur = w
	}
	return vec.V{Reg: cur}
}

// acrossGroups combines the groups of four lanes.
func (x *Machine) acrossGroups(cur reg.VecVirtual, op func(a, b, w reg.Register)) reg.VecVirtual {
	for _, shuffle := range x.form.across {
		s, w := x.NewV(), x.NewV()
		shuffle(x, cur, s)
		op(s, cur, w)
		cur = w
	}
	return cur
}

// TransposeBlock implements Machine.
func (x *Machine) TransposeBlock() int { return x.form.block }

// Transpose implements Machine, with vectors of 128 or 256 bits at any width.
func (x *Machine) Transpose(dst vec.Ptr, ldDst vec.Int, src vec.Ptr, ldSrc vec.Int) {
	side := x.TransposeBlock()
	from := x.rowsFrom(src, ldSrc, side)
	var in [2][4]reg.VecVirtual
	for part := range side / 4 {
		for i := range in[part] {
			in[part][i] = x.quarters(from, i, part)
		}
	}
	to := x.rowsFrom(dst, ldDst, side)
	for part := range side / 4 {
		x.transposeQuarters(in[part], to[4*part:])
	}
}

// TransposeWhole writes the transpose of Width x Width elements: row c of the result is bytes*c
// after dst. Its loads take either of two arithmetic ports, its shuffles only one.
func (x *Machine) TransposeWhole(dst vec.Ptr, bytes int, src vec.Ptr, ldSrc vec.Int) {
	from := x.rowsFrom(src, ldSrc, x.Width())
	for part := range x.Width() / 4 {
		var in [4]reg.VecVirtual
		var to []operand.Mem
		for i := range in {
			in[i] = x.quarters(from, i, part)
			to = append(to, at(dst, bytes*(4*part+i)))
		}
		x.transposeQuarters(in, to)
	}
}

// quarters returns elements 4*part to 4*part+3 of rows i, i+4 and so on, side by side in a
// register: loads replace shuffles across lanes of 128 bits.
func (x *Machine) quarters(rows []operand.Mem, i, part int) reg.VecVirtual {
	v := x.ofWidth(len(rows))
	for lane := range len(rows) / 4 {
		m := rows[4*lane+i].Offset(16 * part)
		switch {
		case len(rows) == 4:
			x.VMOVUPS(m, v)
		case lane == 0 && len(rows) == 8:
			x.VBROADCASTF128(m, v) // avo takes a plain load of 128 bits to leave v's upper half alive
		case lane == 0:
			x.VBROADCASTF32X4(m, v)
		case len(rows) == 8:
			x.VINSERTF128(operand.U8(lane), m, v, v)
		default:
			x.VINSERTF32X4(operand.U8(lane), m, v, v)
		}
	}
	return v
}

// transposeQuarters writes the rows of a transpose that come from four registers of quarters.
func (x *Machine) transposeQuarters(in [4]reg.VecVirtual, to []operand.Mem) {
	fresh := func() reg.VecVirtual { return x.ofWidth(int(in[0].Size()) / 4) }
	var mid [4]reg.VecVirtual
	for i := range 2 {
		mid[2*i], mid[2*i+1] = fresh(), fresh()
		x.VUNPCKLPS(in[2*i+1], in[2*i], mid[2*i])
		x.VUNPCKHPS(in[2*i+1], in[2*i], mid[2*i+1])
	}
	for i := range 4 {
		out := fresh()
		if i%2 == 0 {
			x.VUNPCKLPD(mid[2+i/2], mid[i/2], out)
		} else {
			x.VUNPCKHPD(mid[2+i/2], mid[i/2], out)
		}
		x.VMOVUPS(out, to[i])
	}
}

// ofWidth returns a fresh register of n elements.
func (x *Machine) ofWidth(n int) reg.VecVirtual { return forms[n].newV(x.Context) }

// rowsFrom returns the addresses of n rows that begin at p, ld elements apart.
func (x *Machine) rowsFrom(p vec.Ptr, ld vec.Int, n int) []operand.Mem {
	rows := make([]operand.Mem, n)
	base := general(p)
	for i := range rows {
		rows[i] = operand.Mem{Base: base}
		if i == 0 {
			continue
		}
		rows[i].Index, rows[i].Scale = general(ld), uint8(4*(1+(i-1)%2))
		if i%2 == 0 && i+1 < n {
			next := x.GP64()
			x.LEAQ(rows[i], next)
			base = next
		}
	}
	return rows
}

// Halved adds the upper half of v to the lower half if v is longer than a YMM register.
func (x *Machine) Halved(v reg.VecVirtual) reg.Register {
	if x.form.upper == nil {
		return v.AsY()
	}
	high := x.YMM()
	x.form.upper(x, v, high)
	sum := x.YMM()
	x.VADDPS(high, v.AsY(), sum)
	return sum
}

// DotSums implements Machine.
func (x *Machine) DotSums(sums [][]vec.V) vec.V {
	ys := make([]reg.Register, len(sums), 4)
	for i, chains := range sums {
		switch len(chains) {
		case 1:
			ys[i] = x.Halved(vector(chains[0]))
		case 2:
			ys[i] = vector(x.Add(chains[0], chains[1])).AsY()
		default:
			low, high, both := x.Add(chains[0], chains[2]), x.Add(chains[1], chains[3]), x.YMM()
			x.VINSERTF128(operand.U8(1), vector(high).AsX(), vector(low).AsY(), both)
			ys[i] = both
		}
	}
	last := len(ys) - 1
	all := x.addNeighbours(ys[0], ys[min(1, last)], 0x55, 0xb1)
	more := all
	if last > 1 {
		more = x.addNeighbours(ys[2], ys[last], 0x55, 0xb1)
	}
	all = x.addNeighbours(all, more, 0x33, 0x4e)
	high, sum := x.XMM(), x.NewV()
	x.VEXTRACTF128(operand.U8(1), all, high)
	x.VADDPS(high, all.AsX(), sum.AsX())
	return vec.V{Reg: sum}
}

// addNeighbours adds neighbouring lanes, or groups of lanes, of a, and those of b. odd has the
// lanes of a that come second, and swap is the shuffle that exchanges neighbours. Blends, which run
// on more ports, replace half of the shuffles. In AVX-512 blends do not reach the upper registers:
// there the sums of b come after those of a, and elsewhere between them.
func (x *Machine) addNeighbours(a, b reg.Register, odd, swap uint8) reg.VecVirtual {
	first, second, sum := a, a, x.YMM()
	switch {
	case x.form.upper != nil:
		first, second = x.YMM(), x.YMM()
		x.VSHUFPS(operand.U8(0x88), b, a, first)
		x.VSHUFPS(operand.U8(0xdd), b, a, second)
	case a != b:
		mixed, crossed := x.YMM(), x.YMM()
		first, second = mixed, crossed
		x.VBLENDPS(operand.U8(^odd), b, a, mixed)
		x.VBLENDPS(operand.U8(odd), b, a, crossed)
		x.VPERMILPS(operand.U8(swap), crossed, crossed)
	default:
		crossed := x.YMM()
		second = crossed
		x.VPERMILPS(operand.U8(swap), a, crossed)
	}
	x.VADDPS(second, first, sum)
	return sum
}

// Butterfly implements Machine: it multiplies each lane by 1 or -1 and adds its partner, with one
// rounding. The signs are in a register if there are many: vectors of 64 bytes may cross cache
// lines.
func (x *Machine) Butterfly(distance int) func(v vec.V) vec.V {
	words := make([]uint32, x.Width())
	for i := range words {
		words[i] = vec.ButterflySign(i, distance)
	}
	var signs operand.Op = x.data(fmt.Sprintf("butterfly%dx%d", x.Width(), distance), words)
	if x.Opmasks() {
		v := x.NewV()
		x.VMOVUPS(signs, v)
		signs = v
	}
	return func(v vec.V) vec.V {
		partner := x.NewV()
		switch across := x.form.across; distance {
		case 1:
			x.VSHUFPS(operand.U8(0xb1), vector(v), vector(v), partner)
		case 2:
			x.VSHUFPS(operand.U8(0x4e), vector(v), vector(v), partner)
		default:
			across[len(across)-bits.Len(uint(distance/4))](x, vector(v), partner)
		}
		x.VFMADD132PS(signs, partner, vector(v))
		return v
	}
}
