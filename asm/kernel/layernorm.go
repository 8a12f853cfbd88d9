package kernel

import "github.com/avoformer/avoformer/asm/vec"

// LayerNormRows normalises each row of cols elements to mean 0 and variance 1
// and applies weight and bias.
func LayerNormRows(m vec.Machine) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	var total [2]vec.V
	layerNorm(m, dst, m.CopyPtr(x), x, func(mean func(vec.V)) stage {
		return stage{
			ptrs:  []vec.Ptr{m.CopyPtr(x)},
			begin: func() { total = zeros(m) },
			step: func(s vec.Span, first, i int) func() {
				m.AddTo(total[i], s.Load(first, i, 0))
				return nil
			},
			end: func() { mean(m.ReduceAdd(m.Add(total[0], total[1]))) },
		}
	})
}

// AddLayerNormRows stores the sum of x and residual, and normalises it.
func AddLayerNormRows(m vec.Machine) {
	dst, sum := m.SlicePtr("dst"), m.SlicePtr("sum")
	var total [2]vec.V
	layerNorm(m, dst, m.CopyPtr(sum), sum, func(mean func(vec.V)) stage {
		return stage{
			ptrs:  []vec.Ptr{m.CopyPtr(sum), m.SlicePtr("x"), m.SlicePtr("residual")},
			begin: func() { total = zeros(m) },
			step: func(s vec.Span, first, i int) func() {
				v := m.Add(s.Load(first+1, i, 0), s.Load(first+2, i, 0))
				m.AddTo(total[i], v)
				return func() { s.Store(first, i, v) }
			},
			end: func() { mean(m.ReduceAdd(m.Add(total[0], total[1]))) },
		}
	})
}

func zeros(m vec.Machine) [2]vec.V { return [2]vec.V{m.Zero(), m.Zero()} }

// layerNorm normalises the rows at x2 and x3, which are the same, to dst. The
// first stage hands the total of a row to its argument.
//
// The mean is a rounded number, off by more where it is large. What it is off
// by is the mean of the differences from it; that is taken out of the variance
// and, together with the division by the deviation, out of the differences.
func layerNorm(m vec.Machine, dst, x2, x3 vec.Ptr, first func(total func(vec.V)) stage) {
	rows, cols := m.IntParam("rows"), m.IntParam("cols")
	mean, previous := m.Zero(), m.Zero()
	rstd, shift := m.Zero(), m.Zero()
	var rest, square [2]vec.V
	pipeline(m, rows, cols, m.Tail(cols), 2,
		first(func(total vec.V) { m.CopyTo(mean, m.Div(total, m.FloatFromInt(cols))) }),
		stage{
			ptrs:  []vec.Ptr{x2},
			begin: func() { rest, square = zeros(m), zeros(m) },
			step: func(s vec.Span, first, i int) func() {
				d := s.Keep(m.Sub(s.Load(first, i, 0), mean), 0)
				m.AddTo(rest[i], d)
				m.FMATo(square[i], d, d)
				return nil
			},
			end: func() {
				n := m.FloatFromInt(cols)
				off := m.Div(m.ReduceAdd(m.Add(rest[0], rest[1])), n)
				variance := m.Div(m.ReduceAdd(m.Add(square[0], square[1])), n)
				m.FNMATo(variance, off, off)
				m.CopyTo(rstd, m.Div(m.Splat(one), m.Sqrt(m.Add(m.Max(m.Zero(), variance), m.FloatParam("eps")))))
				m.CopyTo(shift, m.Mul(m.Sub(m.Zero(), off), rstd))
				m.CopyTo(previous, mean)
			},
		},
		stage{
			ptrs:   []vec.Ptr{dst, x3},
			repeat: func() []vec.Ptr { return []vec.Ptr{m.SlicePtr("weight"), m.SlicePtr("bias")} },
			step: func(s vec.Span, first, i int) func() {
				y := m.Horner(m.Sub(s.Load(first+1, i, 0), previous), rstd, shift)
				y = m.Horner(y, s.Load(first+2, i, 0), s.Load(first+3, i, 0))
				return func() { s.Store(first, i, y) }
			},
		})
}

// RMSNormRows divides each row by its root mean square and applies weight.
func RMSNormRows(m vec.Machine) {
	dst, x := m.SlicePtr("dst"), m.SlicePtr("x")
	rows, cols, eps := m.IntParam("rows"), m.IntParam("cols"), m.FloatParam("eps")
	n, rstd := m.FloatFromInt(cols), m.Zero()
	var square [2]vec.V
	pipeline(m, rows, cols, m.Tail(cols), 2,
		stage{
			ptrs:  []vec.Ptr{m.CopyPtr(x)},
			begin: func() { square = zeros(m) },
			step: func(s vec.Span, first, i int) func() {
				v := s.Load(first, i, 0)
				m.FMATo(square[i], v, v)
				return nil
			},
			end: func() {
				mean := m.Div(m.ReduceAdd(m.Add(square[0], square[1])), n)
				m.CopyTo(rstd, m.Div(m.Splat(one), m.Sqrt(m.Add(mean, eps))))
			},
		},
		stage{
			ptrs:   []vec.Ptr{dst, x},
			repeat: func() []vec.Ptr { return []vec.Ptr{m.SlicePtr("weight")} },
			step: func(s vec.Span, first, i int) func() {
				y := m.Mul(m.Mul(s.Load(first+1, i, 0), rstd), s.Load(first+2, i, 0))
				return func() { s.Store(first, i, y) }
			},
		})
}
