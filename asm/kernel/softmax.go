package kernel

import (
	"math"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/internal/approx"
)

// expDiff prepares exp(x-max) for x <= max. Below 2^-127 the result is 0, exactly.
func expDiff(m vec.Machine) func(x, max vec.V) vec.V {
	pow2 := m.Pow2Steps(approx.Exp2Eighths)
	bias, log2e := m.Splat(eighthBias), m.KeepConst(c32(approx.Log2E))
	lo := m.Splat(f32(-127 * math.Ln2))
	return func(x, max vec.V) vec.V {
		biased, f := exp2Split(m, m.Max(lo, m.Sub(x, max)), log2e, bias)
		return m.Mul(horner(m, exp2Eighth, f), pow2(biased))
	}
}

// SoftmaxRows is softmax over each row of cols elements: the maximum, then the exponentials and
// their sum, then the division by the sum. If a row has a NaN or +Inf, or only -Inf, its sum is NaN
// and therefore the whole row.
//
// Rows that go past the caches have their exponentials in tmp: each vector of a row is read before
// that of the next row overwrites it.
func SoftmaxRows(m vec.Machine) {
	dst, x, cols := m.SlicePtr("dst"), m.SlicePtr("x"), m.IntParam("cols")
	lying := func() { softmaxRows(m, dst, x, cached) }
	m.IfStream("stream", dst, cols, func() { softmaxRows(m, dst, x, past(wholeRows)) }, func() {
		masking, ok := m.Masking()
		if !ok {
			lying()
			return
		}
		m.Leavable(func(done func()) {
			m.Leavable(func(near func()) {
				m.IfLE(m.IntParam("stream"), 0, near, nil)
				m.IfLE(cols, longLeast-1, near, nil)
				softmaxRows(m, dst, x, past(alignedRows))
				masking.FinishStream()
				done()
			})
			lying()
		})
	})
}

// softmaxRows keeps the exponentials of a row in tmp or, if they are cached, in dst.
func softmaxRows(m vec.Machine, dst, x vec.Ptr, out output) {
	cols := m.IntParam("cols")
	exp := expDiff(m)
	max, inv := m.Zero(), m.Zero()
	var top vec.V
	var sum laneSums
	ahead := m.CopyPtr(x)
	// The first stream of a stage defines where its rows begin.
	second, third := stage{ptrs: []vec.Ptr{m.CopyPtr(dst), x}}, stage{ptrs: []vec.Ptr{dst}}
	to, exps := 0, 0
	if out.rows != anyRows {
		to, exps = 2, 1
		second.scratch = func() vec.Ptr { return m.SlicePtr("tmp") }
		third.scratch = second.scratch
	}
	// The exponentials of a tail stay in a register: data from a masked store cannot be loaded
	// before it is in the cache. Aligned rows are longer: their data is in the cache by then.
	tail, previous := m.Zero(), m.Zero()
	keeps := func(s vec.Span) bool { return s.IsTail() && !s.Aligned() }
	second.begin = func() { sum = zeroSums(m) }
	second.sums = func() []laneSums { return []laneSums{sum} }
	second.step = func(s vec.Span, i int) func() {
		e := exp(s.Load(1, i, negInf), max)
		m.AddTo(sum[s.Chain(i)], s.Keep(e, 0))
		if keeps(s) {
			return func() { m.CopyTo(tail, e) }
		}
		return func() { s.Store(to, i, e) }
	}
	second.end = func() {
		m.CopyTo(previous, tail)
		m.CopyTo(inv, m.Div(m.Splat(one), m.ReduceAdd(sum.joined(m))))
	}
	third.begin = func() { out.begin(m, dst, cols) }
	third.step = func(s vec.Span, i int) func() {
		e := previous
		if !keeps(s) {
			e = s.Load(exps, i, 0)
		}
		y := m.Mul(e, inv)
		return func() { out.store(s, 0, i, y) }
	}
	pipeline(m, cols, out.tail(m, cols), out, alignedLeast,
		stage{
			ptrs:  []vec.Ptr{ahead},
			begin: func() { top = m.Splat(negInf) },
			step: func(s vec.Span, i int) func() {
				m.MaxTo(top, s.Load(0, i, negInf))
				out.prefetch(s, 0, i)
				return nil
			},
			end: func() { m.CopyTo(max, m.ReduceMax(top)) },
		}, second, third)
}

// ExpSumRows computes, for each row of cols elements, the exponentials of the differences from its
// maximum, and their sum. A row of only -Inf gives zeros: its maximum is the least finite number.
func ExpSumRows(m vec.Machine) {
	dst, x, maxs, sums := m.SlicePtr("dst"), m.SlicePtr("x"), m.SlicePtr("max"), m.SlicePtr("sum")
	cols := m.IntParam("cols")
	exp := expDiff(m)
	max := m.Zero()
	var top vec.V
	var sum laneSums
	pipeline(m, cols, m.Tail(cols), cached, alignedLeast,
		stage{
			ptrs:  []vec.Ptr{m.CopyPtr(x)},
			begin: func() { top = m.Splat(f32(-math.MaxFloat32)) },
			step: func(s vec.Span, i int) func() {
				m.MaxTo(top, s.Load(0, i, negInf))
				return nil
			},
			end: func() {
				m.CopyTo(max, m.ReduceMax(top))
				m.StoreScalar(maxs, 0, max)
				m.Bump(maxs, 4)
			},
		},
		stage{
			ptrs:  []vec.Ptr{dst, x},
			begin: func() { sum = zeroSums(m) },
			sums:  func() []laneSums { return []laneSums{sum} },
			step: func(s vec.Span, i int) func() {
				e := exp(s.Load(1, i, negInf), max)
				m.AddTo(sum[s.Chain(i)], s.Keep(e, 0))
				return func() { s.Store(0, i, e) }
			},
			end: func() {
				m.StoreScalar(sums, 0, m.ReduceAdd(sum.joined(m)))
				m.Bump(sums, 4)
			},
		})
}

// maxOf returns the maximum of n elements at x, in every lane. It may miss a NaN.
func maxOf(m vec.Machine, x vec.Ptr, n vec.Int, tail vec.Tail) vec.V {
	return reduceOf(m, x, n, tail, negInf, m.ReduceMax, m.MaxTo, func(s vec.Span, v, acc vec.V) { m.MaxTo(acc, v) })
}

// reduceOf reduces n elements at x: add combines a vector, whose lanes past the end hold identity,
// with one of the accumulators, which begin with identity. The result is in every lane.
func reduceOf(m vec.Machine, x vec.Ptr, n vec.Int, tail vec.Tail, identity vec.Const, lanes func(vec.V) vec.V, join func(acc vec.V, b vec.Operand), add func(s vec.Span, v, acc vec.V)) vec.V {
	const unroll = 4
	var acc [unroll]vec.V
	for i := range acc {
		acc[i] = m.Splat(identity)
	}
	vec.Each(m, n, tail, unroll, []vec.Ptr{x}, func(s vec.Span) {
		for i := range s.Vectors {
			add(s, s.Load(0, i, identity), acc[i])
		}
	})
	join(acc[0], acc[1])
	join(acc[2], acc[3])
	join(acc[0], acc[2])
	return lanes(acc[0])
}

// MaxVec is the maximum of x.
func MaxVec(m vec.Machine) {
	n := m.SliceLen("x")
	m.Return(maxOf(m, m.SlicePtr("x"), n, m.Tail(n)))
}

// SumExpVec is the sum of exp(x-max).
func SumExpVec(m vec.Machine) {
	x, n, max := m.SlicePtr("x"), m.SliceLen("x"), m.FloatParam("max")
	exp, sum := expDiff(m), zeroSums(m)
	walkSums(m, x, n, m.Tail(n), func() { sum.turn(m) }, func(s vec.Span, i int) {
		m.AddTo(sum[s.Chain(i)], s.Keep(exp(s.Load(0, i, negInf), max), 0))
	})
	m.Return(m.ReduceAdd(sum.joined(m)))
}
