package kernel

import "github.com/avoformer/avoformer/asm/vec"

// LayerNormRows normalises each row of cols elements to mean 0 and variance 1
// and applies weight and bias. The variance is taken about the mean in a second
// pass over the row, which is in cache by then.
func LayerNormRows(m vec.Machine) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	weight, bias := m.SlicePtr("weight"), m.SlicePtr("bias")
	rows, cols := m.IntParam("rows"), m.IntParam("cols")
	eps, invCols := m.FloatParam("eps"), m.FloatParam("invCols")
	tail := m.Tail(cols)
	m.Loop(rows, 1, func() {
		mean := m.Mul(sumOf(m, x, cols, tail, func(s vec.Span, v vec.V, acc vec.V) {
			m.AddTo(acc, v)
		}), invCols)
		variance := m.Mul(sumOf(m, x, cols, tail, func(s vec.Span, v vec.V, acc vec.V) {
			d := s.Keep(m.Sub(v, mean), 0)
			m.FMATo(acc, d, d)
		}), invCols)
		rstd := m.Div(m.Splat(f32(1)), m.Sqrt(m.Add(variance, eps)))
		vec.Each(m, cols, tail, 4, []vec.Ptr{dst, x, weight, bias}, func(s vec.Span) {
			for i := range s.Vectors {
				y := m.Mul(m.Sub(s.Load(1, i, 0), mean), rstd)
				s.Store(0, i, m.Horner(y, s.Load(2, i, 0), s.Load(3, i, 0)))
			}
		})
		m.BumpBy(dst, cols)
		m.BumpBy(x, cols)
	})
}

// sumOf reduces n elements at x: add accumulates one vector. The result is in
// every lane.
func sumOf(m vec.Machine, x vec.Ptr, n vec.Int, tail vec.Tail, add func(s vec.Span, v, acc vec.V)) vec.V {
	const unroll = 4
	var acc [unroll]vec.V
	for i := range acc {
		acc[i] = m.Zero()
	}
	vec.Each(m, n, tail, unroll, []vec.Ptr{x}, func(s vec.Span) {
		for i := range s.Vectors {
			add(s, s.Load(0, i, 0), acc[i])
		}
	})
	return m.ReduceAdd(m.Add(m.Add(acc[0], acc[1]), m.Add(acc[2], acc[3])))
}
