package kernel

import (
	"math"

	"github.com/avoformer/avoformer/asm/vec"
)

// LayerNormRows normalises each row of cols elements to mean 0 and variance 1 and applies weight
// and bias. Only whole, aligned vectors are written past the caches.
func LayerNormRows(m vec.Machine) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	m.IfStream("stream", dst, m.IntParam("cols"), func() { layerNormRows(m, dst, x, past(wholeRows)) }, func() { layerNormRows(m, dst, x, cached) })
}

func layerNormRows(m vec.Machine, dst, x vec.Ptr, out output) {
	from := m.CopyPtr(x)
	layerNorm(m, dst, x, out, normInput{
		ptrs: []vec.Ptr{from},
		at:   func(load func(p vec.Ptr) vec.V) vec.V { return load(from) },
		step: func(s vec.Span, i int) (vec.V, func()) {
			out.prefetch(s, 0, i)
			return s.Load(0, i, 0), nil
		},
	})
}

// AddLayerNormRows stores the sum of x and residual, and normalises it.
func AddLayerNormRows(m vec.Machine) {
	dst, sum := m.SlicePtr("dst"), m.SlicePtr("sum")
	to, x, residual := m.CopyPtr(sum), m.SlicePtr("x"), m.SlicePtr("residual")
	layerNorm(m, dst, sum, cached, normInput{
		ptrs: []vec.Ptr{to, x, residual},
		at:   func(load func(p vec.Ptr) vec.V) vec.V { return m.Add(load(x), load(residual)) },
		step: summed(m), stores: true,
	})
}

// summed returns the step of a normalisation that reads x and residual, and stores their sum.
func summed(m vec.Machine) func(s vec.Span, i int) (vec.V, func()) {
	return func(s vec.Span, i int) (vec.V, func()) {
		v := m.Add(s.Load(1, i, 0), s.Load(2, i, 0))
		return v, func() { s.Store(0, i, v) }
	}
}

// normInput is the source of a normalisation's rows.
type normInput struct {
	// ptrs has the streams that it reads and writes.
	ptrs []vec.Ptr
	// at returns the row's values at ptrs, read by load.
	at func(load func(p vec.Ptr) vec.V) vec.V
	// step returns vector i of a span, and the store to make, or nil.
	step func(s vec.Span, i int) (vec.V, func())
	// stores reports whether step returns a store.
	stores bool
}

// guessElements is the number of elements of a row that make the first guess of its mean.
const guessElements = 16

// guess sets mean to a value near the mean of a row: the mean of its first elements, or the first
// element if there are few.
func (in normInput) guess(m vec.Machine, cols vec.Int, mean vec.V) {
	const any = "Any number is right for a guess."
	m.IfLE(cols, guessElements-1,
		func() {
			m.Comment(any)
			m.CopyTo(mean, in.at(func(p vec.Ptr) vec.V { return m.LoadScalar(p, 0) }))
		},
		func() {
			m.Comment(any)
			var first laneSums
			for i := 0; i < guessElements; i += m.Width() {
				first = append(first, in.at(func(p vec.Ptr) vec.V { return m.Load(p, 4*i) }))
			}
			m.CopyTo(mean, m.Mul(m.ReduceAdd(first.joined(m)), f32(1./guessElements)))
		})
}

// The variance, with eps, of rows that the kernels normalise. Of other rows, squares were lost or
// too large, or they have a NaN or an infinity: a kernel stops before the first of them, and
// returns the number of rows left.
const usualMost = vec.Const(0x7f7fffff) // the greatest number

var usualLeast = c32(math.Nextafter32(0x1p-100, 1))

// checkUsual is the check of a stage: it leaves a row whose variance is not usual.
func checkUsual(m vec.Machine, variance *vec.V) func(leave func()) {
	return func(leave func()) { m.IfOutside(*variance, usualLeast, usualMost, leave) }
}

// layerNorm normalises the rows at x, which are those of in, to dst.
//
// One pass sums the differences from a guess of the mean, and their squares. With off the mean of
// the differences, the variance is the mean of the squares minus off^2. The guess is the mean of
// the first elements of the row, or the first element if the row is short. If the guess is off by
// more than the standard deviation, more than one bit of the variance would be lost: a further pass
// takes the differences from the mean itself. That mean is rounded too: its error is subtracted
// likewise.
func layerNorm(m vec.Machine, dst, x vec.Ptr, out output, in normInput) {
	cols := m.IntParam("cols")
	tail := out.tail(m, cols)
	noneLeft(m)
	// add adds the differences from mean to the sums.
	add := func(s vec.Span, i int, v, mean vec.V, rest, square laneSums) {
		d := s.Keep(m.Sub(v, mean), 0)
		m.AddTo(rest[s.Chain(i)], d)
		m.FMATo(square[s.Chain(i)], d, d)
	}
	guess := m.Zero()
	var rest, square laneSums
	// The state of the row one stage back, and of the row two stages back.
	again := m.CopyPtr(x)
	mean, restSum, squareSum := m.Zero(), m.Zero(), m.Zero()
	nextMean, nextRstd, nextShift := m.Park(), m.Park(), m.Park()
	previous, rstd, shift := m.Zero(), m.Zero(), vec.InRegister(m)
	var usual vec.V // the variance, with eps
	if in.stores {  // keeps the values to store in a register meanwhile
		shift = m.Park()
	}
	pipeline(m, cols, tail, out, longLeast,
		stage{
			ptrs: in.ptrs,
			begin: func() {
				in.guess(m, cols, guess)
				rest, square = zeroSums(m), zeroSums(m)
			},
			sums: func() []laneSums { return []laneSums{rest, square} },
			step: func(s vec.Span, i int) func() {
				v, store := in.step(s, i)
				add(s, i, v, guess, rest, square)
				return store
			},
			end: func() {
				m.CopyTo(mean, guess)
				m.CopyTo(restSum, rest.joined(m))
				m.CopyTo(squareSum, square.joined(m))
			},
		},
		stage{
			begin: func() {
				off, variance := deviation(m, restSum, squareSum, cols)
				m.IfGreater(m.Mul(off, off), variance, func() {
					m.AddTo(mean, off)
					rest, square := zeroSums(m), zeroSums(m)
					turn := func() {
						rest.turn(m)
						square.turn(m)
					}
					walkSums(m, again, cols, tail, turn, func(s vec.Span, i int) { add(s, i, s.Load(0, i, 0), mean, rest, square) })
					o, v := deviation(m, rest.joined(m), square.joined(m), cols)
					m.CopyTo(off, o)
					m.CopyTo(variance, v)
				})
				usual = m.Add(m.Max(m.Zero(), variance), m.FloatParam("eps"))
				inverse := m.Div(m.Splat(one), m.Sqrt(usual))
				nextMean.Put(mean)
				nextRstd.Put(inverse)
				nextShift.Put(m.Mul(m.Sub(m.Zero(), off), inverse))
			},
			check: checkUsual(m, &usual),
			end: func() {
				m.BumpBy(again, cols)
				m.CopyTo(previous, nextMean.Get())
				m.CopyTo(rstd, nextRstd.Get())
				shift.Put(nextShift.Get())
			},
		},
		stage{
			ptrs:  []vec.Ptr{dst, x},
			anew:  func() []vec.Ptr { return []vec.Ptr{m.SlicePtr("weight"), m.SlicePtr("bias")} },
			begin: func() { out.begin(m, dst, cols) },
			step: func(s vec.Span, i int) func() {
				y := m.Horner(m.Sub(s.Load(1, i, 0), previous), rstd, shift.Get())
				y = m.Horner(y, s.Load(2, i, 0), s.Load(3, i, 0))
				return func() { out.store(s, 0, i, y) }
			},
		})
}

// noneLeft makes 0 the result.
func noneLeft(m vec.Machine) {
	none := m.IntParam("rows")
	m.SubtractInt(none, none)
	m.ReturnInt(none)
}

// deviation returns, from the sums of the differences from a mean and of their squares, the mean of
// the differences and the variance.
func deviation(m vec.Machine, rest, square vec.V, cols vec.Int) (off, variance vec.V) {
	n := m.FloatFromInt(cols)
	off = m.Div(m.ReduceAdd(rest), n)
	variance = m.Div(m.ReduceAdd(square), n)
	m.FNMATo(variance, off, off)
	return off, variance
}

// RMSNormRows divides each row by its root mean square and applies weight.
func RMSNormRows(m vec.Machine) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	rmsNorm(m, dst, x, func() []vec.Ptr { return []vec.Ptr{m.CopyPtr(x)} },
		func(s vec.Span, i int) (vec.V, func()) { return s.Load(0, i, 0), nil })
}

// AddRMSNormRows stores the sum of x and residual, and divides it by its root mean square.
func AddRMSNormRows(m vec.Machine) {
	dst, sum := m.SlicePtr("dst"), m.SlicePtr("sum")
	rmsNorm(m, dst, sum, func() []vec.Ptr { return []vec.Ptr{m.CopyPtr(sum), m.SlicePtr("x"), m.SlicePtr("residual")} }, summed(m))
}

// rmsNorm divides the rows at x, which step computes from the streams of in, by their root mean
// squares, applies weight, and writes them to dst.
func rmsNorm(m vec.Machine, dst, x vec.Ptr, in func() []vec.Ptr, step func(s vec.Span, i int) (vec.V, func())) {
	cols, eps := m.IntParam("cols"), m.FloatParam("eps")
	noneLeft(m)
	n, mean, rstd := m.FloatFromInt(cols), m.Zero(), m.Zero()
	var square laneSums
	var variance vec.V
	pipeline(m, cols, m.Tail(cols), cached, alignedLeast,
		stage{
			ptrs:  in(),
			begin: func() { square = zeroSums(m) },
			sums:  func() []laneSums { return []laneSums{square} },
			step: func(s vec.Span, i int) func() {
				v, store := step(s, i)
				m.FMATo(square[s.Chain(i)], v, v)
				return store
			},
			end: func() { m.CopyTo(mean, square.joined(m)) },
		},
		stage{
			begin: func() {
				variance = m.Add(m.Div(m.ReduceAdd(mean), n), eps)
				m.CopyTo(mean, m.Div(m.Splat(one), m.Sqrt(variance)))
			},
			check: checkUsual(m, &variance),
			end:   func() { m.CopyTo(rstd, mean) },
		},
		stage{
			ptrs: []vec.Ptr{dst, x},
			anew: func() []vec.Ptr { return []vec.Ptr{m.SlicePtr("weight")} },
			step: func(s vec.Span, i int) func() {
				y := m.Mul(m.Mul(s.Load(1, i, 0), rstd), s.Load(2, i, 0))
				return func() { s.Store(0, i, y) }
			},
		})
}
