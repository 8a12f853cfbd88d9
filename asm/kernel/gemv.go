package kernel

import "github.com/avoformer/avoformer/asm/vec"

// GemvPanels multiplies a vector with packed panels of NR columns. A panel is
// one run of memory. Four elements of the vector go together, each with sums of
// its own, since the sums of one panel alone would wait for one another.
func GemvPanels(nr int) func(vec.Machine) {
	return func(m vec.Machine) {
		c, a, b := m.SlicePtr("c"), m.SlicePtr("a"), m.SlicePtr("b")
		n, k := m.SliceLen("c"), m.SliceLen("a")
		const unroll = 4
		vectors := nr / m.Width()
		m.Loop(n, nr, func() {
			var acc [unroll][]vec.V
			for u := range acc {
				for range vectors {
					acc[u] = append(acc[u], m.Zero())
				}
			}
			x, left := m.CopyPtr(a), m.CopyInt(k)
			step := func(unroll int) {
				m.Loop(left, unroll, func() {
					for u := range unroll {
						e := m.LoadScalar(x, 4*u)
						for v := range vectors {
							m.FMATo(acc[u][v], e, m.Load(b, 4*(u*nr+v*m.Width())))
						}
					}
					m.Bump(x, 4*unroll)
					m.Bump(b, 4*unroll*nr)
				})
			}
			step(unroll)
			step(1)
			for v := range vectors {
				m.AddTo(acc[0][v], acc[1][v])
				m.AddTo(acc[2][v], acc[3][v])
				m.AddTo(acc[0][v], acc[2][v])
				m.Store(c, 4*v*m.Width(), acc[0][v])
			}
			m.Bump(c, 4*nr)
		})
	}
}

// GemvRows adds a combination of the rows of B to C, four rows at a time.
func GemvRows(m vec.Machine) {
	c, a, b := m.SlicePtr("c"), m.SlicePtr("a"), m.SlicePtr("b")
	n, k, ldb := m.SliceLen("c"), m.SliceLen("a"), m.IntParam("ldb")
	t := m.Tail(n)
	for _, rows := range []int{4, 1} {
		m.Loop(k, rows, func() {
			var e []vec.V
			ptrs := []vec.Ptr{c}
			for r := range rows {
				e = append(e, m.LoadScalar(a, 4*r))
				ptrs = append(ptrs, m.CopyPtr(b))
				m.BumpBy(b, ldb)
			}
			vec.Each(m, n, t, 2, ptrs, func(s vec.Span) {
				var sum []vec.V
				for i := range s.Vectors {
					sum = append(sum, s.Load(0, i, 0))
				}
				for r := range rows {
					for i := range s.Vectors {
						m.FMATo(sum[i], e[r], s.Load(1+r, i, 0))
					}
				}
				for i := range s.Vectors {
					s.Store(0, i, sum[i])
				}
			})
			m.Bump(a, 4*rows)
		})
	}
}
