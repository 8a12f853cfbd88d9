package vec

import "slices"

// This file has loops over runs of elements: whole vectors, and the tail.

// Span is one step of Each: some whole vectors, or the tail.
type Span struct {
	m     Machine
	group Group
	ptrs  []Ptr // of the group
	tail  *Tail
	chain int
	// aligned is set in WalkAligned, and first in the first step of WalkAligned.
	aligned, first bool
	// Vectors is the number of vectors that the step covers.
	Vectors int
}

// RowLanes is the number of lanes in which the elements of a row are summed, on every machine:
// element i goes to lane i modulo RowLanes. Then lane i and lane i + RowLanes/2 are added, and so
// on by halves until one lane is left.
const RowLanes = 32

// DotLanes is the number of lanes of a dot product of rows of two matrices. Lanes i and i +
// DotLanes/2 are added, then neighbours, twice, and then the two halves.
const DotLanes = 16

// Chains returns the number of vectors that hold RowLanes lanes.
func Chains(m Machine) int { return RowLanes / m.Width() }

// Chain returns the index of the vector of sums to which vector i of the step is added.
func (s Span) Chain(i int) int { return (s.chain + i) % Chains(s.m) }

// IsTail reports whether the step is the partial vector at the end.
func (s Span) IsTail() bool { return s.tail != nil }

// Aligned reports whether the step belongs to WalkAligned.
func (s Span) Aligned() bool { return s.aligned }

// Ptr returns the address in stream p at which the step begins.
func (s Span) Ptr(p int) Ptr { return s.ptrs[p] }

// Load loads vector i of the step from stream p; lanes past the end hold fill.
func (s Span) Load(p, i int, fill Const) V {
	if s.whole(p) {
		return s.m.Load(s.ptrs[p], i*4*s.m.Width())
	}
	if s.first && p >= len(s.group.Rows) {
		masking, _ := s.m.Masking()
		return masking.Expand(s.m.Load(s.ptrs[p], 0), *s.tail)
	}
	return s.m.LoadTail(s.ptrs[p], *s.tail, fill)
}

// FMATo adds a times vector i of the step in stream p to acc. Lanes past the end count as 0.
func (s Span) FMATo(acc, a V, p, i int) {
	if s.whole(p) {
		s.m.FMALoad(acc, a, s.ptrs[p], i*4*s.m.Width())
		return
	}
	s.m.FMATo(acc, a, s.Load(p, i, 0))
}

// Store stores vector i of the step to stream p, except the lanes past the end.
func (s Span) Store(p, i int, v V) {
	if s.whole(p) {
		s.m.Store(s.ptrs[p], i*4*s.m.Width(), v)
		return
	}
	s.m.StoreTail(s.ptrs[p], *s.tail, v)
}

// StoreStream does the same as Store, past the caches. Whole vectors must be aligned; partial
// vectors are stored as usual.
func (s Span) StoreStream(p, i int, v V) {
	if s.whole(p) {
		s.m.StoreStream(s.ptrs[p], i*4*s.m.Width(), v)
		return
	}
	s.m.StoreTail(s.ptrs[p], *s.tail, v)
}

// whole reports whether vectors of stream p are whole.
func (s Span) whole(p int) bool {
	return s.tail == nil || s.aligned && p >= len(s.group.Rows)+len(s.group.Anew)
}

// Prefetch fetches the memory of stream p the given bytes after vector i of the step.
func (s Span) Prefetch(p, i, bytes int) {
	if s.tail == nil {
		s.m.Prefetch(s.ptrs[p], i*4*s.m.Width()+bytes)
	}
}

// Keep returns v with fill in the lanes past the end of the elements.
func (s Span) Keep(v V, fill Const) V {
	if s.tail != nil {
		return s.m.KeepTail(*s.tail, v, fill)
	}
	return v
}

// Each runs body over n elements: unroll vectors at a time, a power of two, then half as many, down
// to one at a time, then over the tail. The streams start at ptrs, which keep their values; t must
// be the tail of n.
func Each(m Machine, n Int, t Tail, unroll int, ptrs []Ptr, body func(Span)) {
	cur := make([]Ptr, len(ptrs))
	for i, p := range ptrs {
		cur[i] = m.CopyPtr(p)
	}
	left := m.CopyInt(n)
	step := func(u int) {
		m.Loop(left, u*m.Width(), func() {
			body(Span{m: m, ptrs: cur, Vectors: u})
			for _, p := range cur {
				m.Bump(p, 4*u*m.Width())
			}
		})
	}
	for u := unroll; u >= 1; u /= 2 {
		step(u)
	}
	if t != (Tail{}) {
		m.If(t.Count, func() { body(Span{m: m, ptrs: cur, tail: &t, Vectors: 1}) })
	}
}

// Group is a number of streams that Walk processes side by side. They are numbered in the order of
// the fields.
type Group struct {
	// Rows lie one after the other. The first stream defines where they begin.
	Rows []Ptr
	// Anew are streams that are read and begin again with each row. A whole vector can be loaded at
	// their beginning.
	Anew []Ptr
	// Scratch also begins again with each row. It holds the data stored there vector by vector, and
	// for WalkAligned has room for two vectors more than a row is long.
	Scratch []Ptr
}

func (g Group) all() []Ptr { return slices.Concat(g.Rows, g.Anew, g.Scratch) }

// Walk walks over a row of n elements in all groups of streams together. Like Each it takes some
// vectors at a time, but body gets a span for each group, and the streams move: Walk leaves them
// after the last element. turn, if it is not nil, moves each vector of the sums of a row to the
// place of the one before, after a single vector. The next vector, or the tail, then belongs to the
// first chain again.
func Walk(m Machine, n Int, t Tail, groups []Group, turn func(), body func([]Span)) {
	w := walk{m: m, groups: groups, body: body}
	left, together := m.CopyInt(n), 2
	if turn != nil {
		together = Chains(m)
	}
	m.Loop(left, together*m.Width(), func() { w.whole(together, 0) })
	m.Loop(left, m.Width(), func() {
		w.whole(1, 0)
		if turn != nil {
			turn()
		}
	})
	if t != (Tail{}) {
		m.If(t.Count, func() {
			w.step(1, 0, slices.Repeat([]Tail{t}, len(groups)))
			w.eachStream(func(p Ptr, g int) { m.BumpBy(p, t.Count) })
		})
	}
}

// WalkAligned is Walk in aligned vectors: no access crosses a cache line, except accesses of
// streams whose alignment differs from that of the first stream of their group. Only some lanes of
// the first vector and of the last two belong to the row, and perhaps no lane of the very last. n
// is at least 2*Width.
//
// The sums of both chains, and then of all lanes, do not depend on where a row begins. Elements of
// one lane, a vector apart, are still in one lane and in the same order, and the chains alternate;
// ReduceAdd returns the same result for rotated lanes.
func WalkAligned(m Masking, n Int, groups []Group, turn func(), body func([]Span)) {
	w, width := walk{m: m, groups: groups, body: body, aligned: true}, m.Width()
	before := make([]Int, len(groups)) // lanes of the first vector before the row
	var first []Tail
	for g, group := range groups {
		before[g] = m.Misaligned(group.Rows[0])
		first = append(first, m.LanesFrom(before[g]))
		for _, p := range group.Rows {
			m.BumpBack(p, before[g])
		}
	}
	w.first = true
	w.step(1, 0, first)
	w.first = false
	for g, group := range groups {
		// The memory before these may never have been used; masked loads of such memory are slow.
		for _, p := range group.Anew {
			m.BumpBack(p, before[g])
		}
	}
	w.eachStream(func(p Ptr, g int) { m.Bump(p, 4*width) })
	whole := m.AlignedWhole(n)
	m.Loop(whole, 2*width, func() { w.whole(2, 1) })
	rest := make([]Int, len(groups)) // elements in the last two vectors
	for g := range groups {
		rest[g] = m.AlignedRest(n, before[g])
	}
	m.Loop(whole, width, func() {
		w.whole(1, 1)
		turn()
	})
	var most, last []Tail
	for g := range groups {
		a, b := m.LanesOfTwo(rest[g])
		most, last = append(most, a), append(last, b)
	}
	w.step(1, 1, most)
	w.eachStream(func(p Ptr, g int) { m.Bump(p, 4*width) })
	m.IfTwo(rest, func() { w.step(1, 0, last) })
	w.eachStream(func(p Ptr, g int) {
		m.Bump(p, -4*width)
		m.BumpBy(p, rest[g])
	})
}

// walk has the state that Walk and WalkAligned share.
type walk struct {
	m      Machine
	groups []Group
	body   func([]Span)

	aligned, first bool
}

func (w walk) eachStream(do func(p Ptr, g int)) {
	for g, group := range w.groups {
		for _, p := range group.all() {
			do(p, g)
		}
	}
}

// step runs body for the given number of vectors, the first of which belongs to the chain. With
// tails, it is one vector, of which only the tails' lanes count.
func (w walk) step(vectors, chain int, tails []Tail) {
	spans := make([]Span, len(w.groups))
	for g, group := range w.groups {
		spans[g] = Span{m: w.m, group: group, ptrs: group.all(), chain: chain, aligned: w.aligned, first: w.first, Vectors: vectors}
		if tails != nil {
			spans[g].tail = &tails[g]
		}
	}
	w.body(spans)
}

// whole runs a step of whole vectors, and advances the streams past them.
func (w walk) whole(vectors, chain int) {
	w.step(vectors, chain, nil)
	w.eachStream(func(p Ptr, g int) { w.m.Bump(p, 4*vectors*w.m.Width()) })
}
