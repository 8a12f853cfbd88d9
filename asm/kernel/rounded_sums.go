package kernel

import "github.com/avoformer/avoformer/asm/vec"

// RoundedSums rounds numbers with many scales, one in each lane, so that no sum crosses lanes. A
// sum has the numbers in order, and each operation rounds: a twin without fused multiply-adds is
// fast too.
func RoundedSums(m vec.Machine) {
	dst, scale, offset, left := m.SlicePtr("sums"), m.SlicePtr("scale"), m.SlicePtr("offset"), m.SliceLen("scale")
	tail := m.Tail(left)
	low, high, bias := m.FloatParam("low"), m.FloatParam("high"), m.Splat(roundBias)
	columns := func(by, plus vec.V, store func(p vec.Ptr, v vec.V)) {
		sums := [3]vec.V{m.Zero(), m.Zero(), m.Zero()}
		x, w, n := m.SlicePtr("x"), m.SlicePtr("w"), m.SliceLen("x")
		m.Loop(n, 1, func() {
			v := m.LoadScalar(x, 0)
			q := m.Add(m.Mul(v, by), plus)
			q = m.Sub(m.Add(m.Min(m.Max(q, low), high), bias), bias)
			wq := m.Mul(m.LoadScalar(w, 0), q)
			m.AddTo(sums[0], wq)
			m.AddTo(sums[1], m.Mul(wq, v))
			m.AddTo(sums[2], m.Mul(wq, q))
			m.Bump(x, 4)
			m.Bump(w, 4)
		})
		row := m.CopyPtr(dst)
		for _, v := range sums {
			store(row, v)
			m.BumpBy(row, m.SliceLen("scale"))
		}
	}
	m.Loop(left, m.Width(), func() {
		columns(m.Load(scale, 0), m.Load(offset, 0), func(p vec.Ptr, v vec.V) { m.Store(p, 0, v) })
		for _, p := range []vec.Ptr{dst, scale, offset} {
			m.Bump(p, 4*m.Width())
		}
	})
	m.If(tail.Count, func() {
		columns(m.LoadTail(scale, tail, 0), m.LoadTail(offset, tail, 0), func(p vec.Ptr, v vec.V) { m.StoreTail(p, tail, v) })
	})
}
