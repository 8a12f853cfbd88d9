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

// Int8Stretch is the most elements of a row that have a scale in common. The products of as many integers, one of them
// without a sign, add up to less than 2^31 in any order, and one call makes them integers in time.
const Int8Stretch = 1 << 15

// QuantizeRows makes integers of that many bytes of rows of float32, which have one scale each. What their sums start
// with is wanted or not.
func QuantizeRows(bytes int, starts bool) func(vec.Machine) {
	return func(m vec.Machine) {
		q := newQuantizer(m, bytes, starts)
		m.Loop(m.IntParam("rows"), 1, func() {
			left := m.IntParam("cols")
			q.room = m.IntParam("filled")
			q.row(left)
			q.endRow()
			m.Bump(q.scale, 4)
			if starts {
				m.Bump(q.start, 4)
			}
		})
	}
}

// QuantizeBlocks makes integers of that many bytes of rows of float32, with a scale for each block. What the sums of
// blocks start with is wanted or not.
func QuantizeBlocks(block, bytes int, starts bool) func(vec.Machine) {
	return func(m vec.Machine) {
		q := newQuantizer(m, bytes, starts)
		q.size = block
		scale, start := q.scale, q.start
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
			q.endRow()
			m.Bump(scale, 4)
			if starts {
				m.Bump(start, 4)
			}
		})
	}
}

func newQuantizer(m vec.Machine, bytes int, starts bool) *quantizer {
	q := &quantizer{Machine: m, bytes: bytes, dst: m.SlicePtr("dst"), x: m.SlicePtr("x"), scale: m.SlicePtr("scale")}
	if starts {
		q.start = m.SlicePtr("start")
	}
	return q
}

// endRow fills a row of dst up with zeros and moves to the next one.
func (q *quantizer) endRow() {
	zero := q.Zero()
	q.Loop(q.room, q.Width(), func() {
		q.store(zero, 0)
		q.Bump(q.dst, q.bytes*q.Width())
	})
	nextRow(q.Machine, q.x, "x", "cols", 4)
	nextRow(q.Machine, q.dst, "dst", "filled", q.bytes)
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

// rowStep is what the elements of whole rows are a multiple of.
const rowStep = 32

// row is a whole row, of n elements.
func (q *quantizer) row(n vec.Int) {
	vectors := rowStep / q.Width()
	largest := make([]vec.V, vectors)
	for i := range largest {
		largest[i] = q.Zero()
	}
	x, left := q.CopyPtr(q.x), q.CopyInt(n)
	q.Loop(left, rowStep, func() {
		for i, l := range largest {
			q.MaxMagnitudeTo(l, q.magnitude(q.Load(x, 4*i*q.Width())))
		}
		q.Bump(x, 4*rowStep)
	})
	for _, l := range largest[1:] {
		q.MaxMagnitudeTo(largest[0], l)
	}
	top := q.FoldMaxMagnitude(largest[0])
	inverse, sum := q.inverse(top), q.Zero()
	q.Loop(n, rowStep, func() {
		var some vec.V
		for i := range vectors {
			switch r := q.quantize(q.Load(q.x, 4*i*q.Width()), inverse, i*q.Width()); {
			case i == 0:
				some = r
			case q.starts():
				q.AddInt32To(some, r)
			}
		}
		if q.starts() {
			bias := uint32(roundBias)
			q.AddInt32To(sum, q.SubInt32(some, vec.Const(bias*uint32(vectors))))
		}
		q.Bump(q.x, 4*rowStep)
		q.advance(rowStep)
	})
	q.finish(top, sum, 0)
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
