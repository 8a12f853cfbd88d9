package kernel

import (
	"slices"

	"github.com/avoformer/avoformer/asm/vec"
)

// stage is one pass over a row. What a pass finds at the end of its row, such
// as a maximum, the next pass needs at the start of the same row.
type stage struct {
	// ptrs are the streams it reads and writes, one row after the other.
	ptrs []vec.Ptr
	// anew are those that start anew with every row, and scratch is one that holds what is
	// written to it until the next stage reads it. They come after ptrs.
	anew    func() []vec.Ptr
	scratch func() vec.Ptr
	// begin prepares for a row, step takes vector i of a span in, and end
	// concludes the row.
	// step returns the store that it wants done, or nil. A stage without step only
	// begins and ends: that is for what takes long, and is not needed before the end.
	begin func()
	step  func(s vec.Span, i int) func()
	end   func()
	// sums are those that step adds to.
	sums func() []laneSums
}

// output is how a kernel writes its rows, and whether it fetches those that it reads.
type output struct {
	store func(s vec.Span, p, i int, v vec.V)
	ahead int // bytes that reading is ahead of its use, or 0
	rows  layout
}

// layout says what vectors rows are taken in.
type layout int

const (
	anyRows     layout = iota // aligned vectors where that pays, and otherwise as they lie
	tailedRows                // vectors that begin where the row does, and a tail
	wholeRows                 // vectors that begin where the row does, without a tail
	alignedRows               // aligned vectors
)

var cached = output{store: vec.Span.Store}

// streaming has body write rows past the caches, if the machine can do that. They are fetched
// a page ahead too, since the hardware's prefetch ends with the page.
func streaming(m vec.Machine, dst vec.Ptr, cols vec.Int, body func(out output)) {
	out := output{store: vec.Span.StoreStream, ahead: 4096, rows: wholeRows}
	m.IfStream(dst, cols, func() { body(out) }, func() {
		masking, ok := m.Masking()
		if !ok {
			body(cached)
			return
		}
		m.IfLE(cols, longLeast-1, func() {
			out := cached
			out.rows = tailedRows
			body(out)
		}, func() {
			out.rows = alignedRows
			body(out)
			masking.FinishStream()
		})
	})
}

func (o output) prefetch(s vec.Span, p, i int) {
	if o.ahead > 0 {
		s.Prefetch(p, i, o.ahead)
	}
}

// begin prepares for a row at dst: of aligned rows the first and the last line are not written past
// the caches, so that one of them is fetched two rows ahead.
func (o output) begin(m vec.Machine, dst vec.Ptr, cols vec.Int) {
	if o.rows == alignedRows {
		m.PrefetchFar(dst, 0, cols, 2*4)
	}
}

func (o output) tail(m vec.Machine, cols vec.Int) vec.Tail {
	if o.rows == wholeRows {
		return vec.Tail{}
	}
	return m.Tail(cols)
}

// alignedLeast is how long rows must be for aligned vectors to pay. longLeast is for those with weights,
// whose loads cross cache lines then, and for writing past the caches, which the first line and the last
// of a row are not.
const (
	alignedLeast = 160
	longLeast    = 496
)

// pipeline runs the stages, two or three, over rows of cols elements. The
// stages work on different rows at once, in one loop: while the second stage is
// at row r, the first is at row r+1 and the third at row r-1. So the latencies
// at the end of a pass (the reduction of a vector, a division) are hidden
// after the other passes, and rows come from memory while others are computed.
// rows may be 0; cols is at least 1. rows is consumed.
//
// Rows of least elements that do not begin at multiples of half a vector are taken in aligned vectors, where the
// machine can. At multiples of half a vector every other access crosses a cache line, which
// costs less than the vectors at both ends.
func pipeline(m vec.Machine, rows, cols vec.Int, tail vec.Tail, out output, least int, stages ...stage) {
	lying := func() {
		passes(m, rows, stages, func(groups []vec.Group, turn func(), body func([]vec.Span)) {
			vec.Walk(m, cols, tail, groups, turn, body)
		})
	}
	masking, ok := m.Masking()
	aligned := func() {
		passes(m, rows, stages, func(groups []vec.Group, _ func(), body func([]vec.Span)) {
			vec.WalkAligned(masking, cols, groups, body)
		})
	}
	switch {
	case out.rows == alignedRows:
		aligned()
	case out.rows == anyRows && ok:
		var all []vec.Ptr
		for _, st := range stages {
			all = append(all, st.ptrs...)
		}
		masking.IfAcross(all, cols, least, aligned, lying)
	default:
		lying()
	}
}

// turnSums turns the sums of some stages.
func turnSums(m vec.Machine, stages []stage) {
	for _, st := range stages {
		if st.sums != nil {
			for _, s := range st.sums() {
				s.turn(m)
			}
		}
	}
}

// passes are those of a pipeline; walk goes through the rows of one.
func passes(m vec.Machine, rows vec.Int, stages []stage, walk func(groups []vec.Group, turn func(), body func([]vec.Span))) {
	pass := func(from, to int) {
		var groups []vec.Group
		var steps []func(s vec.Span, i int) func()
		for _, st := range stages[from:to] {
			if st.step != nil {
				group := vec.Group{Rows: st.ptrs}
				if st.anew != nil {
					group.Anew = st.anew()
				}
				if st.scratch != nil {
					group.Scratch = []vec.Ptr{st.scratch()}
				}
				groups, steps = append(groups, group), append(steps, st.step)
			}
		}
		// A later stage begins first too: what it does then needs registers that the sums of an earlier one take.
		for _, st := range slices.Backward(stages[from:to]) {
			if st.begin != nil {
				st.begin()
			}
		}
		if len(groups) > 0 {
			walk(groups, func() { turnSums(m, stages[from:to]) }, func(spans []vec.Span) {
				for i := range spans[0].Vectors {
					// All loads come before all stores: where the rows are a multiple
					// of 4 KiB apart, a load that follows a store waits for it.
					var stores []func()
					for g, step := range steps {
						if store := step(spans[g], i); store != nil {
							stores = append(stores, store)
						}
					}
					for _, store := range stores {
						store()
					}
				}
			})
		}
		// A later stage ends first: it may hand on what it had from an earlier one.
		for _, st := range slices.Backward(stages[from:to]) {
			if st.end != nil {
				st.end()
			}
		}
	}
	m.If(rows, func() {
		switch len(stages) {
		case 2:
			pass(0, 1)
			m.Subtract(rows, 1)
			m.Loop(rows, 1, func() { pass(0, 2) })
			pass(1, 2)
		case 3:
			pass(0, 1)
			m.IfLE(rows, 1,
				func() { pass(1, 2) },
				func() {
					pass(0, 2)
					m.Subtract(rows, 2)
					m.Loop(rows, 1, func() { pass(0, 3) })
					pass(1, 3)
				})
			pass(2, 3)
		default:
			panic("pipeline: want two or three stages")
		}
	})
}
