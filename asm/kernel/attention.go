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
	dots(m, queries, keys, m.IntParam("dim"), m.Width(), 1, func(to vec.Ptr) { m.BumpBy(to, m.IntParam("lds")) })
}

// A side is a matrix that dots multiplies, by the names of its parameters.
type side struct{ rows, ld, count string }

var queries, keys = side{"q", "ldq", "rows"}, side{"k", "ldk", "n"}

// dots writes the products of the rows of down with those of across to s, a row of
// it for each of down, which nextRow passes. Groups of across, most of them of
// the given size, and then of half as many and so on, take turns with all of down,
// so that they come from memory once. The rows of down come in blocks, which
// share the loads of the group, and are as many more as the group is smaller. Each product
// accumulates in a register, and the sums over the lanes of these are formed together at the end.
func dots(m vec.Machine, down, across side, dim vec.Int, group, block int, nextRow func(s vec.Ptr)) {
	const mostRows = 4
	atOnce, registers := group*block, 8 // for what is held
	if m.Width() < 16 {
		registers = 4
	}
	bytes := 4 * m.Width()
	s, others, n := m.SlicePtr("s"), m.SlicePtr(across.rows), m.IntParam(across.count)
	tail, alpha, sums := m.Tail(dim), m.FloatParam("alpha"), m.Sums()
	products := func(row, to vec.Ptr, block, group int) {
		acc := make([]vec.V, block*group)
		for i := range acc {
			acc[i] = m.Zero()
		}
		// The smaller of the two is held in registers while the other passes.
		type rows struct {
			first vec.Ptr
			side
			n, step int // step from one row to the next in acc
		}
		held, passing := rows{m.CopyPtr(row), down, block, group}, rows{m.CopyPtr(others), across, group, 1}
		if held.n > passing.n {
			held, passing = passing, held
		}
		each := func(r rows, f func(i int, p vec.Ptr)) {
			p, ld := m.CopyPtr(r.first), m.IntParam(r.ld)
			for i := range r.n {
				if i > 0 {
					m.BumpBy(p, ld)
				}
				f(i, p)
			}
		}
		step := func(vectors int, load func(p vec.Ptr, i int) vec.V) {
			x := make([][]vec.V, held.n)
			each(held, func(h int, p vec.Ptr) {
				for i := range vectors {
					x[h] = append(x[h], load(p, i))
				}
			})
			each(passing, func(j int, p vec.Ptr) {
				for i := range vectors {
					v := load(p, i)
					for h := range x {
						m.FMATo(acc[h*held.step+j*passing.step], x[h][i], v)
					}
				}
			})
		}
		left, unroll := m.CopyInt(dim), []int{1}
		if 2*block*group >= atOnce {
			unroll = []int{min(4, registers/held.n), 1}
		}
		for _, vectors := range unroll {
			m.Loop(left, vectors*m.Width(), func() {
				step(vectors, func(p vec.Ptr, i int) vec.V { return m.Load(p, i*bytes) })
				m.Bump(held.first, vectors*bytes)
				m.Bump(passing.first, vectors*bytes)
			})
		}
		m.If(left, func() {
			step(1, func(p vec.Ptr, _ int) vec.V { return m.LoadTail(p, tail, 0) })
		})
		for ; len(acc) > 0; acc = acc[min(len(acc), m.Width()):] {
			n := min(len(acc), m.Width())
			all := m.Mul(sums(acc[:n]), alpha)
			for i := 0; i < n; i += group {
				m.StoreLanes(to, all, i, group)
				nextRow(to)
			}
		}
	}
	for ; group >= 1; group /= 2 {
		m.Loop(n, group, func() {
			row, to, left := m.SlicePtr(down.rows), m.CopyPtr(s), m.IntParam(down.count)
			for of := min(atOnce/group, mostRows); of >= 1; of /= 2 {
				m.Loop(left, of, func() {
					products(row, to, of, group)
					ld := m.IntParam(down.ld)
					for range of {
						m.BumpBy(row, ld)
					}
				})
			}
			m.Bump(s, 4*group)
			ld := m.IntParam(across.ld)
			for range group {
				m.BumpBy(others, ld)
			}
		})
	}
}

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
// an operation for each key then, and not for each key and query. Four rows behind those
// of all keys and one more are for them.
func AttnShort(m vec.Machine) {
	const ld = 4 * ShortQueries
	bytes := 4 * m.Width()
	// eachLast runs f for each of the last elements that are taken one by one: column is where
	// it is in the first row of a matrix, and lanes a row for it.
	eachLast := func(matrix, cols string, s vec.Ptr, f func(column, lanes vec.Ptr)) {
		column, lanes := m.SlicePtr(matrix), m.CopyPtr(s)
		whole, last := wholeVectors(m, cols)
		m.If(last, func() {
			m.BumpBy(column, whole)
			m.Bump(lanes, ShortQueries*ld)
			m.Bump(lanes, ld)
			m.Loop(last, 1, func() {
				f(column, lanes)
				m.Bump(column, 4)
				m.Bump(lanes, ld)
			})
		})
	}
	// eachQuery runs f for an element of each query.
	eachQuery := func(column vec.Ptr, ld string, lanes vec.Ptr, f func(column, lane vec.Ptr)) {
		column, lane, left := m.CopyPtr(column), m.CopyPtr(lanes), m.IntParam("rows")
		m.Loop(left, 1, func() {
			f(column, lane)
			m.BumpBy(column, m.IntParam(ld))
			m.Bump(lane, 4)
		})
	}

	eachLast("q", "dim", m.SlicePtr("s"), func(column, lanes vec.Ptr) {
		eachQuery(column, "ldq", lanes, func(q, lane vec.Ptr) { m.StoreScalar(lane, 0, m.LoadScalar(q, 0)) })
	})
	dim, _ := wholeVectors(m, "dim")
	dots(m, keys, queries, dim, max(4, m.Width()/2), 2, func(s vec.Ptr) { m.Bump(s, ld) })

	s, bias, lanes := m.SlicePtr("s"), m.SlicePtr("bias"), m.IntParam("rows")
	exp := expDiff(m)
	m.Raise(lanes, m.Width()-1) // the last vector need not be full
	m.Loop(lanes, m.Width(), func() {
		eachKey := func(step func(row vec.Ptr)) (end vec.Ptr) {
			row, n := m.CopyPtr(s), m.IntParam("n")
			m.Loop(n, 1, func() {
				step(row)
				m.Bump(row, ld)
			})
			return row
		}
		eachLast("k", "dim", s, func(column, lanes vec.Ptr) {
			q, k, ldk := m.Mul(m.Load(lanes, 0), m.FloatParam("alpha")), m.CopyPtr(column), m.IntParam("ldk")
			eachKey(func(row vec.Ptr) {
				x := m.Load(row, 0)
				m.FMATo(x, q, m.LoadScalar(k, 0))
				m.Store(row, 0, x)
				m.BumpBy(k, ldk)
			})
		})
		top := m.Splat(lowest)
		m.IfLE(m.SliceLen("bias"), 0, func() {
			eachKey(func(row vec.Ptr) { m.MaxTo(top, m.Load(row, 0)) })
		}, func() {
			b, ldb := m.CopyPtr(bias), m.IntParam("ldb")
			eachKey(func(row vec.Ptr) {
				x := biased(m, m.Load(row, 0), m.Load(b, 0))
				m.MaxTo(top, x)
				m.Store(row, 0, x)
				m.BumpBy(b, ldb)
			})
		})
		total := m.Zero()
		end := eachKey(func(row vec.Ptr) {
			e := exp(m.Load(row, 0), top)
			m.AddTo(total, e)
			m.Store(row, 0, e)
		})
		inv := inverse(m, total)
		m.Store(end, 0, inv)
		eachLast("v", "cols", s, func(column, lanes vec.Ptr) {
			sum, v, ldv := m.Zero(), m.CopyPtr(column), m.IntParam("ldv")
			eachKey(func(row vec.Ptr) {
				m.FMATo(sum, m.Load(row, 0), m.LoadScalar(v, 0))
				m.BumpBy(v, ldv)
			})
			m.Store(lanes, 0, m.Mul(sum, inv))
		})
		m.Bump(s, bytes)
		m.Bump(bias, bytes)
	})

	cols, _ := wholeVectors(m, "cols")
	weightValues(m, cols, 4, ld)
	eachLast("o", "cols", m.SlicePtr("s"), func(column, lanes vec.Ptr) {
		eachQuery(column, "ldo", lanes, func(o, lane vec.Ptr) { m.StoreScalar(o, 0, m.LoadScalar(lane, 0)) })
	})
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
	const ld = 4 * (FewKeys + 16)
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

// inverse is what exponentials with this sum are multiplied by to add up to the parameter weight. It stands
// behind them, since only the output is multiplied, which need not wait for the division. The greatest
// score gives the sum a term of 1, unless all are -Inf, and then anything finite may
// multiply the zeros.
func inverse(m vec.Machine, sum vec.V) vec.V {
	return m.Div(m.FloatParam("weight"), m.Max(m.Splat(f32(0x1p-126)), sum))
}

// weightValues adds the values, times their weights, which are so many bytes apart in s from
// query to query and from key to key, and multiplies by what follows the last weight: a few queries
// and columns at a time, which stay in registers while the keys pass by.
func weightValues(m vec.Machine, cols vec.Int, query, key int) {
	block := 4
	if m.Width() < 16 {
		block = 2 // 16 registers
	}
	bytes := 4 * m.Width()
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
