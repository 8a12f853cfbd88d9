package kernel

import "github.com/avoformer/avoformer/asm/vec"

// laneSums is a sum over a row in vec.RowLanes lanes: as many vectors as these lanes take.
type laneSums []vec.V

// zeroSums returns an empty sum.
func zeroSums(m vec.Machine) laneSums {
	sums := make(laneSums, vec.Chains(m))
	for i := range sums {
		sums[i] = m.Zero()
	}
	return sums
}

// turn moves each vector to the place of the one before it, after a single vector of the row.
func (s laneSums) turn(m vec.Machine) {
	first := m.Copy(s[0])
	for i := range s[1:] {
		m.CopyTo(s[i], s[i+1])
	}
	m.CopyTo(s[len(s)-1], first)
}

// joined adds up lanes until they fit into one vector: lane i is the sum of lanes that lie Width
// apart.
func (s laneSums) joined(m vec.Machine) vec.V {
	for half := len(s) / 2; half > 0; half /= 2 {
		next := make(laneSums, half)
		for i := range next {
			next[i] = m.Add(s[i], s[i+half])
		}
		s = next
	}
	return s[0]
}

// walkSums walks over n elements at x, which keeps its value: step adds vector i of a span to sums,
// and turn turns them.
func walkSums(m vec.Machine, x vec.Ptr, n vec.Int, tail vec.Tail, turn func(), step func(s vec.Span, i int)) {
	vec.Walk(m, n, tail, []vec.Group{{Rows: []vec.Ptr{m.CopyPtr(x)}}}, turn, func(spans []vec.Span) {
		for i := range spans[0].Vectors {
			step(spans[0], i)
		}
	})
}

// plusZero is x*factor + 0, rounded once. It consumes x. Lanes that add nothing are zeros of either
// sign, and their number depends on the width of a vector: of their sum, and of its product, no
// sign may remain.
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

// inDotLanes calls step for each vector of n elements of rows. Its loop takes unroll times the
// lanes per iteration. The rows' pointers move.
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
