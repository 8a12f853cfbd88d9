package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Float16Vec and BFloat16Vec widen elements of 16 bits.
var (
	Float16Vec  = widen(vec.Machine.LoadFloat16, vec.Machine.LoadFloat16One)
	BFloat16Vec = widen(vec.Machine.LoadBFloat16, vec.Machine.LoadBFloat16One)
)

// fetcher is what fetches, of the elements that a loop widens next, as many bytes as are given: those ahead bytes further,
// where the kernel has a use for such.
func fetcher(m vec.Machine, x vec.Ptr) (fetch func(bytes int)) {
	if !m.Prefetches() {
		return func(int) {}
	}
	ahead := m.IntParam("ahead")
	return func(bytes int) {
		for line := 0; line+cacheLine <= bytes; line += cacheLine {
			m.PrefetchFar(x, line, ahead, 1)
		}
	}
}

// WidenInt8 widens rows of integers and multiplies each row with its scale.
func WidenInt8(m vec.Machine) {
	dst, x, scale, rows := m.SlicePtr("dst"), m.SlicePtr("x"), m.SlicePtr("scale"), m.IntParam("rows")
	fetch := fetcher(m, x)
	m.Loop(rows, 1, func() {
		s, left, gap := m.LoadScalar(scale, 0), m.IntParam("cols"), m.IntParam("ldx")
		m.SubtractInt(gap, left)
		for _, vectors := range []int{4, 1} {
			m.Loop(left, vectors*m.Width(), func() {
				for v := range vectors {
					m.Store(dst, 4*v*m.Width(), m.Mul(s, m.LoadInt8(x, v*m.Width())))
				}
				fetch(vectors * m.Width())
				m.Bump(dst, 4*vectors*m.Width())
				m.Bump(x, vectors*m.Width())
			})
		}
		m.Loop(left, 1, func() {
			m.StoreScalar(dst, 0, m.Mul(s, m.LoadInt8One(x)))
			m.Bump(dst, 4)
			m.Bump(x, 1)
		})
		m.BumpBytes(x, gap, 1)
		m.BumpBy(scale, m.IntParam("ldscale"))
	})
}

// widen is the kernel func(dst []float32, x []uint16, ahead int). What is left after whole vectors is taken one by one:
// AVX2 and NEON have no masked loads of 16 bits.
func widen(load func(m vec.Machine, p vec.Ptr, off int) vec.V, one func(m vec.Machine, p vec.Ptr) vec.V) func(vec.Machine) {
	return func(m vec.Machine) {
		dst, x, n := m.SlicePtr("dst"), m.SlicePtr("x"), m.SliceLen("dst")
		fetch := fetcher(m, x)
		for _, vectors := range []int{4, 1} {
			m.Loop(n, vectors*m.Width(), func() {
				for v := range vectors {
					m.Store(dst, 4*v*m.Width(), load(m, x, 2*v*m.Width()))
				}
				fetch(2 * vectors * m.Width())
				m.Bump(dst, 4*vectors*m.Width())
				m.Bump(x, 2*vectors*m.Width())
			})
		}
		m.Loop(n, 1, func() {
			m.StoreScalar(dst, 0, one(m, x))
			m.Bump(dst, 4)
			m.Bump(x, 2)
		})
	}
}
