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

// joined adds up lanes until they fit into one vector: lane i is the sum of lanes that lie Width apart.
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

// walkSums walks over n elements at x, which keeps its value: step adds vector i of a span to sums, and turn
// turns them.
func walkSums(m vec.Machine, x vec.Ptr, n vec.Int, tail vec.Tail, turn func(), step func(s vec.Span, i int)) {
	vec.Walk(m, n, tail, []vec.Group{{Rows: []vec.Ptr{m.CopyPtr(x)}}}, turn, func(spans []vec.Span) {
		for i := range spans[0].Vectors {
			step(spans[0], i)
		}
	})
}
