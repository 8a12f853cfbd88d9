package kernel

import "github.com/avoformer/avoformer/asm/vec"

// GemmDot is the product of a few rows of A with rows of B: k runs along the
// vectors, so that neither operand is packed or transposed. A tile of rows of A
// and four rows of B accumulates in registers; four sums are formed together at
// the end. All rows of A take their turn before the next rows of B, which
// therefore come from memory once.
var GemmDot = Own(gemmDot, gemmDotX86)

const dotCols = 4

// gemmDot is GemmDot over the vocabulary, for machines with enough registers
// for a pointer to each row.
func gemmDot(m vec.Machine) {
	const maxRows = 4
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
		as, bs, left := from(a, rows, "lda"), from(b, cols, "ldb"), m.IntParam("k")
		acc := make([][]vec.V, rows)
		for i := range acc {
			for range cols {
				acc[i] = append(acc[i], m.Zero())
			}
		}
		step := func(load func(vec.Ptr) vec.V) {
			var av []vec.V
			for _, p := range as {
				av = append(av, load(p))
			}
			for j, p := range bs {
				bv := load(p)
				for i := range av {
					m.FMATo(acc[i][j], av[i], bv)
				}
			}
		}
		m.Loop(left, m.Width(), func() {
			step(func(p vec.Ptr) vec.V { return m.Load(p, 0) })
			for _, p := range append(as, bs...) {
				m.Bump(p, 4*m.Width())
			}
		})
		m.If(left, func() { step(func(p vec.Ptr) vec.V { return m.LoadTail(p, tail, 0) }) })
		row := m.CopyPtr(to)
		for i := range acc {
			for j := range acc[i] {
				m.StoreScalar(row, 4*j, m.Mul(m.ReduceAdd(acc[i][j]), alpha))
			}
			m.BumpBy(row, m.IntParam("ldc"))
		}
	}
	for _, cols := range []int{dotCols, 1} {
		m.Loop(n, cols, func() {
			a, to, left := m.SlicePtr("a"), m.CopyPtr(c), m.IntParam("m")
			for rows := maxRows; rows >= 1; rows-- {
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
