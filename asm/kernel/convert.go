package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Float16Vec and BFloat16Vec widen elements of 16 bits.
var (
	Float16Vec  = widen(vec.Machine.LoadFloat16, vec.Machine.LoadFloat16One)
	BFloat16Vec = widen(vec.Machine.LoadBFloat16, vec.Machine.LoadBFloat16One)
)

// widen is the kernel func(dst []float32, x []uint16). What is left after whole vectors is taken one by one:
// AVX2 and NEON have no masked loads of 16 bits.
func widen(load func(m vec.Machine, p vec.Ptr, off int) vec.V, one func(m vec.Machine, p vec.Ptr) vec.V) func(vec.Machine) {
	return func(m vec.Machine) {
		dst, x, n := m.SlicePtr("dst"), m.SlicePtr("x"), m.SliceLen("dst")
		for _, vectors := range []int{4, 1} {
			m.Loop(n, vectors*m.Width(), func() {
				for v := range vectors {
					m.Store(dst, 4*v*m.Width(), load(m, x, 2*v*m.Width()))
				}
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
