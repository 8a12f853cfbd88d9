package neon

import (
	"github.com/avoformer/avoformer/asm/arm64"
	"github.com/avoformer/avoformer/asm/vec"
)

// This file has arithmetic in the lanes and across them.

// Zero implements Machine.
func (x *Machine) Zero() vec.V {
	v := x.V()
	x.VMOVI(0, v.B16())
	return vec.V{Reg: v}
}

// Splat implements Machine.
func (x *Machine) Splat(c vec.Const) vec.V {
	if c == 0 {
		return x.Zero()
	}
	v := x.V()
	if b := c & 0xff; c == b*0x01010101 {
		x.VMOVI(int(b), v.B16())
		return vec.V{Reg: v}
	}
	x.LoadConst(splat(c), v)
	return vec.V{Reg: v}
}

// Copy implements Machine.
func (x *Machine) Copy(v vec.V) vec.V {
	w := x.V()
	x.VMOV(vector(v), w)
	return vec.V{Reg: w}
}

// CopyTo implements Machine.
func (x *Machine) CopyTo(dst, src vec.V) { x.VMOV(vector(src), vector(dst)) }

// three emits the instruction with a fresh destination.
func (x *Machine) three(f func(m, n, d arm64.Arranged), a vec.V, b vec.Operand) vec.V {
	w := x.V()
	f(x.op(b).S4(), vector(a).S4(), w.S4())
	return vec.V{Reg: w}
}

// Add implements Machine.
func (x *Machine) Add(a vec.V, b vec.Operand) vec.V { return x.three(x.VFADD, a, b) }

// Sub implements Machine.
func (x *Machine) Sub(a vec.V, b vec.Operand) vec.V { return x.three(x.VFSUB, a, b) }

// Mul implements Machine.
func (x *Machine) Mul(a vec.V, b vec.Operand) vec.V {
	return x.three(func(m, n, d arm64.Arranged) { x.VFMUL(m, n, d) }, a, b)
}

// Div implements Machine.
func (x *Machine) Div(a, b vec.V) vec.V { return x.three(x.VFDIV, a, b) }

// Sqrt implements Machine.
func (x *Machine) Sqrt(a vec.V) vec.V {
	w := x.V()
	x.VFSQRT(vector(a).S4(), w.S4())
	return vec.V{Reg: w}
}

// Max implements Machine. It keeps a NaN in either operand.
func (x *Machine) Max(a vec.V, b vec.Operand) vec.V { return x.three(x.VFMAX, a, b) }

// Least implements Machine.
func (x *Machine) Least(least, y vec.V) vec.V { return x.Select(x.Greater(least, y), least, y) }

// Min implements Machine. It keeps a NaN in either operand.
func (x *Machine) Min(a vec.V, b vec.Operand) vec.V { return x.three(x.VFMIN, a, b) }

// AddTo implements Machine.
func (x *Machine) AddTo(acc vec.V, b vec.Operand) {
	x.VFADD(x.op(b).S4(), vector(acc).S4(), vector(acc).S4())
}

// MulTo implements Machine.
func (x *Machine) MulTo(acc vec.V, b vec.Operand) {
	x.VFMUL(x.op(b).S4(), vector(acc).S4(), vector(acc).S4())
}

// MaxTo implements Machine.
func (x *Machine) MaxTo(acc vec.V, b vec.Operand) {
	x.VFMAX(x.op(b).S4(), vector(acc).S4(), vector(acc).S4())
}

// FMATo implements Machine.
func (x *Machine) FMATo(acc, a vec.V, b vec.Operand) {
	x.VFMLA(x.op(b).S4(), vector(a).S4(), vector(acc).S4())
}

// FNMATo implements Machine.
func (x *Machine) FNMATo(acc, a vec.V, b vec.Operand) {
	x.VFMLS(x.op(b).S4(), vector(a).S4(), vector(acc).S4())
}

// Horner implements Machine. The product is added to a fresh copy of c.
func (x *Machine) Horner(p, y vec.V, c vec.Operand) vec.V {
	var sum vec.V
	switch c := c.(type) {
	case vec.Const:
		sum = x.Splat(c)
	case vec.V:
		sum = x.Copy(c)
	}
	x.VFMLA(vector(y).S4(), vector(p).S4(), vector(sum).S4())
	return sum
}

// bits emits the instruction on bytes with a fresh destination.
func (x *Machine) bits(f func(m, n, d arm64.Arranged), a vec.V, b vec.Operand) vec.V {
	w := x.V()
	f(x.op(b).B16(), vector(a).B16(), w.B16())
	return vec.V{Reg: w}
}

// And implements Machine.
func (x *Machine) And(a vec.V, b vec.Operand) vec.V { return x.bits(x.VAND, a, b) }

// Or implements Machine.
func (x *Machine) Or(a vec.V, b vec.Operand) vec.V { return x.bits(x.VORR, a, b) }

// Xor implements Machine.
func (x *Machine) Xor(a vec.V, b vec.Operand) vec.V { return x.bits(x.VEOR, a, b) }

// Greater implements Machine.
func (x *Machine) Greater(a vec.V, b vec.Operand) vec.Mask {
	return vec.Mask{Reg: vector(x.three(x.VFCMGT, a, b))}
}

// Unordered implements Machine.
func (x *Machine) Unordered(a, b vec.V) vec.Mask {
	ordered := x.And(x.three(x.VFCMEQ, a, a), x.three(x.VFCMEQ, b, b))
	w := x.V()
	x.VNOT(vector(ordered).B16(), w.B16())
	return vec.Mask{Reg: w}
}

// Select implements Machine.
func (x *Machine) Select(m vec.Mask, a, b vec.V) vec.V {
	w := x.Copy(vec.V{Reg: mask(m)})
	x.VBSL(vector(b).B16(), vector(a).B16(), vector(w).B16())
	return w
}

// AddInt32To implements Machine.
func (x *Machine) AddInt32To(acc vec.V, b vec.Operand) {
	x.VADD(x.op(b).S4(), vector(acc).S4(), vector(acc).S4())
}

// SubInt32 implements Machine.
func (x *Machine) SubInt32(a vec.V, b vec.Operand) vec.V { return x.three(x.VSUB, a, b) }

// ShiftLeft implements Machine.
func (x *Machine) ShiftLeft(a vec.V, bits int) vec.V {
	w := x.V()
	x.VSHL(bits, vector(a).S4(), w.S4())
	return vec.V{Reg: w}
}

// Pow2Steps implements Machine. The table has the lowest bytes of all words first, then the next
// ones: the bytes of a word are 8 apart.
func (x *Machine) Pow2Steps(steps [8]float32) func(biased vec.V) vec.V {
	var table [8]uint32
	for i, w := range vec.StepWords(steps) {
		for b := range 4 {
			table[2*b+i/4] |= w >> (8 * b) & 0xff << (i % 4 * 8)
		}
	}
	low, high := x.TablePair()
	x.LoadConst([4]uint32(table[:4]), low)
	x.LoadConst([4]uint32(table[4:]), high)
	lowest := x.Const([4]uint32{0, 0x04040404, 0x08080808, 0x0c0c0c0c}) // the lowest byte of each lane, four times
	step, places := x.Const(splat(0x07070707)), x.Const(splat(0x18100800))
	return func(biased vec.V) vec.V {
		at, w := x.V(), x.V()
		x.VTBL(lowest.B16(), vector(biased), at.B16())
		x.VAND(step.B16(), at.B16(), at.B16())
		x.VORR(places.B16(), at.B16(), at.B16())
		x.VTBL2(at.B16(), low, high, w.B16())
		x.VSHL(vec.StepShift, vector(biased).S4(), at.S4())
		x.VADD(at.S4(), w.S4(), w.S4())
		return vec.V{Reg: w}
	}
}

// ScaleByPow2Full implements Machine: 2^N as the product of two powers that are normal numbers, N =
// floor(N/2) + (N - floor(N/2)).
func (x *Machine) ScaleByPow2Full(p vec.V, r vec.Rounded) vec.V {
	one := x.op(vec.One).S4()
	half, rest, w := x.V().S4(), x.V().S4(), x.V()
	x.VSHL(10, vector(r.Biased).S4(), half) // drop the bias, keep the sign
	x.VSSHR(11, half, half)                 // floor(N/2)
	x.VSUB(half, vector(r.Biased).S4(), rest)
	for _, n := range []arm64.Arranged{half, rest} {
		x.VSHL(23, n, n)
		x.VADD(one, n, n)
	}
	x.VFMUL(rest, vector(p).S4(), w.S4())
	x.VFMUL(half, w.S4(), w.S4())
	return vec.V{Reg: w}
}

// Sums implements Machine: it adds pairs twice.
func (x *Machine) Sums() func(vs []vec.V) vec.V { return x.ofEach(x.VFADDP) }

// DotSums implements Machine.
func (x *Machine) DotSums(sums [][]vec.V) vec.V {
	var low, high []vec.V
	for _, v := range sums {
		low, high = append(low, x.Add(v[0], v[2])), append(high, x.Add(v[1], v[3]))
	}
	pairs := x.Sums()
	return x.Add(pairs(low), pairs(high))
}

// Maxima implements Machine in the same way as Sums.
func (x *Machine) Maxima() func(vs []vec.V) vec.V { return x.ofEach(x.VFMAXP) }

func (x *Machine) ofEach(pairs func(m, n, d arm64.Arranged)) func(vs []vec.V) vec.V {
	return func(vs []vec.V) vec.V {
		for range 2 {
			var of []vec.V
			for i := 0; i < len(vs); i += 2 {
				of = append(of, x.three(pairs, vs[i], vs[min(i+1, len(vs)-1)]))
			}
			vs = of
		}
		return vs[0]
	}
}

// ReduceAdd implements Machine.
func (x *Machine) ReduceAdd(v vec.V) vec.V { return x.reduce(x.VFADD, x.VFADDP, v) }

// ReduceMax implements Machine.
func (x *Machine) ReduceMax(v vec.V) vec.V { return x.reduce(x.VFMAX, x.VFMAXP, v) }

// reduce combines each lane with its partner at distance 2, as on machines with longer vectors, and
// then pairs. Every lane ends with the full result.
func (x *Machine) reduce(op, pairs func(m, n, d arm64.Arranged), v vec.V) vec.V {
	crossed := x.V()
	x.VEXT(8, vector(v).B16(), vector(v).B16(), crossed.B16())
	v = x.three(op, v, vec.V{Reg: crossed})
	return x.three(pairs, v, v)
}

// TransposeBlock implements Machine.
func (x *Machine) TransposeBlock() int { return 4 }

// Transpose implements Machine: zipping rows 0 and 2, and 1 and 3, and then the results, brings
// each column together.
func (x *Machine) Transpose(dst vec.Ptr, ldDst vec.Int, src vec.Ptr, ldSrc vec.Int) {
	var rows, mid [4]vec.V
	p := x.CopyPtr(src)
	for i := range rows {
		rows[i] = x.Load(p, 0)
		x.BumpBy(p, ldSrc)
	}
	mid[0], mid[1] = x.three(x.VZIP1, rows[0], rows[2]), x.three(x.VZIP2, rows[0], rows[2])
	mid[2], mid[3] = x.three(x.VZIP1, rows[1], rows[3]), x.three(x.VZIP2, rows[1], rows[3])
	p = x.CopyPtr(dst)
	for i := range rows {
		op := x.VZIP1
		if i%2 == 1 {
			op = x.VZIP2
		}
		x.Store(p, 0, x.three(op, mid[i/2], mid[2+i/2]))
		x.BumpBy(p, ldDst)
	}
}

// Butterfly implements Machine as on amd64.
func (x *Machine) Butterfly(distance int) func(v vec.V) vec.V {
	var signs [4]uint32
	for i := range signs {
		signs[i] = vec.ButterflySign(i, distance)
	}
	return func(v vec.V) vec.V {
		partner := x.V()
		if distance == 1 {
			x.VTBL(x.Const([4]uint32{0x07060504, 0x03020100, 0x0f0e0d0c, 0x0b0a0908}).B16(), vector(v), partner.B16())
		} else {
			x.VEXT(8, vector(v).B16(), vector(v).B16(), partner.B16())
		}
		x.VFMLA(x.Const(signs).S4(), vector(v).S4(), partner.S4())
		return vec.V{Reg: partner}
	}
}
