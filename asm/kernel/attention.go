package kernel

import (
	"math"

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

	lowest := m.Splat(f32(-math.MaxFloat32)) // what a row that sees nothing yet is compared with
	expOld := expFrom(m, approx.Exp2[:])
	vec.Each(m, rows, m.Tail(rows), 1, []vec.Ptr{max, sum, factor}, func(span vec.Span) {
		old := span.Load(0, 0, negInf)
		now := m.Max(old, span.Load(2, 0, negInf))
		f := expOld(old, m.Max(now, lowest))
		span.Store(0, 0, now)
		span.Store(1, 0, m.Mul(span.Load(1, 0, 0), f))
		span.Store(2, 0, f)
	})

	exp := expDiff(m)
	eachRow(func(row vec.Ptr) {
		ref := m.Max(m.LoadScalar(max, 0), lowest)
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

// AttnDot multiplies queries with keys, both row by row, where there are too
// few of either for packing to pay.
func AttnDot(m vec.Machine) {
	dots(m, m.Width(), 1, func(to vec.Ptr, rows int) {
		for range rows {
			m.BumpBy(to, m.IntParam("lds"))
		}
	})
}

// dots writes the products of the parameter q's rows with k's to s, whose rows
// nextRow passes. Groups of keys, most of them of the given size, and then of
// half as many and so on, take turns with all queries, so that the keys come
// from memory once. The queries come in blocks, which share the loads of the
// keys. Each product accumulates in a register, and the sums over the lanes of
// a query's registers are formed together at the end.
func dots(m vec.Machine, keys, block int, nextRow func(s vec.Ptr, rows int)) {
	unroll := 4
	if block > 1 && m.Width() < 16 {
		unroll = 2 // 16 registers
	}
	bytes := 4 * m.Width()
	s, k, n := m.SlicePtr("s"), m.SlicePtr("k"), m.IntParam("n")
	tail, alpha := m.Tail(m.IntParam("dim")), m.FloatParam("alpha")
	products := func(q, to vec.Ptr, queries, keys int) {
		acc := make([][]vec.V, queries)
		query := make([]vec.Ptr, queries)
		for r := range acc {
			acc[r] = make([]vec.V, keys)
			for j := range acc[r] {
				acc[r][j] = m.Zero()
			}
			query[r] = m.CopyPtr(q)
			m.BumpBy(q, m.IntParam("ldq"))
		}
		first, left := m.CopyPtr(k), m.IntParam("dim")
		step := func(vectors int, load func(p vec.Ptr, i int) vec.V) {
			x := make([][]vec.V, queries)
			for r := range x {
				for i := range vectors {
					x[r] = append(x[r], load(query[r], i))
				}
			}
			key, ldk := m.CopyPtr(first), m.IntParam("ldk")
			for j := range keys {
				for i := range vectors {
					v := load(key, i)
					for r := range acc {
						m.FMATo(acc[r][j], x[r][i], v)
					}
				}
				if j < keys-1 {
					m.BumpBy(key, ldk)
				}
			}
		}
		for _, vectors := range []int{unroll, 1} {
			m.Loop(left, vectors*m.Width(), func() {
				step(vectors, func(p vec.Ptr, i int) vec.V { return m.Load(p, i*bytes) })
				for _, p := range query {
					m.Bump(p, vectors*bytes)
				}
				m.Bump(first, vectors*bytes)
			})
		}
		m.If(left, func() {
			step(1, func(p vec.Ptr, _ int) vec.V { return m.LoadTail(p, tail, 0) })
		})
		for r := range acc {
			m.StoreFirst(to, 0, m.Mul(vec.ReduceAddEach(m, acc[r]), alpha), keys)
			nextRow(to, 1)
		}
	}
	for ; keys >= 1; keys /= 2 {
		m.Loop(n, keys, func() {
			q, to, rows := m.SlicePtr("q"), m.CopyPtr(s), m.IntParam("rows")
			for queries := block; queries >= 1; queries /= 2 {
				m.Loop(rows, queries, func() { products(q, to, queries, keys) })
			}
			m.Bump(s, 4*keys)
			ldk := m.IntParam("ldk")
			for range keys {
				m.BumpBy(k, ldk)
			}
		})
	}
}

// ShortKeys is the number of keys that AttnShort takes at most: its scores are
// rows of that many elements.
const ShortKeys = 32

// AttnShort is all of attention for a head with few keys: scores, softmax and
// product with the values, on a scratch of scores that stays in the first-level
// cache. The greatest score of a row gives the sum a term of 1, unless all are
// -Inf, and then anything finite may divide the zeros.
func AttnShort(m vec.Machine) {
	const ld = 4 * ShortKeys
	dots(m, max(4, m.Width()/2), 2, func(s vec.Ptr, rows int) { m.Bump(s, rows*ld) })

	// The vectors of a row stay in registers: as many as hold n keys, or twice that.
	n, most := m.IntParam("n"), ShortKeys/m.Width()
	var softmax func(vectors int)
	softmax = func(vectors int) {
		if vectors < most {
			m.IfLE(n, vectors*m.Width(), func() { shortSoftmax(m, vectors) }, func() { softmax(2 * vectors) })
			return
		}
		shortSoftmax(m, vectors)
	}
	softmax(1)

	block := 4
	if m.Width() < 16 {
		block = 2 // 16 registers
	}
	bytes := 4 * m.Width()
	o, v, left := m.SlicePtr("o"), m.SlicePtr("v"), m.IntParam("cols")
	tail := m.Tail(left)
	columns := func(load func(p vec.Ptr, i int) vec.V, store func(p vec.Ptr, i int, x vec.V), vectors int) {
		p, to, rows := m.SlicePtr("s"), m.CopyPtr(o), m.IntParam("rows")
		for of := block; of >= 1; of /= 2 {
			m.Loop(rows, of, func() {
				acc := make([][]vec.V, of)
				for r := range acc {
					for range vectors {
						acc[r] = append(acc[r], m.Zero())
					}
				}
				weight, row, n, ldv := m.CopyPtr(p), m.CopyPtr(v), m.IntParam("n"), m.IntParam("ldv")
				m.Loop(n, 1, func() {
					x := make([]vec.V, vectors)
					for i := range x {
						x[i] = load(row, i)
					}
					for r := range acc {
						w := m.LoadScalar(weight, r*ld)
						for i := range x {
							m.FMATo(acc[r][i], w, x[i])
						}
					}
					m.Bump(weight, 4)
					m.BumpBy(row, ldv)
				})
				for r := range acc {
					for i, x := range acc[r] {
						store(to, i, x)
					}
					m.BumpBy(to, m.IntParam("ldo"))
				}
				m.Bump(p, of*ld)
			})
		}
	}
	for _, vectors := range []int{4, 1} {
		m.Loop(left, vectors*m.Width(), func() {
			columns(func(p vec.Ptr, i int) vec.V { return m.Load(p, i*bytes) },
				func(p vec.Ptr, i int, x vec.V) { m.Store(p, i*bytes, x) }, vectors)
			m.Bump(o, vectors*bytes)
			m.Bump(v, vectors*bytes)
		})
	}
	m.If(tail.Count, func() {
		columns(func(p vec.Ptr, _ int) vec.V { return m.LoadTail(p, tail, 0) },
			func(p vec.Ptr, _ int, x vec.V) { m.StoreTail(p, tail, x) }, 1)
	})
}

// shortSoftmax is the softmax of AttnShort's scores, which fill some vectors.
// Reductions over lanes take most of its time, and the rows' overlap.
func shortSoftmax(m vec.Machine, vectors int) {
	const lowest = -math.MaxFloat32
	bytes := 4 * m.Width()
	s, bias, rows := m.SlicePtr("s"), m.SlicePtr("bias"), m.IntParam("rows")
	exp, hidden := expDiff(m), m.Splat(negInf)
	m.Loop(rows, 1, func() {
		x := make([]vec.V, vectors)
		top := m.Splat(f32(lowest))
		for i := range x {
			// A hidden key's score is -Inf, even if its product is not finite.
			b := m.Load(bias, i*bytes)
			x[i] = m.Select(m.Greater(m.Splat(f32(lowest)), b), hidden, m.Add(b, m.Load(s, i*bytes)))
			m.MaxTo(top, x[i])
		}
		top = m.ReduceMax(top)
		total := m.Zero()
		for i := range x {
			x[i] = exp(x[i], top)
			m.AddTo(total, x[i])
		}
		inv := m.Div(m.FloatParam("weight"), m.Max(m.Splat(f32(0x1p-126)), m.ReduceAdd(total)))
		for i := range x {
			m.Store(s, i*bytes, m.Mul(x[i], inv))
		}
		for i := vectors; i < ShortKeys/m.Width(); i++ {
			m.Store(s, i*bytes, m.Zero())
		}
		m.Bump(s, 4*ShortKeys)
		m.BumpBy(bias, m.IntParam("ldb"))
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
