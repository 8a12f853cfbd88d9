package kernel

import "github.com/avoformer/avoformer/asm/vec"

// RotateBlock is the number of elements of a row that are rotated together, and RotateGroup the
// number where no such block is left.
const (
	RotateBlock = 128
	RotateGroup = 32
)

// Rotate applies Walsh-Hadamard transforms to blocks of rows of float32, after a factor for each
// column. It adds and subtracts elements at distance 1 first, then at distance 2 and so on.
func Rotate(block int) func(vec.Machine) {
	return func(m vec.Machine) {
		dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
		var within []func(vec.V) vec.V
		for distance := 1; distance < m.Width(); distance *= 2 {
			within = append(within, m.Butterfly(distance))
		}
		m.Loop(m.IntParam("rows"), 1, func() {
			by := m.SlicePtr("by")
			m.Loop(m.IntParam("cols"), block, func() {
				rotateBlock(m, within, dst, x, by, block)
				m.Bump(x, 4*block)
				m.Bump(by, 4*block)
				m.Bump(dst, 4*block)
			})
			nextRow(m, x, "x", "cols", 4)
			nextRow(m, dst, "dst", "cols", 4)
		})
	}
}

// rotateBlock keeps eight vectors in registers. The functions within combine their lanes. A larger
// block is stored group by group in between.
func rotateBlock(m vec.Machine, within []func(vec.V) vec.V, dst, x, by vec.Ptr, block int) {
	width := m.Width()
	group := min(block, 8*width)
	for from := 0; from < block; from += group {
		vs := make([]vec.V, group/width)
		for i := range vs {
			at := 4 * (from + i*width)
			vs[i] = m.Mul(m.Load(x, at), m.Load(by, at))
		}
		for _, butterfly := range within {
			for i := range vs {
				vs[i] = butterfly(vs[i])
			}
		}
		butterflies(m, vs)
		for i, v := range vs {
			m.Store(dst, 4*(from+i*width), v)
		}
	}
	if group == block {
		return
	}
	for from := 0; from < group; from += width {
		vs := make([]vec.V, block/group)
		for i := range vs {
			vs[i] = m.Load(dst, 4*(from+i*group))
		}
		butterflies(m, vs)
		for i, v := range vs {
			m.Store(dst, 4*(from+i*group), v)
		}
	}
}

// butterflies emits the stages between vectors, the shortest distance first.
func butterflies(m vec.Machine, vs []vec.V) {
	for distance := 1; distance < len(vs); distance *= 2 {
		for i := range vs {
			if i&distance == 0 {
				a, b := vs[i], vs[i+distance]
				vs[i], vs[i+distance] = m.Add(a, b), m.Sub(a, b)
			}
		}
	}
}
