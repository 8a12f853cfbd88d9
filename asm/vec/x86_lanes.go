package vec

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What goes across lanes: sums, maxima and transposes.

// Sums implements Machine: four vectors at a time within groups of four lanes, and
// then across the groups. Half of what a first addition takes is blended, since few
// ports shuffle.
func (x *X86) Sums() func(vs []V) V {
	lanes, groups := x.fours(x.VSHUFPS, x.form.blend(x, 0xcccc), x.Add), x.form.groups(x)
	return func(vs []V) V {
		if len(vs) == 1 {
			return x.ReduceAdd(vs[0])
		}
		var sums []V
		for ; len(vs) > 0; vs = vs[min(4, len(vs)):] {
			sums = append(sums, lanes(vs[:min(4, len(vs))]))
		}
		if len(sums) > 1 {
			return groups(sums)
		}
		return V{x86: x.acrossGroups(sums[0].x86, func(a, b, w reg.Register) { x.VADDPS(a, b, w) })}
	}
}

// Maxima implements Machine, as Sums does.
func (x *X86) Maxima() func(vs []V) V {
	lanes := x.fours(x.VSHUFPS, x.form.blend(x, 0xcccc), x.Max)
	return func(vs []V) V {
		return V{x86: x.acrossGroups(lanes(vs).x86, func(a, b, w reg.Register) { x.VMAXPS(a, b, w) })}
	}
}

// fours combines the four parts of each vector, of which there are two or four. shuffle takes
// two parts of each of two vectors; upper is the lower half of one and the upper of another.
func (x *X86) fours(shuffle func(...operand.Op), upper func(a, b V) V, op func(a V, b Operand) V) func(vs []V) V {
	with := func(imm uint8) func(a, b V) V {
		return func(a, b V) V {
			w := x.NewV()
			shuffle(operand.U8(imm), b.x86, a.x86, w)
			return V{x86: w}
		}
	}
	crossed, even, odd := with(0x4e), with(0x88), with(0xdd)
	return func(vs []V) V {
		var halves []V
		for i := 0; i < len(vs); i += 2 {
			lower := crossed(vs[i], vs[i+1])
			halves = append(halves, op(upper(vs[i], vs[i+1]), lower))
		}
		a, b := halves[0], halves[len(halves)-1]
		return op(even(a, b), odd(a, b))
	}
}

// ReduceAdd implements Machine.
func (x *X86) ReduceAdd(v V) V { return x.reduce(v, func(a, b, w reg.Register) { x.VADDPS(a, b, w) }) }

// ReduceMax implements Machine.
func (x *X86) ReduceMax(v V) V { return x.reduce(v, func(a, b, w reg.Register) { x.VMAXPS(a, b, w) }) }

// reduce combines each lane with its partner at distance 8, 4, 2, 1, so that
// every lane ends with the whole.
func (x *X86) reduce(v V, op func(a, b, w reg.Register)) V {
	cur := x.acrossGroups(v.x86, op)
	for _, imm := range []uint8{0x4e, 0xb1} {
		s, w := x.NewV(), x.NewV()
		x.VSHUFPS(operand.U8(imm), cur, cur, s)
		op(s, cur, w)
		cur = w
	}
	return V{x86: cur}
}

// acrossGroups combines the groups of four lanes.
func (x *X86) acrossGroups(cur reg.VecVirtual, op func(a, b, w reg.Register)) reg.VecVirtual {
	for _, shuffle := range x.form.across {
		s, w := x.NewV(), x.NewV()
		shuffle(x, cur, s)
		op(s, cur, w)
		cur = w
	}
	return cur
}

// TransposeBlock implements Machine.
func (x *X86) TransposeBlock() int { return x.form.block }

// Transpose implements Machine, with vectors of 128 or 256 bits at any width.
func (x *X86) Transpose(dst Ptr, ldDst Int, src Ptr, ldSrc Int) {
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

// TransposeScaled writes the transpose of Width x Width elements, times a factor: row c of the
// result is bytes*c behind dst. Its loads take either port of the arithmetic, its shuffles one.
func (x *X86) TransposeScaled(dst Ptr, bytes int, src Ptr, ldSrc Int, factor V) {
	from := x.rowsFrom(src, ldSrc, x.width)
	for part := range x.width / 4 {
		var in [4]reg.VecVirtual
		var to []operand.Mem
		for i := range in {
			in[i] = x.quarters(from, i, part)
			x.VMULPS(factor.x86, in[i], in[i])
			to = append(to, at(dst, bytes*(4*part+i)))
		}
		x.transposeQuarters(in, to)
	}
}

// quarters are elements 4*part to 4*part+3 of rows i, i+4 and so on, side by side in a register: loads in
// the place of shuffles that cross lanes of 128 bits.
func (x *X86) quarters(rows []operand.Mem, i, part int) reg.VecVirtual {
	v := x.ofWidth(len(rows))
	for lane := range len(rows) / 4 {
		m := rows[4*lane+i].Offset(16 * part)
		switch {
		case len(rows) == 4:
			x.VMOVUPS(m, v)
		case lane == 0 && len(rows) == 8:
			x.VBROADCASTF128(m, v) // a plain load of 128 bits, in avo's eyes, leaves v's upper half alive
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

// transposeQuarters writes the rows of a transpose that come of four registers of quarters.
func (x *X86) transposeQuarters(in [4]reg.VecVirtual, to []operand.Mem) {
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

// ofWidth is a fresh register of n elements.
func (x *X86) ofWidth(n int) reg.VecVirtual { return x86Forms[n].newV(x.Context) }

// rowsFrom are the addresses of n rows that begin at p, ld elements apart.
func (x *X86) rowsFrom(p Ptr, ld Int, n int) []operand.Mem {
	rows := make([]operand.Mem, n)
	base := p.x86
	for i := range rows {
		rows[i] = operand.Mem{Base: base}
		if i == 0 {
			continue
		}
		rows[i].Index, rows[i].Scale = ld.x86, uint8(4*(1+(i-1)%2))
		if i%2 == 0 && i+1 < n {
			next := x.GP64()
			x.LEAQ(rows[i], next)
			base = next
		}
	}
	return rows
}

// Halved is v with its upper half added to the lower where it is longer than a YMM register.
func (x *X86) Halved(v reg.VecVirtual) reg.Register {
	if x.form.upper == nil {
		return v.AsY()
	}
	high := x.YMM()
	x.form.upper(x, v, high)
	sum := x.YMM()
	x.VADDPS(high, v.AsY(), sum)
	return sum
}
