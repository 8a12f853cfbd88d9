package kernel

import "github.com/avoformer/avoformer/asm/vec"

// GemmDot multiplies a few rows of A by rows of B. The vectors run along k: neither operand is packed or
// transposed. A tile of rows of A and of B accumulates in registers, in vec.DotLanes lanes per element; the
// sums of a row are formed together at the end. All rows of A are multiplied before the next rows of B: each
// row of B comes from memory once.
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

// plusZero is x*factor + 0, rounded once. It consumes x. Lanes that add nothing are zeros of either sign, and their number depends on the
// width of a vector: of their sum, and of its product, no sign may remain.
func plusZero(m vec.Machine, x, factor vec.V) vec.V { return m.Horner(x, factor, m.Zero()) }

// zeroLanes returns the lanes of a dot product, all zero.
func zeroLanes(m vec.Machine) (lanes []vec.V) {
	for range vec.DotLanes / m.Width() {
		lanes = append(lanes, m.Zero())
	}
	return lanes
}

// laneStep is one vector of each row, and the vector of lanes that it is added to.
type laneStep struct {
	m     vec.Machine
	chain int
	off   int       // bytes from a row's pointer
	tail  *vec.Tail // nil for a whole vector
}

// load loads the vector of a row; lanes past the end hold fill.
func (s laneStep) load(p vec.Ptr, fill vec.Const) vec.V {
	if s.tail != nil {
		return s.m.LoadTail(p, *s.tail, fill)
	}
	return s.m.Load(p, s.off)
}

// fmaTo adds a times the vector of a row to acc.
func (s laneStep) fmaTo(acc, a vec.V, p vec.Ptr) {
	if s.tail != nil {
		s.m.FMATo(acc, a, s.m.LoadTail(p, *s.tail, 0))
		return
	}
	s.m.FMALoad(acc, a, p, s.off)
}

// store writes the vector of a row, without the lanes past the end.
func (s laneStep) store(p vec.Ptr, v vec.V) {
	if s.tail != nil {
		s.m.StoreTail(p, *s.tail, v)
		return
	}
	s.m.Store(p, s.off, v)
}

// keep returns v with zeros in the lanes past the end.
func (s laneStep) keep(v vec.V) vec.V {
	if s.tail != nil {
		return s.m.KeepTail(*s.tail, v, 0)
	}
	return v
}

// inDotLanes calls step for each vector of n elements of rows. Its loop takes unroll times the lanes per
// iteration. The rows' pointers move.
func inDotLanes(m vec.Machine, n vec.Int, tail vec.Tail, rows []vec.Ptr, unroll int, step func(s laneStep)) {
	width, left := m.Width(), m.CopyInt(n)
	chains := vec.DotLanes / width
	bump := func(vectors int) {
		for _, p := range rows {
			m.Bump(p, 4*vectors*width)
		}
	}
	for ; unroll >= 1; unroll /= 2 {
		m.Loop(left, unroll*vec.DotLanes, func() {
			for i := range unroll * chains {
				step(laneStep{m: m, chain: i % chains, off: 4 * i * width})
			}
			bump(unroll * chains)
		})
	}
	var rest func(chain int)
	rest = func(chain int) {
		part := func() {
			m.If(left, func() { step(laneStep{m: m, chain: chain, tail: &tail}) })
		}
		if chain+1 == chains {
			part()
			return
		}
		m.IfLE(left, width-1, part, func() {
			step(laneStep{m: m, chain: chain})
			bump(1)
			m.Subtract(left, width)
			rest(chain + 1)
		})
	}
	rest(0)
}
