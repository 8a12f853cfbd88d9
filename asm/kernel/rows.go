package kernel

import (
	"slices"

	"github.com/avoformer/avoformer/asm/vec"
)

// stage is one pass over a row. The next pass needs the result of a pass,
// such as a maximum, before it begins with the same row.
type stage struct {
	// ptrs has the streams that the stage reads and writes, one row after the other.
	ptrs []vec.Ptr
	// anew returns the streams that begin again with every row. scratch returns a stream
	// that holds the data written to it until the next stage reads it. They come after ptrs.
	anew    func() []vec.Ptr
	scratch func() vec.Ptr
	// begin prepares for a row, step processes vector i of a span, and end concludes
	// the row. step returns the store that it needs, or nil. A stage without step
	// only begins and ends: it is for slow operations whose result is not needed
	// before the end.
	begin func()
	step  func(s vec.Span, i int) func()
	end   func()
	// check, of the second of three stages, runs after begin. It calls leave for a row that the kernel does not finish.
	check func(leave func())
	// sums returns the sums that step adds to.
	sums func() []laneSums
}

// output describes how a kernel writes its rows, and whether it fetches the rows that it reads.
type output struct {
	store func(s vec.Span, p, i int, v vec.V)
	ahead int // distance in bytes at which the rows read are fetched ahead, or 0
	rows  layout
}

// layout is how rows are divided into vectors.
type layout int

const (
	anyRows     layout = iota // aligned vectors where they pay, and otherwise vectors that begin where the row does
	tailedRows                // vectors that begin where the row does, and a tail
	wholeRows                 // vectors that begin where the row does, without a tail
	alignedRows               // aligned vectors
)

var cached = output{store: vec.Span.Store}

// streaming runs body with an output that writes rows past the caches, if the machine can do
// that. The rows read are fetched a page ahead as well, because the hardware's prefetch ends
// with the page.
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

// begin prepares for a row at dst. Of aligned rows, the first and the last line are not written
// past the caches: the first is fetched two rows ahead.
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

// alignedLeast is the length from which aligned vectors pay. longLeast is the length for rows with
// weights, whose loads cross cache lines when the row is aligned, and for writing past the caches, which
// leaves out the first and the last line of a row.
const (
	alignedLeast = 160
	longLeast    = 496
)

// pipeline runs two or three stages over rows of cols elements. The stages work on
// different rows in one loop: while the second stage is at row r, the first is at row r+1
// and the third at row r-1. The latencies at the end of a pass (the reduction of a vector,
// a division) are therefore hidden behind the other passes, and rows come from memory
// while other rows are computed. rows may be 0; cols is at least 1. Afterwards rows is 0, or the number of rows left if
// a check left the pipeline: rows before that one are finished then, the first stage has ended with it, and no stage has begun
// with a row after it.
//
// Rows that have least elements or more, and do not begin at multiples of half a vector, are taken in
// aligned vectors, if the machine can. At multiples of half a vector, every other access crosses a cache
// line, which costs less than the partial vectors at both ends.
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

// passes emits the passes of a pipeline; walk walks over the rows of one pass.
func passes(m vec.Machine, rows vec.Int, stages []stage, walk func(groups []vec.Group, turn func(), body func([]vec.Span))) {
	pass := func(from, to int, leave func()) {
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
		// Later stages also begin first: they need registers that the sums of an earlier stage take.
		for _, st := range slices.Backward(stages[from:to]) {
			if st.begin != nil {
				st.begin()
			}
			if st.check != nil {
				st.check(func() {
					m.Raise(rows, 1)
					leave()
				})
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
		// Later stages end first: they may pass on what they received from an earlier one.
		for _, st := range slices.Backward(stages[from:to]) {
			if st.end != nil {
				st.end()
			}
		}
	}
	m.If(rows, func() {
		m.Subtract(rows, 1)
		switch len(stages) {
		case 2:
			pass(0, 1, nil)
			m.Loop(rows, 1, func() { pass(0, 2, nil) })
			pass(1, 2, nil)
		case 3:
			m.Leavable(func(leave func()) {
				pass(0, 1, nil)
				m.Leavable(func(finish func()) {
					m.IfLE(rows, 0,
						func() { pass(1, 2, leave) },
						func() {
							pass(0, 2, leave)
							m.Subtract(rows, 1)
							m.Loop(rows, 1, func() { pass(0, 3, finish) })
							pass(1, 3, finish)
						})
				})
				pass(2, 3, nil)
			})
		default:
			panic("pipeline: want two or three stages")
		}
	})
}
