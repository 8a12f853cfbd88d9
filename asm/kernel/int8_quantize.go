package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Constants of quantizing, as bits.
const (
	int8Top   vec.Const = 0x42fe0000 // 127
	int8ByTop vec.Const = 0x3c010204 // 1/127
	int8Tiny  vec.Const = 0x0d800000 // 2^-100
	roundBias vec.Const = 0x4b400000 // 1.5*2^23: a sum with it has no bits for a fraction, and the integer in its lowest
	magnitude vec.Const = 0x7fffffff
)

// Int8Block is how many elements of a row have a scale in common.
const Int8Block = 128

// QuantizeInt8 makes integers of that many bytes of rows of float32, in blocks. What their
// sums start with is wanted or not.
func QuantizeInt8(block, bytes int, starts bool) func(vec.Machine) {
	return func(m vec.Machine) {
		q := &quantizer{Machine: m, size: block, bytes: bytes, dst: m.SlicePtr("dst"), x: m.SlicePtr("x")}
		scale := m.SlicePtr("scale")
		var start vec.Ptr
		if starts {
			start = m.SlicePtr("start")
		}
		tail := m.Tail(m.IntParam("cols"))
		m.Loop(m.IntParam("rows"), 1, func() {
			q.scale = m.CopyPtr(scale)
			if starts {
				q.start = m.CopyPtr(start)
			}
			left := m.IntParam("cols")
			q.room = m.IntParam("filled")
			m.Loop(left, block, q.block)
			m.If(left, func() { q.rest(left, tail) })
			zero := m.Zero()
			m.Loop(q.room, m.Width(), func() {
				q.store(zero, 0)
				m.Bump(q.dst, bytes*m.Width())
			})
			m.Bump(scale, 4)
			if starts {
				m.Bump(start, 4)
			}
			nextRow(m, q.x, "x", "cols", 4)
			nextRow(m, q.dst, "dst", "filled", bytes)
		})
	}
}

type quantizer struct {
	vec.Machine
	size                 int     // elements of a block
	bytes                int     // of an integer
	dst, x, scale, start vec.Ptr // start is zero where it is not wanted
	room                 vec.Int // elements of the row of dst that are not written yet
}

// starts reports whether it is wanted what the sums of blocks start with.
func (q *quantizer) starts() bool { return q.start != (vec.Ptr{}) }

// nextRow takes p from the end of a row of an operand, which has cols elements of some bytes, to the next one.
func nextRow(m vec.Machine, p vec.Ptr, operand, cols string, bytes int) {
	gap := m.IntParam("ld" + operand)
	m.SubtractInt(gap, m.IntParam(cols))
	m.BumpBytes(p, gap, bytes)
}

// advance goes on in dst.
func (q *quantizer) advance(elements int) {
	q.Bump(q.dst, q.bytes*elements)
	q.Subtract(q.room, elements)
}

// block is a whole block. It stays in registers, if it is no more than eight.
func (q *quantizer) block() {
	width := q.Width()
	xs := make([]vec.V, q.size/width)
	var largest vec.V
	for i := range xs {
		xs[i] = q.Load(q.x, 4*i*width)
		if m := q.magnitude(xs[i]); i == 0 {
			largest = m
		} else {
			q.MaxMagnitudeTo(largest, m)
		}
	}
	largest = q.FoldMaxMagnitude(largest)
	inverse := q.inverse(largest)
	var sum vec.V
	for i, x := range xs {
		if len(xs) > 8 {
			x = q.Load(q.x, 4*i*width)
		}
		switch r := q.quantize(x, inverse, i*width); {
		case !q.starts():
		case i == 0:
			sum = r
		default:
			q.AddInt32To(sum, r)
		}
	}
	q.finish(largest, sum, q.size)
	q.Bump(q.x, 4*q.size)
	q.advance(q.size)
	q.BumpBy(q.scale, q.IntParam("ldscale"))
	if q.starts() {
		q.BumpBy(q.start, q.IntParam("ldscale"))
	}
}

// rest is the last block of a row, of n elements.
func (q *quantizer) rest(n vec.Int, tail vec.Tail) {
	largest, sum := q.Zero(), q.Zero()
	vec.Each(q.Machine, n, tail, 1, []vec.Ptr{q.x}, func(s vec.Span) {
		q.MaxMagnitudeTo(largest, q.magnitude(s.Load(0, 0, 0)))
	})
	largest = q.FoldMaxMagnitude(largest)
	inverse := q.inverse(largest)
	vec.Each(q.Machine, n, tail, 1, []vec.Ptr{q.x}, func(s vec.Span) {
		if r := q.quantize(s.Load(0, 0, 0), inverse, 0); q.starts() {
			q.AddInt32To(sum, q.SubInt32(r, roundBias))
		}
		q.advance(q.Width())
	})
	q.finish(largest, sum, 0)
	q.BumpBy(q.x, n)
}

func (q *quantizer) magnitude(x vec.V) vec.V { return q.And(x, magnitude) }

// inverse is what the elements of a block are multiplied with.
func (q *quantizer) inverse(largest vec.V) vec.V {
	s := q.Scalars()
	return q.Spread(s.Div(s.Splat(int8Top), s.Max(largest, int8Tiny)))
}

// quantize stores the integers for x, and is what they are with roundBias added, as bits.
func (q *quantizer) quantize(x, inverse vec.V, element int) vec.V {
	r := q.Horner(x, inverse, roundBias)
	q.store(r, element)
	return r
}

// store writes the lowest bytes of each lane.
func (q *quantizer) store(v vec.V, element int) {
	q.StoreNarrow(q.dst, q.bytes*element, v, q.bytes)
}

// finish stores the scale of a block, NaN if its largest magnitude is infinite or NaN, and where
// its sums start. sum has the integers, with roundBias added to as many of them as biased.
func (q *quantizer) finish(largest, sum vec.V, biased int) {
	s := q.Scalars()
	s.StoreScalar(q.scale, 0, s.Add(s.Mul(largest, int8ByTop), s.Sub(largest, largest)))
	if q.starts() {
		bias := vec.Const(uint32(biased) * uint32(roundBias))
		s.StoreScalar(q.start, 0, s.ShiftLeft(s.SubInt32(s.Splat(bias), q.FoldAddInt32(sum)), 7)) // -128 times
	}
}
