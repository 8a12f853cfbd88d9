package kernel

import (
	"slices"

	"github.com/avoformer/avoformer/asm/vec"
)

// stage is one pass over a row. The next pass needs the result of a pass, such as a maximum, before
// it begins with the same row.
type stage struct {
	// ptrs has the streams that the stage reads and writes, one row after the other.
	ptrs []vec.Ptr
	// anew returns the streams that begin again with every row. scratch returns a stream that holds
	// the data written to it until the next stage reads it. They come after ptrs.
	anew    func() []vec.Ptr
	scratch func() vec.Ptr
	// begin prepares for a row, step processes vector i of a span, and end concludes the row. step
	// returns the store that it needs, or nil. A stage without step only begins and ends: it is for
	// slow operations whose result is not needed before the end.
	begin func()
	step  func(s vec.Span, i int) func()
	end   func()
	// check, of the second of three stages, runs after begin. It calls leave for a row that the
	// kernel does not finish.
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
	wholeRows                 // vectors that begin where the row does, without a tail
	alignedRows               // aligned vectors
)

var cached = output{store: vec.Span.Store}

// past returns the output that writes rows past the caches. The rows read are fetched a page ahead
// as well, because the hardware's prefetch ends with the page.
func past(rows layout) output { return output{store: vec.Span.StoreStream, ahead: 4096, rows: rows} }

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
// weights, whose loads cross cache lines when the row is aligned, and for writing past the caches,
// which leaves out the first and the last line of a row.
const (
	alignedLeast = 160
	longLeast    = 496
)

// pipeline runs stages over rows of cols elements. The stages work on different rows in one loop:
// while the second stage is at row r, the first is at row r+1 and the third at row r-1. The
// latencies at the end of a pass (the reduction of a vector, a division) are therefore hidden
// behind the other passes, and rows come from memory while other rows are computed. cols is at
// least 1. If a check leaves the pipeline, the kernel's result is the number of rows left: rows
// before that one are finished then, the first stage has ended with it, and no stage has begun with
// a row after it.
//
// Rows that have least elements or more, and do not begin at multiples of half a vector, are taken
// in aligned vectors, if the machine can. At multiples of half a vector, every other access crosses
// a cache line, which costs less than the partial vectors at both ends.
func pipeline(m vec.Machine, cols vec.Int, tail vec.Tail, out output, least int, stages ...stage) {
	// Where rows come from memory and go there, some are fetched and written while others are
	// computed, also at both ends.
	overlaps := out.ahead > 0 && !slices.ContainsFunc(stages, func(st stage) bool { return st.step == nil })
	lying := func() {
		turns(m, stages, overlaps, func(groups []vec.Group, turn func(), body func([]vec.Span)) {
			vec.Walk(m, cols, tail, groups, turn, body)
		})
	}
	masking, ok := m.Masking()
	aligned := func() {
		turns(m, stages, overlaps, func(groups []vec.Group, turn func(), body func([]vec.Span)) {
			vec.WalkAligned(masking, cols, groups, turn, body)
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

// turns emits the loop of a pipeline; walk walks over a row. With n stages, rows take n-1 turns
// more than there are rows:
//
//	for left := rows + n-1; left > 0; left-- {
//		if all stages have a row {
//			walk over the rows of all stages together, while they have
//		} else {
//			for each stage, the last one first, if it has a row {
//				walk over its row
//			}
//		}
//	}
//
// The first stage has a row while left >= n. Stage s, counted from 0, has one while left >= n-s,
// from turn s on, where left <= rows + n-1-s. If overlaps is set, two stages of three, which have
// no checks, are walked together too.
func turns(m vec.Machine, stages []stage, overlaps bool, walk func(groups []vec.Group, turn func(), body func([]vec.Span))) {
	n, left := len(stages), m.IntParam("rows")
	// unless runs leave if not all stages from first to last have a row.
	unless := func(first, last int, leave func()) {
		if last > 0 {
			turn := m.IntParam("rows")
			m.Raise(turn, n-1)
			m.SubtractInt(turn, left)
			m.IfLE(turn, last-1, leave, nil)
		}
		if first < n-1 {
			m.IfLE(left, n-1-first, leave, nil)
		}
	}
	m.If(left, func() {
		m.Raise(left, n-1)
		m.Leavable(func(stop func()) {
			m.Loop(left, 1, func() {
				m.Leavable(func(next func()) {
					m.Leavable(func(apart func()) {
						m.Leavable(func(none func()) {
							unless(0, n-1, none)
							m.Subtract(left, n-1)
							m.Loop(left, 1, func() {
								pass(m, stages, walk, func() {
									m.Raise(left, 1)
									m.ReturnInt(left)
									m.SubtractInt(left, left)
									m.Raise(left, 1) // only the last stage still has a row
									apart()
								})
							})
							m.Raise(left, n)
							next()
						})
						for first := 0; overlaps && first < n-1; first++ {
							m.Leavable(func(none func()) {
								unless(first, first+1, none)
								pass(m, stages[first:first+2], walk, nil)
								next()
							})
						}
					})
					for s := n - 1; s >= 0; s-- {
						m.Leavable(func(none func()) {
							unless(s, s, none)
							pass(m, stages[s:s+1], walk, func() {
								m.Subtract(left, n-2)
								m.ReturnInt(left)
								stop()
							})
						})
					}
				})
			})
		})
	})
}

// pass walks over the rows of some stages together. It leaves before that if a check does.
func pass(m vec.Machine, stages []stage, walk func(groups []vec.Group, turn func(), body func([]vec.Span)), leave func()) {
	var groups []vec.Group
	var steps []func(s vec.Span, i int) func()
	for _, st := range stages {
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
	for _, st := range slices.Backward(stages) {
		if st.begin != nil {
			st.begin()
		}
		if st.check != nil {
			st.check(leave)
		}
	}
	if len(groups) > 0 {
		walk(groups, func() { turnSums(m, stages) }, func(spans []vec.Span) {
			for i := range spans[0].Vectors {
				// All loads come before all stores: where the rows are a multiple of 4 KiB apart, a
				// load that follows a store waits for it.
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
	for _, st := range slices.Backward(stages) {
		if st.end != nil {
			st.end()
		}
	}
}
