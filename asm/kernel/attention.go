package kernel

import "github.com/avoformer/avoformer/asm/vec"

// AttnSoftmax is one step of the online softmax over a tile of scores, in three passes over the
// rows. The first finds the maximum of each row. The second computes, for all rows together, the
// new running maximum and the factor that shrinks the old sum. The third computes the exponentials
// and their sum in vec.DotLanes lanes. Each pass takes several rows together, which lets it reduce
// their maxima and sums over the lanes together.
func AttnSoftmax(m vec.Machine) {
	cols := m.IntParam("cols")
	tail, together := m.Tail(cols), m.Tier().Blocking.SoftmaxRows
	maxima := m.Maxima()
	// eachRow runs step for all rows, a few together. walk has streams of one element per row.
	eachRow := func(step func(rows []vec.Ptr), walk ...vec.Ptr) {
		first, left := m.SlicePtr("s"), m.IntParam("rows")
		for _, of := range []int{together, 1} {
			m.Loop(left, of, func() {
				rows := make([]vec.Ptr, of)
				for r := range rows {
					rows[r] = m.CopyPtr(first)
					m.BumpBy(first, m.IntParam("ld"))
				}
				step(rows)
				for _, p := range walk {
					m.Bump(p, 4*of)
				}
			})
		}
	}
	vectors := func(rows []vec.Ptr, each func(span vec.Span, r, i int)) {
		vec.Walk(m, cols, tail, []vec.Group{{Rows: rows}}, nil, func(spans []vec.Span) {
			for i := range spans[0].Vectors {
				for r := range rows {
					each(spans[0], r, i)
				}
			}
		})
	}

	at := m.SlicePtr("factor")
	eachRow(func(rows []vec.Ptr) {
		top := make([]vec.V, len(rows))
		for r := range top {
			top[r] = m.Splat(negInf)
		}
		vectors(rows, func(span vec.Span, r, i int) { m.MaxTo(top[r], span.Load(r, i, negInf)) })
		if len(rows) == 1 {
			m.StoreScalar(at, 0, m.ReduceMax(top[0]))
			return
		}
		m.StoreLanes(at, maxima(top), 0, len(rows))
	}, at)

	least := m.Splat(lowest) // compared with a row that sees no key yet
	exp := expDiff(m)
	rows, max, sum, factor := m.IntParam("rows"), m.SlicePtr("max"), m.SlicePtr("sum"), m.SlicePtr("factor")
	vec.Each(m, rows, m.Tail(rows), 1, []vec.Ptr{max, sum, factor}, func(span vec.Span) {
		old := span.Load(0, 0, negInf)
		now := m.Max(old, span.Load(2, 0, negInf))
		f := exp(old, m.Max(now, least))
		span.Store(0, 0, now)
		span.Store(1, 0, m.Mul(span.Load(1, 0, 0), f))
		span.Store(2, 0, f)
	})

	max, sum = m.SlicePtr("max"), m.SlicePtr("sum")
	eachRow(func(rows []vec.Ptr) {
		ref, total := make([]vec.V, len(rows)), make([][]vec.V, len(rows))
		for r := range rows {
			ref[r], total[r] = m.Max(m.LoadScalar(max, 4*r), least), zeroLanes(m)
		}
		inDotLanes(m, cols, tail, rows, 1, func(step laneStep) {
			for r, row := range rows {
				e := exp(step.load(row, negInf), ref[r])
				m.AddTo(total[r][step.chain], step.keep(e))
				step.store(row, e)
			}
		})
		if len(rows) == 1 {
			m.StoreScalar(sum, 0, m.Add(m.DotSums(total), m.LoadScalar(sum, 0)))
			return
		}
		m.StoreLanes(sum, m.Add(m.DotSums(total), loadFirst(m, sum, len(rows))), 0, len(rows))
	}, max, sum)
}

// loadFirst loads n elements at p, at most one vector.
func loadFirst(m vec.Machine, p vec.Ptr, n int) vec.V {
	if n == m.Width() {
		return m.Load(p, 0)
	}
	count := m.IntParam("rows")
	m.SubtractInt(count, count)
	m.Raise(count, n)
	return m.LoadTail(p, m.Tail(count), 0)
}

// AttnScaleRows multiplies each row by its factor, and adds 0.
func AttnScaleRows(m vec.Machine) {
	x, rows, cols, ld, factor := m.SlicePtr("x"), m.IntParam("rows"), m.IntParam("cols"), m.IntParam("ld"), m.SlicePtr("factor")
	tail, zero := m.Tail(cols), m.Zero()
	m.Loop(rows, 1, func() {
		f := m.LoadScalar(factor, 0)
		vec.Each(m, cols, tail, 4, []vec.Ptr{x}, func(s vec.Span) {
			for i := range s.Vectors {
				s.Store(0, i, m.Horner(s.Load(0, i, 0), f, zero))
			}
		})
		m.BumpBy(x, ld)
		m.Bump(factor, 4)
	})
}
