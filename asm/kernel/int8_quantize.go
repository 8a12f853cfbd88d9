package kernel

import "github.com/avoformer/avoformer/asm/vec"

// Constants of quantization, as bits.
const (
	int8Top   vec.Const = 0x42fe0000 // 127
	int8ByTop vec.Const = 0x3c010204 // 1/127
	int8Tiny  vec.Const = 0x0d800000 // 2^-100
	roundBias vec.Const = 0x4b400000 // 1.5*2^23: a sum with it has no fraction bits, and the integer in its lowest bits
	magnitude vec.Const = 0x7fffffff
)

// Int8Stretch is the largest number of elements of a row that share a scale. That many products of
// an unsigned and a signed integer add up to less than 2^31 in any order. One call can quantize
// that many elements within the time that a call may take: see mostElements of package asm.
const Int8Stretch = 1 << 15

// QuantizeRows quantizes rows of float32, each with one scale, to integers of that many bytes. If
// starts is set, it also computes the numbers that the rows' sums start with.
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

// QuantizeBlocks quantizes rows of float32 to integers of that many bytes, with a scale for each
// block. If starts is set, it also computes the numbers that the blocks' sums start with.
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

// endRow pads a row of dst with zeros and moves to the next one.
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
	dst, x, scale, start vec.Ptr // start is zero unless starts is set
	room                 vec.Int // elements of the row of dst left to write
}

// starts reports whether the numbers that the blocks' sums start with are wanted.
func (q *quantizer) starts() bool { return q.start != (vec.Ptr{}) }

// nextRow moves p from the end of a row of an operand, which has cols elements of the given bytes,
// to the next row.
func nextRow(m vec.Machine, p vec.Ptr, operand, cols string, bytes int) {
	gap := m.IntParam("ld" + operand)
	m.SubtractInt(gap, m.IntParam(cols))
	m.BumpBytes(p, gap, bytes)
}

// advance moves on in dst.
func (q *quantizer) advance(elements int) {
	q.Bump(q.dst, q.bytes*elements)
	q.Subtract(q.room, elements)
}

// rowStep divides the number of elements of whole rows.
const rowStep = 32

// row emits a whole row of n elements.
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

// block emits a whole block. A block of at most eight vectors stays in registers.
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

// rest emits the last block of a row, of n elements.
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

// inverse returns the factor for the elements of a block.
func (q *quantizer) inverse(largest vec.V) vec.V {
	s := q.Scalars()
	return q.Spread(s.Div(s.Splat(int8Top), s.Max(largest, int8Tiny)))
}

// quantize stores the integers for x, and returns them with roundBias added, as bits.
func (q *quantizer) quantize(x, inverse vec.V, element int) vec.V {
	r := q.Horner(x, inverse, roundBias)
	q.store(r, element)
	return r
}

// store writes the lowest bytes of each lane.
func (q *quantizer) store(v vec.V, element int) {
	q.StoreNarrow(q.dst, q.bytes*element, v, q.bytes)
}

// finish stores the scale of a block, NaN if its largest magnitude is infinite or NaN, and the
// number that its sums start with. sum has the integers, plus biased times roundBias.
func (q *quantizer) finish(largest, sum vec.V, biased int) {
	s := q.Scalars()
	s.StoreScalar(q.scale, 0, s.Add(s.Mul(largest, int8ByTop), s.Sub(largest, largest)))
	if q.starts() {
		bias := vec.Const(uint32(biased) * uint32(roundBias))
		s.StoreScalar(q.start, 0, s.ShiftLeft(s.SubInt32(s.Splat(bias), q.FoldAddInt32(sum)), 7)) // times -128
	}
}
