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

// AttnDot multiplies queries with keys, both row by row, where there are too
// few of either for packing to pay.
func AttnDot(m vec.Machine) {
	dots(m, queries, keys, m.Width(), 1, func(to vec.Ptr) { m.BumpBy(to, m.IntParam("lds")) })
}

// A side is a matrix that dots multiplies, by the names of its parameters.
type side struct{ rows, ld, count string }

var queries, keys = side{"q", "ldq", "rows"}, side{"k", "ldk", "n"}

// dots writes the products of the rows of down with those of across to s, a row of
// it for each of down, which nextRow passes. Groups of across, most of them of
// the given size, and then of half as many and so on, take turns with all of down,
// so that they come from memory once. The rows of down come in blocks, which
// share the loads of the group. Each product accumulates in a register, and the sums over the
// lanes of a row's registers are formed together at the end.
func dots(m vec.Machine, down, across side, group, block int, nextRow func(s vec.Ptr)) {
	unroll := 4
	if block > 1 && m.Width() < 16 {
		unroll = 2 // 16 registers
	}
	bytes := 4 * m.Width()
	s, others, n := m.SlicePtr("s"), m.SlicePtr(across.rows), m.IntParam(across.count)
	tail, alpha := m.Tail(m.IntParam("dim")), m.FloatParam("alpha")
	products := func(row, to vec.Ptr, block, group int) {
		acc := make([][]vec.V, block)
		rows := make([]vec.Ptr, block)
		for r := range acc {
			acc[r] = make([]vec.V, group)
			for j := range acc[r] {
				acc[r][j] = m.Zero()
			}
			rows[r] = m.CopyPtr(row)
			m.BumpBy(row, m.IntParam(down.ld))
		}
		first, left := m.CopyPtr(others), m.IntParam("dim")
		step := func(vectors int, load func(p vec.Ptr, i int) vec.V) {
			x := make([][]vec.V, block)
			for r := range x {
				for i := range vectors {
					x[r] = append(x[r], load(rows[r], i))
				}
			}
			other, ld := m.CopyPtr(first), m.IntParam(across.ld)
			for j := range group {
				for i := range vectors {
					v := load(other, i)
					for r := range acc {
						m.FMATo(acc[r][j], x[r][i], v)
					}
				}
				if j < group-1 {
					m.BumpBy(other, ld)
				}
			}
		}
		for _, vectors := range []int{unroll, 1} {
			m.Loop(left, vectors*m.Width(), func() {
				step(vectors, func(p vec.Ptr, i int) vec.V { return m.Load(p, i*bytes) })
				for _, p := range rows {
					m.Bump(p, vectors*bytes)
				}
				m.Bump(first, vectors*bytes)
			})
		}
		m.If(left, func() {
			step(1, func(p vec.Ptr, _ int) vec.V { return m.LoadTail(p, tail, 0) })
		})
		for r := range acc {
			m.StoreFirst(to, 0, m.Mul(vec.ReduceAddEach(m, acc[r]), alpha), group)
			nextRow(to)
		}
	}
	for ; group >= 1; group /= 2 {
		m.Loop(n, group, func() {
			row, to, left := m.SlicePtr(down.rows), m.CopyPtr(s), m.IntParam(down.count)
			for of := block; of >= 1; of /= 2 {
				m.Loop(left, of, func() { products(row, to, of, group) })
			}
			m.Bump(s, 4*group)
			ld := m.IntParam(across.ld)
			for range group {
				m.BumpBy(others, ld)
			}
		})
	}
}

// ShortQueries is the number of queries that AttnShort takes at most: its scores are
// rows of that many elements.
const ShortQueries = 64

// AttnShort is all of attention for a head with few keys: scores, softmax and
// product with the values, on a scratch of scores that stays in the first-level
// cache. There is a row for each key, and the queries are side by side in its vectors: so
// the softmax needs no reductions over lanes, which would take most of its time.
// What lanes without a query hold is never looked at.
func AttnShort(m vec.Machine) {
	const ld = 4 * ShortQueries
	dots(m, keys, queries, max(4, m.Width()/2), 2, func(s vec.Ptr) { m.Bump(s, ld) })

	bytes := 4 * m.Width()
	s, bias, lanes := m.SlicePtr("s"), m.SlicePtr("bias"), m.IntParam("rows")
	exp := expDiff(m)
	m.Bump(vec.Ptr(lanes), m.Width()-1) // the last vector need not be full
	m.Loop(lanes, m.Width(), func() {
		eachKey := func(step func(row vec.Ptr), walk func()) {
			row, n := m.CopyPtr(s), m.IntParam("n")
			m.Loop(n, 1, func() {
				step(row)
				m.Bump(row, ld)
				walk()
			})
		}
		top, b, ldb := m.Splat(lowest), m.CopyPtr(bias), m.IntParam("ldb")
		eachKey(func(row vec.Ptr) {
			x := biased(m, m.Load(row, 0), m.Load(b, 0))
			m.MaxTo(top, x)
			m.Store(row, 0, x)
		}, func() { m.BumpBy(b, ldb) })
		total := m.Zero()
		eachKey(func(row vec.Ptr) {
			e := exp(m.Load(row, 0), top)
			m.AddTo(total, e)
			m.Store(row, 0, e)
		}, func() {})
		inv := inverse(m, total)
		eachKey(func(row vec.Ptr) { m.Store(row, 0, m.Mul(m.Load(row, 0), inv)) }, func() {})
		m.Bump(s, bytes)
		m.Bump(bias, bytes)
	})

	weightValues(m, 4, ld)
}

var lowest = f32(-math.MaxFloat32)

// biased is s + b, and -Inf where b is, for a hidden key, even if its product is not finite.
func biased(m vec.Machine, s, b vec.V) vec.V {
	return m.Select(m.Greater(m.Splat(lowest), b), m.Splat(negInf), m.Add(b, s))
}

// FewKeys is the number of keys that AttnFew takes at most for more than one query: its
// scores are rows of that many elements.
const FewKeys = 256

// AttnFew is AttnShort for few queries, which would not fill vectors: there is a row of
// scores for each of them. Only whole vectors of it are used, since what is stored
// in part cannot be loaded again at once.
func AttnFew(m vec.Machine) {
	const ld = 4 * FewKeys
	dots(m, queries, keys, max(4, m.Width()/2), 2, func(s vec.Ptr) { m.Bump(s, ld) })

	s, bias, rows, n := m.SlicePtr("s"), m.SlicePtr("bias"), m.IntParam("rows"), m.IntParam("n")
	m.Bump(vec.Ptr(n), m.Width()-1)
	exp := expDiff(m)
	m.Loop(rows, 1, func() {
		m.IfLE(n, 2*m.Width()-1, func() {
			x := biased(m, m.Load(s, 0), m.Load(bias, 0))
			e := exp(x, m.ReduceMax(m.Max(x, m.Splat(lowest))))
			m.Store(s, 0, m.Mul(e, inverse(m, m.ReduceAdd(e))))
		}, func() {
			each := func(ptrs []vec.Ptr, body func(span vec.Span, i int)) {
				vec.Each(m, n, vec.Tail{}, 2, ptrs, func(span vec.Span) {
					for i := range span.Vectors {
						body(span, i)
					}
				})
			}
			top := [2]vec.V{m.Splat(lowest), m.Splat(lowest)}
			each([]vec.Ptr{s, bias}, func(span vec.Span, i int) {
				x := biased(m, span.Load(0, i, 0), span.Load(1, i, 0))
				m.MaxTo(top[i], x)
				span.Store(0, i, x)
			})
			max, total := m.ReduceMax(m.Max(top[0], top[1])), zeros(m)
			each([]vec.Ptr{s}, func(span vec.Span, i int) {
				e := exp(span.Load(0, i, 0), max)
				m.AddTo(total[i], e)
				span.Store(0, i, e)
			})
			inv := inverse(m, m.ReduceAdd(m.Add(total[0], total[1])))
			each([]vec.Ptr{s}, func(span vec.Span, i int) { span.Store(0, i, m.Mul(span.Load(0, i, 0), inv)) })
		})
		m.Bump(s, ld)
		m.BumpBy(bias, m.IntParam("ldb"))
	})

	weightValues(m, ld, 4)
}

// inverse is what exponentials with this sum are multiplied by to add up to the parameter weight. The greatest
// score gives the sum a term of 1, unless all are -Inf, and then anything finite may
// multiply the zeros.
func inverse(m vec.Machine, sum vec.V) vec.V {
	return m.Div(m.FloatParam("weight"), m.Max(m.Splat(f32(0x1p-126)), sum))
}

// weightValues adds the values, times their weights, which are so many bytes apart in s from
// query to query and from key to key: a few queries and columns at a time, which stay in registers while the keys pass by.
func weightValues(m vec.Machine, query, key int) {
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
						w := m.LoadScalar(weight, r*query)
						for i := range x {
							m.FMATo(acc[r][i], w, x[i])
						}
					}
					m.Bump(weight, key)
					m.BumpBy(row, ldv)
				})
				for r := range acc {
					for i, x := range acc[r] {
						store(to, i, x)
					}
					m.BumpBy(to, m.IntParam("ldo"))
				}
				m.Bump(p, of*query)
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
