package kernel

import "github.com/avoformer/avoformer/asm/vec"

// GemmDot is the product of a few rows of A with rows of B: k runs along the
// vectors, so that neither operand is packed or transposed. A tile of rows of A
// and of B accumulates in registers, in vec.DotLanes lanes for each element; the sums of a row are formed together at
// the end. All rows of A take their turn before the next rows of B, which
// therefore come from memory once.
var GemmDot = Own(gemmDot, gemmDotX86)

// gemmDot is GemmDot over the vocabulary, for machines with enough registers
// for a pointer to each row.
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
		inDotLanes(m, m.IntParam("k"), tail, append(as[:rows:rows], bs...), func(chain int, load func(vec.Ptr) vec.V) {
			var av []vec.V
			for _, p := range as {
				av = append(av, load(p))
			}
			for j, p := range bs {
				bv := load(p)
				for i := range av {
					m.FMATo(acc[i][j][chain], av[i], bv)
				}
			}
		})
		row := m.CopyPtr(to)
		for i := range acc {
			m.StoreLanes(row, m.Mul(m.DotSums(acc[i]), alpha), 0, cols)
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

// zeroLanes returns the lanes of a dot product.
func zeroLanes(m vec.Machine) (lanes []vec.V) {
	for range vec.DotLanes / m.Width() {
		lanes = append(lanes, m.Zero())
	}
	return lanes
}

// inDotLanes goes through n elements of rows, whose pointers move: step takes a vector of each row, which load reads, and
// which belongs to a vector of the lanes.
func inDotLanes(m vec.Machine, n vec.Int, tail vec.Tail, rows []vec.Ptr, step func(chain int, load func(vec.Ptr) vec.V)) {
	width, left := m.Width(), m.CopyInt(n)
	chains := vec.DotLanes / width
	bump := func(vectors int) {
		for _, p := range rows {
			m.Bump(p, 4*vectors*width)
		}
	}
	m.Loop(left, vec.DotLanes, func() {
		for chain := range chains {
			step(chain, func(p vec.Ptr) vec.V { return m.Load(p, 4*chain*width) })
		}
		bump(chains)
	})
	var rest func(chain int)
	rest = func(chain int) {
		part := func() {
			m.If(left, func() { step(chain, func(p vec.Ptr) vec.V { return m.LoadTail(p, tail, 0) }) })
		}
		if chain+1 == chains {
			part()
			return
		}
		m.IfLE(left, width-1, part, func() {
			step(chain, func(p vec.Ptr) vec.V { return m.Load(p, 0) })
			bump(1)
			m.Subtract(left, width)
			rest(chain + 1)
		})
	}
	rest(0)
}
