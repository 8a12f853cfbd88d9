package kernel

import (
	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/internal/approx"
)

// AttnSoftmax is one step of the online softmax over a tile of scores, in three
// passes over the rows: the maximum of each; for all rows together, the new
// running maximum and the factor that the old sum shrinks by; the exponentials
// and their sum.
//
// The exponentials carry the common factor of approx.Exp2Shared. It cancels,
// since the sum carries it too; the factor for the old sum must be free of it,
// or it would be taken once more with every tile.
func AttnSoftmax(m vec.Machine) {
	s, rows, cols, ld := m.SlicePtr("s"), m.IntParam("rows"), m.IntParam("cols"), m.IntParam("ld")
	max, sum, factor := m.SlicePtr("max"), m.SlicePtr("sum"), m.SlicePtr("factor")
	tail := m.Tail(cols)
	eachRow := func(step func(row vec.Ptr), walk ...vec.Ptr) {
		row, left := m.CopyPtr(s), m.CopyInt(rows)
		m.Loop(left, 1, func() {
			step(row)
			m.BumpBy(row, ld)
			for _, p := range walk {
				m.Bump(p, 4)
			}
		})
	}

	at := m.CopyPtr(factor)
	eachRow(func(row vec.Ptr) { m.StoreScalar(at, 0, maxOf(m, row, cols, tail)) }, at)

	least := m.Splat(lowest) // what a row that sees nothing yet is compared with
	expOld := expFrom(m, approx.Exp2[:])
	vec.Each(m, rows, m.Tail(rows), 1, []vec.Ptr{max, sum, factor}, func(span vec.Span) {
		old := span.Load(0, 0, negInf)
		now := m.Max(old, span.Load(2, 0, negInf))
		f := expOld(old, m.Max(now, least))
		span.Store(0, 0, now)
		span.Store(1, 0, m.Mul(span.Load(1, 0, 0), f))
		span.Store(2, 0, f)
	})

	exp := expDiff(m)
	eachRow(func(row vec.Ptr) {
		ref := m.Max(m.LoadScalar(max, 0), least)
		total := m.Zero()
		vec.Each(m, cols, tail, 2, []vec.Ptr{row}, func(span vec.Span) {
			for i := range span.Vectors {
				e := exp(span.Load(0, i, negInf), ref)
				m.AddTo(total, span.Keep(e, 0))
				span.Store(0, i, e)
			}
		})
		m.StoreScalar(sum, 0, m.Add(m.ReduceAdd(total), m.LoadScalar(sum, 0)))
	}, max, sum)
}

// AttnScaleRows multiplies each row by its factor.
func AttnScaleRows(m vec.Machine) {
	x, rows, cols, ld, factor := m.SlicePtr("x"), m.IntParam("rows"), m.IntParam("cols"), m.IntParam("ld"), m.SlicePtr("factor")
	tail := m.Tail(cols)
	m.Loop(rows, 1, func() {
		f := m.LoadScalar(factor, 0)
		vec.Each(m, cols, tail, 4, []vec.Ptr{x}, func(s vec.Span) {
			for i := range s.Vectors {
				s.Store(0, i, m.Mul(s.Load(0, i, 0), f))
			}
		})
		m.BumpBy(x, ld)
		m.Bump(factor, 4)
	})
}

// AttnAccumulate adds the rows of v, times their weights, to o: a few columns
// at a time, which stay in registers while the rows pass by.
func AttnAccumulate(m vec.Machine) {
	o, p, v := m.SlicePtr("o"), m.SlicePtr("p"), m.SlicePtr("v")
	dim, n, ld := m.SliceLen("o"), m.SliceLen("p"), m.IntParam("ldv")
	columns := func(load func(at vec.Ptr, i int) vec.V, store func(i int, x vec.V), vectors int) {
		acc := make([]vec.V, vectors)
		for i := range acc {
			acc[i] = load(o, i)
		}
		weight, row, left := m.CopyPtr(p), m.CopyPtr(v), m.CopyInt(n)
		m.Loop(left, 1, func() {
			w := m.LoadScalar(weight, 0)
			for i := range acc {
				m.FMATo(acc[i], w, load(row, i))
			}
			m.Bump(weight, 4)
			m.BumpBy(row, ld)
		})
		for i := range acc {
			store(i, acc[i])
		}
	}
	bytes := 4 * m.Width()
	left, tail := m.CopyInt(dim), m.Tail(dim)
	for _, vectors := range []int{4, 1} {
		m.Loop(left, vectors*m.Width(), func() {
			columns(func(at vec.Ptr, i int) vec.V { return m.Load(at, i*bytes) },
				func(i int, x vec.V) { m.Store(o, i*bytes, x) }, vectors)
			m.Bump(o, vectors*bytes)
			m.Bump(v, vectors*bytes)
		})
	}
	m.If(tail.Count, func() {
		columns(func(at vec.Ptr, _ int) vec.V { return m.LoadTail(at, tail, 0) },
			func(_ int, x vec.V) { m.StoreTail(o, tail, x) }, 1)
	})
}
