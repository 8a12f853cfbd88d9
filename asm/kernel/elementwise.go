package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Unary is a function of one element: prepare sets up its constants and returns the code for one
// vector.
type Unary struct {
	unroll  int // vectors at a time; 0: the number in the tier's Blocking
	prepare func(m vec.Machine) func(x vec.V) vec.V
}

// unary makes functions of a few instructions, and polynomial functions whose instructions wait for
// one another.
func unary(prepare func(m vec.Machine) func(x vec.V) vec.V) Unary { return Unary{4, prepare} }

func polynomial(prepare func(m vec.Machine) func(x vec.V) vec.V) Unary { return Unary{0, prepare} }

// Emit emits the kernel func(dst, x []float32) that applies the function to every element of dst's
// length.
func (u Unary) Emit(m vec.Machine) {
	dst, x, n := m.SlicePtr("dst"), m.SlicePtr("x"), m.SliceLen("dst")
	f, unroll := u.prepare(m), u.unroll
	if unroll == 0 {
		unroll = m.Tier().Blocking.Vectors
	}
	vec.Each(m, n, m.Tail(n), unroll, []vec.Ptr{dst, x}, func(s vec.Span) {
		m.Together(s.Vectors, func(i int) { s.Store(0, i, f(s.Load(1, i, 0))) })
	})
}

// Identity returns x.
var Identity = unary(func(vec.Machine) func(vec.V) vec.V {
	return func(x vec.V) vec.V { return x }
})

// ReLU computes max(x, 0); NaN and -0 are kept.
var ReLU = unary(func(m vec.Machine) func(vec.V) vec.V {
	zero := m.Zero()
	return func(x vec.V) vec.V { return m.Least(zero, x) }
})

// binary returns the kernel func(dst, a, b []float32).
func binary(f func(m vec.Machine, a, b vec.V) vec.V) func(vec.Machine) {
	return func(m vec.Machine) {
		dst, a, b, n := m.SlicePtr("dst"), m.SlicePtr("a"), m.SlicePtr("b"), m.SliceLen("dst")
		vec.Each(m, n, m.Tail(n), 4, []vec.Ptr{dst, a, b}, func(s vec.Span) {
			for i := range s.Vectors {
				s.Store(0, i, f(m, s.Load(1, i, 0), s.Load(2, i, 0)))
			}
		})
	}
}

// Add and Mul compute elementwise sums and products.
var (
	Add = binary(func(m vec.Machine, a, b vec.V) vec.V { return m.Add(a, b) })
	Mul = binary(func(m vec.Machine, a, b vec.V) vec.V { return m.Mul(a, b) })
)

// ScaleVec computes alpha*x.
func ScaleVec(m vec.Machine) {
	dst, x, n, alpha := m.SlicePtr("dst"), m.SlicePtr("x"), m.SliceLen("x"), m.FloatParam("alpha")
	vec.Each(m, n, m.Tail(n), 4, []vec.Ptr{dst, x}, func(s vec.Span) {
		for i := range s.Vectors {
			s.Store(0, i, m.Mul(s.Load(1, i, 0), alpha))
		}
	})
}

// SubSubVec computes (x-a)-b.
func SubSubVec(m vec.Machine) {
	dst, x, n := m.SlicePtr("dst"), m.SlicePtr("x"), m.SliceLen("x")
	a, b := m.FloatParam("a"), m.FloatParam("b")
	vec.Each(m, n, m.Tail(n), 4, []vec.Ptr{dst, x}, func(s vec.Span) {
		for i := range s.Vectors {
			s.Store(0, i, m.Sub(m.Sub(s.Load(1, i, 0), a), b))
		}
	})
}

// AXPYVec computes y += alpha*x.
func AXPYVec(m vec.Machine) {
	y, x, n, alpha := m.SlicePtr("y"), m.SlicePtr("x"), m.SliceLen("x"), m.FloatParam("alpha")
	vec.Each(m, n, m.Tail(n), 4, []vec.Ptr{y, x}, func(s vec.Span) {
		for i := range s.Vectors {
			v := s.Load(0, i, 0)
			m.FMATo(v, s.Load(1, i, 0), alpha)
			s.Store(0, i, v)
		}
	})
}
