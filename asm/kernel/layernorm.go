package kernel

import "github.com/avoformer/avoformer/asm/vec"

// LayerNormRows normalises each row of cols elements to mean 0 and variance 1
// and applies weight and bias. The variance is taken about the mean in a second
// pass over the row, which is in cache by then.
func LayerNormRows(m vec.Machine) { layerNorm(m, false) }

// AddLayerNormRows first stores the sum of x and residual, then normalises it.
func AddLayerNormRows(m vec.Machine) { layerNorm(m, true) }

func layerNorm(m vec.Machine, residual bool) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	rowPtrs := []vec.Ptr{dst, x}
	var sum, res vec.Ptr
	if residual {
		sum, res = m.SlicePtr("sum"), m.SlicePtr("residual")
		rowPtrs = append(rowPtrs, sum, res)
	}
	rows, cols, eps := m.IntParam("rows"), m.IntParam("cols"), m.FloatParam("eps")
	n := m.FloatFromInt(cols)
	tail := m.Tail(cols)
	m.Loop(rows, 1, func() {
		row := x
		var total vec.V
		if residual {
			row = sum
			total = addRows(m, sum, x, res, cols, tail)
		} else {
			total = reduceOf(m, x, cols, tail, 0, m.ReduceAdd, m.AddTo, func(s vec.Span, v, acc vec.V) { m.AddTo(acc, v) })
		}
		mean := m.Div(total, n)
		// The mean is rounded, more so where it is large. What it is off by is
		// the mean of the differences; it is taken out of the variance and, in
		// the affine pass, of the differences.
		rest, square := m.Zero(), m.Zero()
		rest2, square2 := m.Zero(), m.Zero()
		vec.Each(m, cols, tail, 2, []vec.Ptr{row}, func(s vec.Span) {
			for i := range s.Vectors {
				d := s.Keep(m.Sub(s.Load(0, i, 0), mean), 0)
				if i == 0 {
					m.AddTo(rest, d)
					m.FMATo(square, d, d)
				} else {
					m.AddTo(rest2, d)
					m.FMATo(square2, d, d)
				}
			}
		})
		off := m.Div(m.ReduceAdd(m.Add(rest, rest2)), n)
		variance := m.Div(m.ReduceAdd(m.Add(square, square2)), n)
		m.FNMATo(variance, off, off)
		rstd := m.Div(m.Splat(one), m.Sqrt(m.Add(m.Max(m.Zero(), variance), eps)))
		shift := m.Mul(m.Sub(m.Zero(), off), rstd)
		affine(m, dst, row, cols, tail, true, func(v vec.V) vec.V { return m.Horner(m.Sub(v, mean), rstd, shift) })
		for _, p := range rowPtrs {
			m.BumpBy(p, cols)
		}
	})
}

// addRows stores a + b to sum and returns the total in every lane.
func addRows(m vec.Machine, sum, a, b vec.Ptr, n vec.Int, tail vec.Tail) vec.V {
	acc := [2]vec.V{m.Zero(), m.Zero()}
	vec.Each(m, n, tail, 2, []vec.Ptr{sum, a, b}, func(s vec.Span) {
		for i := range s.Vectors {
			v := m.Add(s.Load(1, i, 0), s.Load(2, i, 0))
			m.AddTo(acc[i], v)
			s.Store(0, i, v)
		}
	})
	return m.ReduceAdd(m.Add(acc[0], acc[1]))
}

// affine writes f(x)*weight + bias for n elements at x. An empty weight stands
// for ones, an empty bias, or none, for zeros.
func affine(m vec.Machine, dst, x vec.Ptr, n vec.Int, tail vec.Tail, bias bool, f func(vec.V) vec.V) {
	write := func(hasWeight, hasBias bool) func() {
		return func() {
			ptrs := []vec.Ptr{dst, x}
			if hasWeight {
				ptrs = append(ptrs, m.SlicePtr("weight"))
			}
			if hasBias {
				ptrs = append(ptrs, m.SlicePtr("bias"))
			}
			vec.Each(m, n, tail, 4, ptrs, func(s vec.Span) {
				for i := range s.Vectors {
					y := f(s.Load(1, i, 0))
					switch {
					case hasWeight && hasBias:
						y = m.Horner(y, s.Load(2, i, 0), s.Load(3, i, 0))
					case hasWeight:
						y = m.Mul(y, s.Load(2, i, 0))
					case hasBias:
						y = m.Add(y, s.Load(2, i, 0))
					}
					s.Store(0, i, y)
				}
			})
		}
	}
	byBias := func(hasWeight bool) func() {
		if !bias {
			return write(hasWeight, false)
		}
		return func() { m.IfLE(m.SliceLen("bias"), 0, write(hasWeight, false), write(hasWeight, true)) }
	}
	m.IfLE(m.SliceLen("weight"), 0, byBias(false), byBias(true))
}

// RMSNormRows divides each row by its root mean square and applies weight.
func RMSNormRows(m vec.Machine) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	rows, cols, eps := m.IntParam("rows"), m.IntParam("cols"), m.FloatParam("eps")
	n := m.FloatFromInt(cols)
	tail := m.Tail(cols)
	m.Loop(rows, 1, func() {
		square := reduceOf(m, x, cols, tail, 0, m.ReduceAdd, m.AddTo, func(s vec.Span, v, acc vec.V) { m.FMATo(acc, v, v) })
		rstd := m.Div(m.Splat(one), m.Sqrt(m.Add(m.Div(square, n), eps)))
		affine(m, dst, x, cols, tail, false, func(v vec.V) vec.V { return m.Mul(v, rstd) })
		m.BumpBy(dst, cols)
		m.BumpBy(x, cols)
	})
}
