package vec

import (
	"github.com/avoformer/avoformer/asm/arm64"
)

// Arithmetic in the lanes and across them.

// Zero implements Machine.
func (x *NEON) Zero() V {
	v := x.V()
	x.VMOVI(0, v.B16())
	return V{neon: v}
}

// Splat implements Machine.
func (x *NEON) Splat(c Const) V {
	if c == 0 {
		return x.Zero()
	}
	v := x.V()
	x.LoadConst(splat(c), v)
	return V{neon: v}
}

// Copy implements Machine.
func (x *NEON) Copy(v V) V {
	w := x.V()
	x.VMOV(v.neon, w)
	return V{neon: w}
}

// CopyTo implements Machine.
func (x *NEON) CopyTo(dst, src V) { x.VMOV(src.neon, dst.neon) }

// three is the instruction with a fresh destination.
func (x *NEON) three(f func(m, n, d arm64.Arranged), a V, b Operand) V {
	w := x.V()
	f(x.op(b).S4(), a.neon.S4(), w.S4())
	return V{neon: w}
}

// Add implements Machine.
func (x *NEON) Add(a V, b Operand) V { return x.three(x.VFADD, a, b) }

// Sub implements Machine.
func (x *NEON) Sub(a V, b Operand) V { return x.three(x.VFSUB, a, b) }

// Mul implements Machine.
func (x *NEON) Mul(a V, b Operand) V {
	return x.three(func(m, n, d arm64.Arranged) { x.VFMUL(m, n, d) }, a, b)
}

// Div implements Machine.
func (x *NEON) Div(a, b V) V { return x.three(x.VFDIV, a, b) }

// Sqrt implements Machine.
func (x *NEON) Sqrt(a V) V {
	w := x.V()
	x.VFSQRT(a.neon.S4(), w.S4())
	return V{neon: w}
}

// Max implements Machine. A NaN in either operand stays.
func (x *NEON) Max(a V, b Operand) V { return x.three(x.VFMAX, a, b) }

// Min implements Machine. A NaN in either operand stays.
func (x *NEON) Min(a V, b Operand) V { return x.three(x.VFMIN, a, b) }

// AddTo implements Machine.
func (x *NEON) AddTo(acc V, b Operand) { x.VFADD(x.op(b).S4(), acc.neon.S4(), acc.neon.S4()) }

// MulTo implements Machine.
func (x *NEON) MulTo(acc V, b Operand) { x.VFMUL(x.op(b).S4(), acc.neon.S4(), acc.neon.S4()) }

// MaxTo implements Machine.
func (x *NEON) MaxTo(acc V, b Operand) { x.VFMAX(x.op(b).S4(), acc.neon.S4(), acc.neon.S4()) }

// FMATo implements Machine.
func (x *NEON) FMATo(acc, a V, b Operand) { x.VFMLA(x.op(b).S4(), a.neon.S4(), acc.neon.S4()) }

// FMALoad implements Machine.
func (x *NEON) FMALoad(acc, a V, p Ptr, off int) { x.FMATo(acc, a, x.Load(p, off)) }

// FNMATo implements Machine.
func (x *NEON) FNMATo(acc, a V, b Operand) { x.VFMLS(x.op(b).S4(), a.neon.S4(), acc.neon.S4()) }

// Horner implements Machine. The product is added to a fresh copy of c.
func (x *NEON) Horner(p, y V, c Operand) V {
	var sum V
	switch c := c.(type) {
	case Const:
		sum = x.Splat(c)
	case V:
		sum = x.Copy(c)
	}
	x.VFMLA(y.neon.S4(), p.neon.S4(), sum.neon.S4())
	return sum
}

// bits is the instruction on bytes with a fresh destination.
func (x *NEON) bits(f func(m, n, d arm64.Arranged), a V, b Operand) V {
	w := x.V()
	f(x.op(b).B16(), a.neon.B16(), w.B16())
	return V{neon: w}
}

// And implements Machine.
func (x *NEON) And(a V, b Operand) V { return x.bits(x.VAND, a, b) }

// Or implements Machine.
func (x *NEON) Or(a V, b Operand) V { return x.bits(x.VORR, a, b) }

// Xor implements Machine.
func (x *NEON) Xor(a V, b Operand) V { return x.bits(x.VEOR, a, b) }

// Greater implements Machine.
func (x *NEON) Greater(a V, b Operand) Mask { return Mask{neon: x.three(x.VFCMGT, a, b).neon} }

// Unordered implements Machine.
func (x *NEON) Unordered(a, b V) Mask {
	ordered := x.And(x.three(x.VFCMEQ, a, a), x.three(x.VFCMEQ, b, b))
	w := x.V()
	x.VNOT(ordered.neon.B16(), w.B16())
	return Mask{neon: w}
}

// Select implements Machine.
func (x *NEON) Select(m Mask, a, b V) V {
	w := x.Copy(V{neon: m.neon})
	x.VBSL(b.neon.B16(), a.neon.B16(), w.neon.B16())
	return w
}

// AddInt32To implements Machine.
func (x *NEON) AddInt32To(acc V, b Operand) { x.VADD(x.op(b).S4(), acc.neon.S4(), acc.neon.S4()) }

// SubInt32 implements Machine.
func (x *NEON) SubInt32(a V, b Operand) V { return x.three(x.VSUB, a, b) }

// ShiftLeft implements Machine.
func (x *NEON) ShiftLeft(a V, bits int) V {
	w := x.V()
	x.VSHL(bits, a.neon.S4(), w.S4())
	return V{neon: w}
}

// MaxMagnitudeTo implements Machine.
func (x *NEON) MaxMagnitudeTo(acc V, b Operand) { x.MaxTo(acc, b) }

// Pow2 implements Machine.
func (x *NEON) Pow2(biased V) V {
	w := x.V()
	x.VSHL(23, biased.neon.S4(), w.S4())
	return V{neon: w}
}

// Lookup implements Machine.
func (x *NEON) Lookup([]float32) func(V) V { return nil }

// Pow2Steps implements Machine.
func (x *NEON) Pow2Steps([]float32) func(V) V { return nil }

// RoundedFrom implements Machine.
func (x *NEON) RoundedFrom(biased, bias V) Rounded { return Rounded{Biased: biased} }

// ScaleByPow2Full implements Machine: 2^N as the product of two powers that
// are normal numbers, N = floor(N/2) + (N - floor(N/2)).
func (x *NEON) ScaleByPow2Full(p V, r Rounded) V {
	one := x.op(floatOne).S4()
	half, rest, w := x.V().S4(), x.V().S4(), x.V()
	x.VSHL(10, r.Biased.neon.S4(), half) // drop the bias, keep the sign
	x.VSSHR(11, half, half)              // floor(N/2)
	x.VSUB(half, r.Biased.neon.S4(), rest)
	for _, n := range []arm64.Arranged{half, rest} {
		x.VSHL(23, n, n)
		x.VADD(one, n, n)
	}
	x.VFMUL(rest, p.neon.S4(), w.S4())
	x.VFMUL(half, w.S4(), w.S4())
	return V{neon: w}
}

// Sums implements Machine, by adding pairs twice.
func (x *NEON) Sums() func(vs []V) V { return x.ofEach(x.VFADDP) }

// Maxima implements Machine, as Sums does.
func (x *NEON) Maxima() func(vs []V) V { return x.ofEach(x.VFMAXP) }

func (x *NEON) ofEach(pairs func(m, n, d arm64.Arranged)) func(vs []V) V {
	return func(vs []V) V {
		for range 2 {
			var of []V
			for i := 0; i < len(vs); i += 2 {
				of = append(of, x.three(pairs, vs[i], vs[min(i+1, len(vs)-1)]))
			}
			vs = of
		}
		return vs[0]
	}
}

// ReduceAdd implements Machine.
func (x *NEON) ReduceAdd(v V) V { return x.reduce(x.VFADDP, v) }

// ReduceMax implements Machine.
func (x *NEON) ReduceMax(v V) V { return x.reduce(x.VFMAXP, v) }

// reduce combines pairs of lanes twice, so that every lane ends with the whole.
func (x *NEON) reduce(pairs func(m, n, d arm64.Arranged), v V) V {
	v = x.three(pairs, v, v)
	return x.three(pairs, v, v)
}

// TransposeBlock implements Machine.
func (x *NEON) TransposeBlock() int { return 4 }

// Transpose implements Machine: zipping rows 0 and 2, and 1 and 3, and then the
// results, brings each column together.
func (x *NEON) Transpose(dst Ptr, ldDst Int, src Ptr, ldSrc Int) {
	var rows, mid [4]V
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
