package kernel

import "github.com/avoformer/avoformer/asm/vec"

// SoftmaxRows is softmax over each row of cols elements: the maximum, then the
// exponentials and their sum, then the division by the sum. NaN or +Inf in a
// row, or nothing but -Inf, makes the sum NaN and so the row.
func SoftmaxRows(m vec.Machine) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	rows, cols := m.IntParam("rows"), m.IntParam("cols")
	tail := m.Tail(cols)
	lo := m.Splat(f32(-87))
	m.Loop(rows, 1, func() {
		max := maxOf(m, x, cols, tail)
		sum := m.Zero()
		vec.Each(m, cols, tail, 2, []vec.Ptr{dst, x}, func(s vec.Span) {
			for i := range s.Vectors {
				p, n := expReduced(m, m.Max(lo, m.Sub(s.Load(1, i, negInf), max)))
				e := m.ScaleByPow2(p, n)
				m.AddTo(sum, s.Keep(e, 0))
				s.Store(0, i, e)
			}
		})
		inv := m.Div(m.Splat(f32(1)), m.ReduceAdd(sum))
		vec.Each(m, cols, tail, 4, []vec.Ptr{dst}, func(s vec.Span) {
			for i := range s.Vectors {
				s.Store(0, i, m.Mul(s.Load(0, i, 0), inv))
			}
		})
		m.BumpBy(dst, cols)
		m.BumpBy(x, cols)
	})
}

// maxOf is the maximum of n elements at x, in every lane.
func maxOf(m vec.Machine, x vec.Ptr, n vec.Int, tail vec.Tail) vec.V {
	const unroll = 4
	var acc [unroll]vec.V
	for i := range acc {
		acc[i] = m.Splat(negInf)
	}
	vec.Each(m, n, tail, unroll, []vec.Ptr{x}, func(s vec.Span) {
		for i := range s.Vectors {
			m.MaxTo(acc[i], s.Load(0, i, negInf))
		}
	})
	return m.ReduceMax(m.Max(m.Max(acc[0], acc[1]), m.Max(acc[2], acc[3])))
}
