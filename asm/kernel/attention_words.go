package kernel

import (
	"math"

	"github.com/avoformer/avoformer/asm/vec"
)

// The product of attention's weights with values in words: the weights as integers of WeightBits
// bits, the values of at most ValueTop with a scale a column. A sum over MostWordKeys keys has 31
// bits.

// WeightBits and ValueTop are what the integers may be; MostWordKeys is how many keys are summed
// up.
const (
	WeightBits   = 13
	ValueTop     = 511
	MostWordKeys = math.MaxInt32 / ((1<<WeightBits + 64) * ValueTop)
)

// RoundWords makes words of rows of floats, times a factor.
func RoundWords(m vec.Machine) {
	factor := m.FloatParam("factor")
	narrowRows(m, 4, func(x vec.V) vec.V { return m.Horner(x, factor, roundBias) })
}

// WordColumns makes words of columns of floats, two rows side by side, each column with a scale.
func WordColumns(m vec.Machine) {
	dst, scale, x := m.SlicePtr("dst"), m.SlicePtr("scale"), m.SlicePtr("x")
	width, nr := m.Width(), m.Tier().Gemm.NR
	vectors := nr / width
	each := func(do func(v, off int)) {
		for v := range vectors {
			do(v, 4*v*width)
		}
	}
	none := func() (all []vec.V) {
		for range vectors {
			all = append(all, m.Zero())
		}
		return all
	}
	m.Loop(m.IntParam("cols"), nr, func() {
		largest, inverse := none(), none()
		row := m.CopyPtr(x)
		m.Loop(m.IntParam("rows"), 1, func() {
			each(func(v, off int) { m.MaxMagnitudeTo(largest[v], m.And(m.Load(row, off), magnitude)) })
			m.BumpBy(row, m.IntParam("ldx"))
		})
		each(func(v, off int) {
			m.CopyTo(inverse[v], m.Div(m.Splat(f32(ValueTop)), m.Max(largest[v], int8Tiny)))
			m.Store(scale, off, m.Add(m.Mul(largest[v], f32(1.0/ValueTop)), m.Sub(largest[v], largest[v])))
		})
		row = m.CopyPtr(x)
		left, room := m.IntParam("rows"), m.IntParam("filled")
		next := func(store func(v, off int)) {
			each(store)
			m.Bump(dst, 4*nr)
			m.Subtract(room, 2)
		}
		low := func(v, off int) vec.V {
			return m.And(m.Horner(m.Load(row, off), inverse[v], roundBias), vec.Const(0xffff))
		}
		m.Loop(left, 2, func() {
			lows := none()
			each(func(v, off int) { m.CopyTo(lows[v], low(v, off)) })
			m.BumpBy(row, m.IntParam("ldx"))
			next(func(v, off int) {
				high := m.Horner(m.Load(row, off), inverse[v], roundBias)
				m.Store(dst, off, m.Or(lows[v], m.ShiftLeft(high, 16)))
			})
			m.BumpBy(row, m.IntParam("ldx"))
		})
		m.If(left, func() { next(func(v, off int) { m.Store(dst, off, low(v, off)) }) })
		zero := m.Zero()
		m.Loop(room, 2, func() {
			each(func(_, off int) { m.Store(dst, off, zero) })
			m.Bump(dst, 4*nr)
		})
		m.Bump(x, 4*nr)
		m.Bump(scale, 4*nr)
	})
}

// WordPanel is the micro-kernel of products of words, whose sums over all of k are in registers.
func WordPanel(dot func() intDot) func(vec.Machine) {
	return Only(func(m vec.Tiler) {
		d := dot()
		t := newIntTile(m, d)
		var b vec.Ptr
		var k vec.Int
		t.rows(d.rows(m.Tier()), rowParts{
			begin: func() func(i int) vec.V {
				b, k = t.SlicePtr("b"), t.IntParam("k")
				if t.first > 0 {
					t.Bump(b, 4*t.first)
				}
				return nil
			},
			sum:     func() { t.loop(b, k, 2, nil) },
			endRows: t.endWholeRow,
		})
	})
}

// endWholeRow makes floats of the sums, multiplies them with the columns' weights, adds what is in
// C if it is to, and stores.
func (t *intTile) endWholeRow() func(label func(string) string, sums []vec.V, c, scale vec.Ptr) {
	var weights []vec.V
	for v := range t.vectors {
		weights = append(weights, t.Load(t.SlicePtr("weight"), 4*(t.first+v*t.Width())))
	}
	return func(label func(string) string, sums []vec.V, c, _ vec.Ptr) {
		for v, sum := range sums {
			t.IntToFloat(sum)
			t.MulTo(sum, weights[v])
		}
		t.BranchIfParam("add", true, label("stored"))
		for v, sum := range sums {
			t.AddLoad(sum, c, 4*v*t.Width())
		}
		t.Label(label("stored"))
		for v, sum := range sums {
			t.Store(c, 4*v*t.Width(), sum)
		}
	}
}
