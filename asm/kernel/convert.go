package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Float16Vec and BFloat16Vec widen elements of 16 bits.
var (
	Float16Vec  = widen(vec.Machine.LoadFloat16, vec.Machine.LoadFloat16One)
	BFloat16Vec = widen(vec.Machine.LoadBFloat16, vec.Machine.LoadBFloat16One)
)

// fetcher returns a function that fetches the given number of bytes of the elements that a loop
// widens later: those ahead bytes further. It does nothing on machines that do not prefetch.
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

// WidenInt8 widens rows of integers and multiplies each row by its scale.
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

// WidenInt8Panel widens a panel of integers and multiplies each column by its scale.
func WidenInt8Panel(m vec.Machine) {
	dst, x, scales, rows := m.SlicePtr("dst"), m.SlicePtr("x"), m.SlicePtr("scale"), m.IntParam("rows")
	fetch, nr, width := fetcher(m, x), m.Tier().Gemm.NR, m.Width()
	var scale []vec.V
	for j := 0; j < nr; j += width {
		scale = append(scale, m.Load(scales, 4*j))
	}
	for _, some := range []int{4, 1} {
		m.Loop(rows, some, func() {
			for i := range some * len(scale) {
				m.Store(dst, 4*i*width, m.Mul(scale[i%len(scale)], m.LoadInt8(x, i*width)))
			}
			fetch(some * nr)
			m.Bump(dst, 4*some*nr)
			m.Bump(x, some*nr)
		})
	}
}

// widen returns the kernel func(dst []float32, x []uint16, ahead int). It takes the elements after
// whole vectors one by one: AVX2 and NEON have no masked loads of 16 bits.
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

// Constants of rounding to bfloat16, as bits: half a unit minus one, and the bit in the upper half
// that makes a NaN quiet.
const (
	nearlyHalf vec.Const = 0x7fff
	lowestBit  vec.Const = 1
	quietNaN   vec.Const = 0x00400000
)

// BFloat16Rows rounds rows of float32 to bfloat16, and pads them with zeros.
var BFloat16Rows = Only(func(m vec.Tiler) {
	narrowRows(m, 2, func(x vec.V) vec.V {
		rounded := m.And(m.ShiftRight(x, 16), lowestBit)
		m.AddInt32To(rounded, nearlyHalf)
		m.AddInt32To(rounded, x)
		quiet := m.Or(x, quietNaN)
		return m.ShiftRight(m.Select(m.Unordered(x, x), quiet, rounded), 16)
	})
})

// narrowRows converts rows of x to rows of dst, some vectors together: convert leaves the result in
// the lower 16 bits of each lane. It pads rows with zeros.
func narrowRows(m vec.Machine, together int, convert func(x vec.V) vec.V) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	cols, width := m.IntParam("cols"), m.Width()
	tail := m.Tail(cols)
	m.Loop(m.IntParam("rows"), 1, func() {
		left, room := m.CopyInt(cols), m.IntParam("filled")
		advance := func(vectors int) {
			m.Bump(dst, 2*vectors*width)
			m.Subtract(room, vectors*width)
		}
		for _, vectors := range []int{together, 1} {
			m.Loop(left, vectors*width, func() {
				for i := range vectors {
					m.StoreNarrow(dst, 2*i*width, convert(m.Load(x, 4*i*width)), 2)
				}
				m.Bump(x, 4*vectors*width)
				advance(vectors)
			})
		}
		m.If(left, func() {
			m.StoreNarrow(dst, 0, convert(m.LoadTail(x, tail, 0)), 2)
			m.BumpBy(x, left)
			advance(1)
		})
		zero := m.Zero()
		m.Loop(room, width, func() {
			m.StoreNarrow(dst, 0, zero, 2)
			m.Bump(dst, 2*width)
		})
		nextRow(m, x, "x", "cols", 4)
		nextRow(m, dst, "dst", "filled", 2)
	})
}
