package kernel

import (
	"math"

	"github.com/avoformer/avoformer/asm/vec"
)

// ShortQueries is the number of queries, and of keys, that AttnShort takes at most: its
// scores are ShortRows rows of that many elements.
const ShortQueries, ShortRows = 64, 64 + 5

// AttnShort is all of attention for a head with few keys: scores, softmax and
// product with the values, on a scratch of scores that stays in the first-level
// cache. There is a row for each key, and the queries are side by side in its vectors: so
// the softmax needs no reductions over lanes, which would take most of its time.
// What lanes without a query hold is never looked at.
//
// The last elements of queries, keys and values, where they would fill no more than a
// quarter of a vector, are taken one by one, for a vector of queries each: they cost
// an operation for each key then, and not for each key and query. Four rows after those
// of all keys and one more are for them.
func AttnShort(m vec.Machine) {
	a := shortHead{m}
	a.eachLast("q", "dim", m.SlicePtr("s"), func(column, lanes vec.Ptr) {
		a.eachQuery(column, "ldq", lanes, func(q, lane vec.Ptr) { m.StoreScalar(lane, 0, m.LoadScalar(q, 0)) })
	})
	dim, _ := wholeVectors(m, "dim")
	dots(m, keys, queries, dim, max(4, m.Width()/2), 2, func(s vec.Ptr) { m.Bump(s, shortBytes) })
	a.softmax()
	cols, _ := wholeVectors(m, "cols")
	weightValues(m, cols, 4, shortBytes)
	a.eachLast("o", "cols", m.SlicePtr("s"), func(column, lanes vec.Ptr) {
		a.eachQuery(column, "ldo", lanes, func(o, lane vec.Ptr) { m.StoreScalar(o, 0, m.LoadScalar(lane, 0)) })
	})
}

// shortBytes is the size of a row of AttnShort's scores.
const shortBytes = 4 * ShortQueries

// shortHead is what the parts of AttnShort share.
type shortHead struct{ vec.Machine }

// eachLast runs f for each of the last elements that are taken one by one: column is where
// it is in the first row of a matrix, and lanes a row for it.
func (m shortHead) eachLast(matrix, cols string, s vec.Ptr, f func(column, lanes vec.Ptr)) {
	column, lanes := m.SlicePtr(matrix), m.CopyPtr(s)
	whole, last := wholeVectors(m, cols)
	m.If(last, func() {
		m.BumpBy(column, whole)
		m.Bump(lanes, ShortQueries*shortBytes)
		m.Bump(lanes, shortBytes)
		m.Loop(last, 1, func() {
			f(column, lanes)
			m.Bump(column, 4)
			m.Bump(lanes, shortBytes)
		})
	})
}

// eachQuery runs f for an element of each query.
func (m shortHead) eachQuery(column vec.Ptr, ld string, lanes vec.Ptr, f func(column, lane vec.Ptr)) {
	column, lane, left := m.CopyPtr(column), m.CopyPtr(lanes), m.IntParam("rows")
	m.Loop(left, 1, func() {
		f(column, lane)
		m.BumpBy(column, m.IntParam(ld))
		m.Bump(lane, 4)
	})
}

// eachKey runs step for the scores of each key with a vector of queries, from s on, and returns what
// follows them.
func (m shortHead) eachKey(s vec.Ptr, step func(row vec.Ptr)) (end vec.Ptr) {
	row, n := m.CopyPtr(s), m.IntParam("n")
	m.Loop(n, 1, func() {
		step(row)
		m.Bump(row, shortBytes)
	})
	return row
}

// softmax turns the scores into exponentials, a vector of queries at a time.
func (m shortHead) softmax() {
	s, bias, lanes := m.SlicePtr("s"), m.SlicePtr("bias"), m.IntParam("rows")
	exp := expDiff(m)
	m.Raise(lanes, m.Width()-1) // the last vector need not be full
	m.Loop(lanes, m.Width(), func() {
		m.eachLast("k", "dim", s, func(column, lanes vec.Ptr) {
			q, k, ldk := m.Mul(m.Load(lanes, 0), m.FloatParam("alpha")), m.CopyPtr(column), m.IntParam("ldk")
			m.eachKey(s, func(row vec.Ptr) {
				x := m.Load(row, 0)
				m.FMATo(x, q, m.LoadScalar(k, 0))
				m.Store(row, 0, x)
				m.BumpBy(k, ldk)
			})
		})
		top, total := m.biasAndTop(s, bias), m.Zero()
		end := m.eachKey(s, func(row vec.Ptr) {
			e := exp(m.Load(row, 0), top)
			m.AddTo(total, e)
			m.Store(row, 0, e)
		})
		inv := inverse(m, total)
		m.Store(end, 0, inv)
		m.eachLast("v", "cols", s, func(column, lanes vec.Ptr) {
			sum, v, ldv := m.Zero(), m.CopyPtr(column), m.IntParam("ldv")
			m.eachKey(s, func(row vec.Ptr) {
				m.FMATo(sum, m.Load(row, 0), m.LoadScalar(v, 0))
				m.BumpBy(v, ldv)
			})
			m.Store(lanes, 0, m.Mul(sum, inv))
		})
		m.Bump(s, 4*m.Width())
		m.Bump(bias, 4*m.Width())
	})
}

// biasAndTop adds the bias, if there is one, and finds the greatest score of each query.
func (m shortHead) biasAndTop(s, bias vec.Ptr) (top vec.V) {
	top = m.Splat(lowest)
	m.IfLE(m.SliceLen("bias"), 0, func() {
		m.eachKey(s, func(row vec.Ptr) { m.MaxTo(top, m.Load(row, 0)) })
	}, func() {
		b, ldb := m.CopyPtr(bias), m.IntParam("ldb")
		m.eachKey(s, func(row vec.Ptr) {
			x := biased(m, m.Load(row, 0), m.Load(b, 0))
			m.MaxTo(top, x)
			m.Store(row, 0, x)
			m.BumpBy(b, ldb)
		})
	})
	return top
}

// wholeVectors is a parameter without its last elements where these would fill no more than a
// quarter of a vector, and how many they are.
func wholeVectors(m vec.Machine, name string) (whole, last vec.Int) {
	whole = m.IntParam(name)
	last = m.Tail(whole).Count
	m.IfLE(last, m.Width()/4, func() { m.SubtractInt(whole, last) }, func() { m.SubtractInt(last, last) })
	return whole, last
}

var lowest = f32(-math.MaxFloat32)

// biased is s + b, and -Inf where b is, for a hidden key, even if its product is not finite.
func biased(m vec.Machine, s, b vec.V) vec.V {
	return m.Select(m.Greater(m.Splat(lowest), b), m.Splat(negInf), m.Add(b, s))
}

// FewKeys is the number of keys that AttnFew takes at most for more than one query: its
// scores are rows of FewRow elements.
const FewKeys, FewRow = 256, 256 + 16

// AttnFew is AttnShort for few queries, which would not fill vectors: there is a row of
// scores for each of them. Only whole vectors of it are used, since what is stored
// in part cannot be loaded again at once.
func AttnFew(m vec.Machine) {
	const ld = 4 * FewRow
	dots(m, queries, keys, m.IntParam("dim"), max(4, m.Width()/2), 2, func(s vec.Ptr) { m.Bump(s, ld) })

	s, bias, rows, n := m.SlicePtr("s"), m.SlicePtr("bias"), m.IntParam("rows"), m.IntParam("n")
	m.Raise(n, m.Width()-1)
	exp := expDiff(m)
	m.Loop(rows, 1, func() {
		end := m.CopyPtr(s)
		m.BumpBy(end, m.IntParam("n"))
		m.IfLE(n, 2*m.Width()-1, func() {
			x := biased(m, m.Load(s, 0), m.Load(bias, 0))
			e := exp(x, m.ReduceMax(m.Max(x, m.Splat(lowest))))
			m.Store(s, 0, e)
			m.StoreScalar(end, 0, inverse(m, m.ReduceAdd(e)))
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
			m.StoreScalar(end, 0, inverse(m, m.ReduceAdd(m.Add(total[0], total[1]))))
		})
		m.Bump(s, ld)
		m.BumpBy(bias, m.IntParam("ldb"))
	})

	weightValues(m, m.IntParam("cols"), ld, 4)
}

// inverse is what exponentials with this sum are multiplied by to add up to the parameter weight. It
// follows them, since only the output is multiplied, which need not wait for the division. The greatest
// score gives the sum a term of 1, unless all are -Inf, and then anything finite may multiply the zeros.
func inverse(m vec.Machine, sum vec.V) vec.V {
	return m.Div(m.FloatParam("weight"), m.Max(m.Splat(f32(0x1p-126)), sum))
}

// weightValues adds the values, times their weights, which are query bytes apart in s from
// query to query and key bytes from key to key, and multiplies by what follows the last weight: a few queries
// and columns at a time, which stay in registers while the keys pass by.
func weightValues(m vec.Machine, cols vec.Int, query, key int) {
	block, bytes := m.Tier().Blocking.ValueRows, 4*m.Width()
	o, v, left := m.SlicePtr("o"), m.SlicePtr("v"), m.CopyInt(cols)
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
					f := m.LoadScalar(weight, r*query)
					for i, x := range acc[r] {
						store(to, i, m.Mul(x, f))
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
