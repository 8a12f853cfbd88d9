package kernel

import "github.com/avoformer/avoformer/asm/vec"

// GemmDot multiplies a few rows of A by rows of B. The vectors run along k: neither operand is
// packed or transposed. A tile of rows of A and of B accumulates in registers, in vec.DotLanes
// lanes per element; the sums of a row are formed together at the end. All rows of A are multiplied
// before the next rows of B: each row of B comes from memory once.
var GemmDot = Own(gemmDot, gemmDotX86)

// gemmDot is GemmDot over the vocabulary, for machines with enough registers for a pointer to each
// row.
func gemmDot(m vec.Machine) {
	const mostColumns = 2
	alpha, tail := m.FloatParam("alpha"), m.Tail(m.IntParam("k"))
	b, c, n := m.SlicePtr("b"), m.SlicePtr("c"), m.IntParam("n")
	tile := func(a, to vec.Ptr, rows, cols int) {
		from := func(p vec.Ptr, n int, ld string) []vec.Ptr {
			ptrs := []vec.Ptr{m.CopyPtr(p)}
			for range n - 1 {
				next := m.CopyPtr(ptrs[len(ptrs)-1])
				m.BumpBy(next, m.IntParam(ld))
				ptrs = append(ptrs, next)
			}
			return ptrs
		}
		as, bs := from(a, rows, "lda"), from(b, cols, "ldb")
		acc := make([][][]vec.V, rows)
		for i := range acc {
			for range cols {
				acc[i] = append(acc[i], zeroLanes(m))
			}
		}
		inDotLanes(m, m.IntParam("k"), tail, append(as[:rows:rows], bs...), 1, func(s laneStep) {
			var av []vec.V
			for _, p := range as {
				av = append(av, s.load(p, 0))
			}
			for j, p := range bs {
				bv := s.load(p, 0)
				for i := range av {
					m.FMATo(acc[i][j][s.chain], av[i], bv)
				}
			}
		})
		row := m.CopyPtr(to)
		for i := range acc {
			m.StoreLanes(row, plusZero(m, m.DotSums(acc[i]), alpha), 0, cols)
			m.BumpBy(row, m.IntParam("ldc"))
		}
	}
	for cols := mostColumns; cols >= 1; cols-- {
		m.Loop(n, cols, func() {
			a, to, left := m.SlicePtr("a"), m.CopyPtr(c), m.IntParam("m")
			for rows := m.Tier().Blocking.DotRows; rows >= 1; rows-- {
				m.Loop(left, rows, func() {
					tile(a, to, rows, cols)
					for range rows {
						m.BumpBy(a, m.IntParam("lda"))
						m.BumpBy(to, m.IntParam("ldc"))
					}
				})
			}
			for range cols {
				m.BumpBy(b, m.IntParam("ldb"))
			}
			m.Bump(c, 4*cols)
		})
	}
}
