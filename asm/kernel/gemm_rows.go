package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Finish returns the epilogue of a product for one panel of the tier's NR columns. The sums in x,
// NR per row, become rows of dst. A bias and an activation come before the store, a residual after
// it.
func Finish(u Unary) func(vec.Machine) {
	return func(m vec.Machine) {
		nr := m.Tier().Gemm.NR
		dst, x, bias, residual := m.SlicePtr("dst"), m.SlicePtr("x"), m.SlicePtr("bias"), m.SlicePtr("residual")
		f := u.prepare(m)
		bytes := 4 * m.Width()
		next := func(rows ...vec.Ptr) { // of dst and residual
			m.BumpBy(rows[0], m.IntParam("lddst"))
			m.BumpBy(rows[1], m.IntParam("ldresidual"))
		}
		fetch := func() {}
		if m.Prefetches() {
			ahead := []vec.Ptr{m.CopyPtr(dst), m.CopyPtr(residual)}
			for range finishAhead {
				next(ahead...)
			}
			fetch = func() {
				for _, p := range ahead {
					for line := 0; line < 4*nr; line += cacheLine {
						m.Prefetch(p, line+cacheLine-1) // rows may begin anywhere
					}
				}
				next(ahead...)
			}
		}
		m.Loop(m.IntParam("rows"), 1, func() {
			fetch()
			m.Together(nr/m.Width(), func(v int) {
				y := f(m.Add(m.Load(x, v*bytes), m.Load(bias, v*bytes)))
				m.Store(dst, v*bytes, m.Add(y, m.Load(residual, v*bytes)))
			})
			m.Bump(x, 4*nr)
			next(dst, residual)
		})
	}
}

// finishAhead is the number of rows by which rows of C and of the residual are fetched ahead: the
// processor recognises no stream in rows that lie several pages apart.
const finishAhead = 8

// eachRow runs body for every row of the matrices dst and x, whose rows are lddst and ldx elements
// apart, over the columns.
func eachRow(m vec.Machine, unroll int, body func(s vec.Span)) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	rows, cols, lddst, ldx := m.IntParam("rows"), m.IntParam("cols"), m.IntParam("lddst"), m.IntParam("ldx")
	t := m.Tail(cols)
	m.Loop(rows, 1, func() {
		vec.Each(m, cols, t, unroll, []vec.Ptr{dst, x}, body)
		m.BumpBy(dst, lddst)
		m.BumpBy(x, ldx)
	})
}

// CopyRows copies a matrix.
func CopyRows(m vec.Machine) {
	eachRow(m, 2, func(s vec.Span) {
		v := make([]vec.V, s.Vectors)
		for i := range v {
			v[i] = s.Load(1, i, 0)
		}
		for i := range v {
			s.Store(0, i, v[i])
		}
	})
}

// AddRows adds a matrix to another.
func AddRows(m vec.Machine) {
	eachRow(m, 2, func(s vec.Span) {
		for i := range s.Vectors {
			s.Store(0, i, m.Add(s.Load(1, i, 0), s.Load(0, i, 0)))
		}
	})
}

// TransposeRows transposes the whole blocks of a matrix: it rounds rows and cols down. It takes two
// blocks side by side, which use up a cache line of the source together. All rows come before the
// next columns, because the destination's rows are short. The rows are more streams than a
// processor follows, so on x86 each is fetched two lines ahead.
func TransposeRows(m vec.Machine) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	rows, cols, lddst, ldx := m.IntParam("rows"), m.IntParam("cols"), m.IntParam("lddst"), m.IntParam("ldx")
	side := m.TransposeBlock()
	for _, blocks := range []int{2, 1} {
		m.Loop(cols, blocks*side, func() {
			from, to, left := m.CopyPtr(x), m.CopyPtr(dst), m.CopyInt(rows)
			m.Loop(left, side, func() {
				below := m.CopyPtr(to)
				for b := range blocks {
					m.Transpose(below, lddst, from, ldx)
					if b+1 < blocks {
						m.Bump(from, 4*side)
						for range side {
							m.BumpBy(below, lddst)
						}
					}
				}
				m.Bump(from, -4*side*(blocks-1))
				for range side {
					if blocks == 2 {
						m.Prefetch(from, 2*cacheLine)
					}
					m.BumpBy(from, ldx)
				}
				m.Bump(to, 4*side)
			})
			m.Bump(x, 4*blocks*side)
			for range blocks * side {
				m.BumpBy(dst, lddst)
			}
		})
	}
}
