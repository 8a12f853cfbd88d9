package kernel

import (
	"math"

	"github.com/avoformer/avoformer/asm/vec"
)

// ShortQueries is the largest number of queries, and of keys, that AttnShort takes. Its scores are
// ShortRows rows of ShortQueries elements.
const ShortQueries, ShortRows = 64, 64 + 5

// AttnShort computes the softmax of a head with few keys and its product with the values, in a
// scratch of scores that stays in the first-level cache. Each key has a row, whose vectors hold the
// queries side by side. The softmax therefore needs no reductions over lanes, which would take most
// of its time. Lanes without a query may hold anything: nothing reads them.
//
// If the last elements of the values fill no more than a quarter of a vector, AttnShort takes them
// one by one, each for a vector of queries. They then cost one operation per key rather than one
// per key and query. They use the five rows after those of all keys: four and one more.
func AttnShort(m vec.Machine) {
	a := shortHead{m}
	a.softmax()
	cols, _ := wholeVectors(m, "cols")
	weightValues(m, cols, 4, shortBytes)
	a.eachLast("o", m.SlicePtr("s"), func(column, lanes vec.Ptr) {
		o, lane, left := m.CopyPtr(column), m.CopyPtr(lanes), m.IntParam("rows")
		m.Loop(left, 1, func() {
			m.StoreScalar(o, 0, m.LoadScalar(lane, 0))
			m.BumpBy(o, m.IntParam("ldo"))
			m.Bump(lane, 4)
		})
	})
}

// shortBytes is the size of a row of AttnShort's scores.
const shortBytes = 4 * ShortQueries

// shortHead has what the parts of AttnShort share.
type shortHead struct{ vec.Machine }

// eachLast runs f for each of the last columns that are taken one by one: column points to the
// column in the first row of a matrix, and lanes to a row for it.
func (m shortHead) eachLast(matrix string, s vec.Ptr, f func(column, lanes vec.Ptr)) {
	column, lanes := m.SlicePtr(matrix), m.CopyPtr(s)
	whole, last := wholeVectors(m, "cols")
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

// eachKey runs step for the scores of each key with a vector of queries, beginning at s, and
// returns the address after them.
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
	m.Raise(lanes, m.Width()-1) // the last vector may be partly filled
	m.Loop(lanes, m.Width(), func() {
		top := m.biasAndTop(s, bias)
		end := m.eachKey(s, func(row vec.Ptr) { m.Store(row, 0, exp(m.Load(row, 0), top)) })
		inv := inverse(m, m.total(s, end))
		m.Store(end, 0, inv)
		m.eachLast("v", s, func(column, lanes vec.Ptr) {
			sum, v, ldv := m.Zero(), m.CopyPtr(column), m.IntParam("ldv")
			m.eachKey(s, func(row vec.Ptr) {
				m.FMATo(sum, m.Load(row, 0), m.LoadScalar(v, 0))
				m.BumpBy(v, ldv)
			})
			m.Store(lanes, 0, plusZero(m, sum, inv))
		})
		m.Bump(s, 4*m.Width())
		m.Bump(bias, 4*m.Width())
	})
}

// total adds up the exponentials between s and end: key i goes to lane i modulo vec.DotLanes. It
// adds the lanes as DotSums does, four at a time.
func (m shortHead) total(s, end vec.Ptr) vec.V {
	last, missing, zero := m.IntParam("n"), m.IntParam("n"), m.Zero()
	m.Loop(last, vec.DotLanes, func() {})
	m.If(last, func() {
		m.SubtractInt(missing, missing)
		m.Raise(missing, vec.DotLanes)
		m.SubtractInt(missing, last)
		row := m.CopyPtr(end)
		m.Loop(missing, 1, func() {
			m.Store(row, 0, zero)
			m.Bump(row, shortBytes)
		})
	})
	var fours [4]vec.V
	for i := range fours {
		var lanes [4]vec.V
		for l := range lanes {
			lanes[l] = m.Zero()
		}
		row, left := m.CopyPtr(s), m.IntParam("n")
		m.Raise(left, vec.DotLanes-1)
		m.Loop(left, vec.DotLanes, func() {
			for l, key := range []int{2 * i, 2*i + vec.DotLanes/2, 2*i + 1, 2*i + 1 + vec.DotLanes/2} {
				m.AddTo(lanes[l], m.Load(row, key*shortBytes))
			}
			m.Bump(row, vec.DotLanes*shortBytes)
		})
		fours[i] = m.Add(m.Add(lanes[0], lanes[1]), m.Add(lanes[2], lanes[3]))
	}
	return m.Add(m.Add(fours[0], fours[1]), m.Add(fours[2], fours[3]))
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

// wholeVectors returns the parameter rounded down to whole vectors and the number of last elements,
// if these would fill no more than a quarter of a vector. Otherwise it returns the parameter and 0.
func wholeVectors(m vec.Machine, name string) (whole, last vec.Int) {
	whole = m.IntParam(name)
	last = m.Tail(whole).Count
	m.IfLE(last, m.Width()/4, func() { m.SubtractInt(whole, last) }, func() { m.SubtractInt(last, last) })
	return whole, last
}

var lowest = f32(-math.MaxFloat32)

// biased returns s + b. Where b is -Inf, for a hidden key, the result is -Inf even if the product s
// is not finite.
func biased(m vec.Machine, s, b vec.V) vec.V {
	return m.Select(m.Greater(m.Splat(lowest), b), m.Splat(negInf), m.Add(b, s))
}

// Bias is a + b, elementwise, or -Inf where b is.
var Bias = binary(biased)

// FewKeys is the largest number of keys that AttnFew takes. Its scores are rows of FewRow elements.
const FewKeys, FewRow = 256, 256 + 16

// AttnFew is AttnShort for few queries, which would not fill vectors: each query has a row of
// scores, and the exponentials of a row are added up in vec.DotLanes lanes. Only whole vectors of a
// row are used, as many as needed, because a vector that was stored in part cannot be loaded again
// immediately.
func AttnFew(m vec.Machine) {
	const ld = 4 * FewRow
	s, bias, rows, n := m.SlicePtr("s"), m.SlicePtr("bias"), m.IntParam("rows"), m.IntParam("n")
	m.Raise(n, vec.DotLanes-1)
	exp, lanes := expDiff(m), vec.DotLanes/m.Width()
	m.Loop(rows, 1, func() {
		end := m.CopyPtr(s)
		m.BumpBy(end, m.IntParam("n"))
		m.IfLE(n, 2*vec.DotLanes-1, func() {
			var e []vec.V
			top := m.Splat(lowest)
			for i := range lanes {
				off := 4 * i * m.Width()
				e = append(e, biased(m, m.Load(s, off), m.Load(bias, off)))
				m.MaxTo(top, e[i])
			}
			top = m.ReduceMax(top)
			for i := range e {
				m.CopyTo(e[i], exp(e[i], top))
				m.Store(s, 4*i*m.Width(), e[i])
			}
			m.StoreScalar(end, 0, inverse(m, m.DotSums([][]vec.V{e})))
		}, func() {
			each := func(ptrs []vec.Ptr, body func(ptrs []vec.Ptr, i, off int)) {
				var at []vec.Ptr
				for _, p := range ptrs {
					at = append(at, m.CopyPtr(p))
				}
				left := m.CopyInt(n)
				m.Loop(left, vec.DotLanes, func() {
					for i := range lanes {
						body(at, i, 4*i*m.Width())
					}
					for _, p := range at {
						m.Bump(p, 4*vec.DotLanes)
					}
				})
			}
			top := m.Splat(lowest)
			each([]vec.Ptr{s, bias}, func(at []vec.Ptr, _, off int) {
				x := biased(m, m.Load(at[0], off), m.Load(at[1], off))
				m.MaxTo(top, x)
				m.Store(at[0], off, x)
			})
			max, total := m.ReduceMax(top), zeroLanes(m)
			each([]vec.Ptr{s}, func(at []vec.Ptr, i, off int) {
				e := exp(m.Load(at[0], off), max)
				m.AddTo(total[i], e)
				m.Store(at[0], off, e)
			})
			m.StoreScalar(end, 0, inverse(m, m.DotSums([][]vec.V{total})))
		})
		m.Bump(s, ld)
		m.BumpBy(bias, m.IntParam("ldb"))
	})

	weightValues(m, m.IntParam("cols"), ld, 4)
}

// inverse returns the factor that makes exponentials with this sum add up to the parameter weight.
// Callers store it after the exponentials, and weightValues multiplies only the output by it: the
// product need not wait for the division. The greatest score contributes 1 to the sum, unless all
// scores are -Inf. In that case the factor is 0, whatever the weight.
func inverse(m vec.Machine, sum vec.V) vec.V {
	return m.Select(m.Greater(m.Splat(f32(0x1p-126)), sum), m.Zero(), m.Div(m.FloatParam("weight"), sum))
}

// weightValues adds the values times their weights, and multiplies the sums by the factor that
// follows the last weight. In s, weights lie query bytes apart from query to query, and key bytes
// apart from key to key. It takes a few queries and columns at a time: their sums stay in registers
// during the loop over the keys.
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
				m.InnerLoop(n, 1, func() {
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
				zero := m.Zero()
				for r := range acc {
					f := m.LoadScalar(weight, r*query)
					for i, x := range acc[r] {
						store(to, i, m.Horner(x, f, zero))
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
