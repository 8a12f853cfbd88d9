package grammar

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
)

// This file follows the automaton byte by byte. The state of a sequence is a set of stacks. Equal
// sets are one object, which also has its successors.

// A stacks is a set of stacks: each is a state on top of a stack of rest, or one of the two empty
// stacks, end and cut. The set is closed: if the rule of a state may end, the stacks below the
// state are in the set too, and states without edges are omitted. The fields after the blank line
// change under the lock of the table.
type stacks struct {
	items []item // sorted by state, without duplicates
	end   bool   // the whole text may end here
	cut   bool   // the rule of the state with a local mask has returned; see mask.go
	depth int32  // of the deepest stack
	id    uint64

	next []*stacks // by class of bytes; nil: not computed yet
	mask *mask     // nil: not computed yet
	link *stacks   // another one with the same hash
}

type item struct {
	state int32
	rest  *stacks
}

// Limits. A text may not nest deeper than maxDepth. A unit of work takes about as long as a node of
// the trie, 5 ns. A Matcher may do maxWork at once, and workPerToken for each token on average; it
// fails if it needs more.
const (
	maxDepth     = 2000
	maxWork      = 1 << 26
	workPerToken = 1 << 19
	workOfItem   = 10 // for each state that a step visits
)

// maxBytes limits the approximate size of a table in bytes, and the bytes that one call adds to it.
// A full table is emptied; its Matchers then add the states that they still need.
var maxBytes = 64 << 20

// sharedStates has a table for each vocabulary that a grammar was used with.
type sharedStates struct {
	sync.Mutex
	tables map[*Vocabulary]*table
}

// A table has the states of a grammar with a vocabulary that were computed so far.
type table struct {
	sync.Mutex
	g *Grammar
	v *Vocabulary

	generation int // number of resets
	lastID     uint64
	known      map[uint64]*stacks
	unions     map[[2]uint64]*stacks
	locals     map[int32]*local
	masks      map[uint64]*mask
	dead       *stacks // the set without stacks
	bottom     *stacks // the empty stack, with which the text ends
	cut        *stacks // the empty stack below a local mask
	bytes      int     // approximate size of all of this

	work, limit int // of this call: work that is left, and largest value of bytes
	seed        maphash.Seed
	order       []int32 // rules that the current step still has to enter, last ones first
	calls       map[int32]*set
	free        []*set
	path        []*stacks // states on the path to a node of the trie
	deepest     int32     // largest depth of stacks during a walk
}

// A set is a stacks that is being built.
type set struct {
	items    []item
	end, cut bool
}

func newTable(g *Grammar, v *Vocabulary) *table {
	t := &table{g: g, v: v, seed: maphash.MakeSeed(), calls: map[int32]*set{}, path: make([]*stacks, v.deep+1)}
	t.reset()
	return t
}

// reset removes all states.
func (t *table) reset() {
	t.generation++
	t.bytes, t.limit = 0, maxBytes
	t.known, t.unions = map[uint64]*stacks{}, map[[2]uint64]*stacks{}
	t.locals, t.masks = map[int32]*local{}, map[uint64]*mask{}
	t.dead = t.intern(&set{})
	t.bottom = t.intern(&set{end: true})
	t.cut = t.intern(&set{cut: true})
}

// begin prepares the table for one call with a limit of work, and returns the state of this
// generation that is equal to at.
func (t *table) begin(at *stacks, generation, work int) *stacks {
	if t.bytes > maxBytes {
		t.reset()
	}
	t.work, t.limit = work, t.bytes+maxBytes
	if generation == t.generation {
		return at
	}
	return t.adopt(at, map[*stacks]*stacks{})
}

// exhausted reports whether this call has exceeded its limits.
func (t *table) exhausted() bool { return t.work < 0 || t.bytes > t.limit }

// adopt adds a state of an earlier generation to the table, and returns the new object.
func (t *table) adopt(old *stacks, known map[*stacks]*stacks) *stacks {
	if s := known[old]; s != nil {
		return s
	}
	s := &set{end: old.end, cut: old.cut}
	for _, it := range old.items {
		s.items = append(s.items, item{it.state, t.adopt(it.rest, known)})
	}
	known[old] = t.intern(s)
	return known[old]
}

// first returns the state at the beginning of a text.
func (t *table) first() *stacks {
	s := &set{end: t.g.empty}
	t.add(s, t.g.rules[0].state, t.bottom)
	return t.intern(s)
}

// add adds a state on top of rest to s.
func (t *table) add(s *set, to int32, rest *stacks) {
	t.work -= workOfItem
	st := &t.g.states[to]
	if len(st.edges) > 0 {
		s.items = append(s.items, item{to, rest})
	}
	if st.final {
		t.take(s, rest)
	}
}

// take adds all stacks of other to s.
func (t *table) take(s *set, other *stacks) {
	t.work -= workOfItem * len(other.items)
	s.items = append(s.items, other.items...)
	s.end, s.cut = s.end || other.end, s.cut || other.cut
}

// intern returns the only object that is equal to s. It changes s.
func (t *table) intern(s *set) *stacks {
	slices.SortFunc(s.items, func(a, b item) int {
		if a.state != b.state {
			return int(a.state) - int(b.state)
		}
		return cmp.Compare(a.rest.id, b.rest.id)
	})
	items := s.items[:0]
	for _, it := range s.items {
		if n := len(items); n > 0 && items[n-1].state == it.state {
			items[n-1].rest = t.union(items[n-1].rest, it.rest)
			continue
		}
		items = append(items, it)
	}
	var h maphash.Hash
	h.SetSeed(t.seed)
	for _, it := range items {
		maphash.WriteComparable(&h, it.state)
		maphash.WriteComparable(&h, it.rest.id)
	}
	maphash.WriteComparable(&h, [2]bool{s.end, s.cut})
	sum := h.Sum64()
	for c := t.known[sum]; c != nil; c = c.link {
		if c.end == s.end && c.cut == s.cut && slices.Equal(c.items, items) {
			return c
		}
	}
	t.lastID++
	c := &stacks{items: slices.Clone(items), end: s.end, cut: s.cut, id: t.lastID, link: t.known[sum]}
	for _, it := range items {
		c.depth = max(c.depth, it.rest.depth+1)
	}
	t.known[sum] = c
	t.bytes += 160 + 16*len(items)
	t.work -= workOfItem * (4 + len(items))
	return c
}

// union returns the stacks of a and those of b.
func (t *table) union(a, b *stacks) *stacks {
	if a == b || t.exhausted() {
		return a
	}
	key := [2]uint64{min(a.id, b.id), max(a.id, b.id)}
	if u := t.unions[key]; u != nil {
		return u
	}
	s := &set{}
	t.take(s, a)
	t.take(s, b)
	u := t.intern(s)
	if !t.exhausted() {
		t.unions[key] = u
		t.bytes += 48
	}
	return u
}

// step returns the state after s and a byte of a class. If the table is exhausted, the result is
// meaningless and is not stored.
func (t *table) step(s *stacks, class uint8) *stacks {
	if s.next == nil {
		s.next = make([]*stacks, len(t.g.samples))
		t.bytes += 8 * len(s.next)
	}
	if to := s.next[class]; to != nil {
		return to
	}
	b := t.g.samples[class]
	out := t.newSet()
	for _, it := range s.items {
		if !t.exhausted() {
			t.follow(it.state, it.rest, b, out)
		}
	}
	// Callers come before the rules that they call, so that all stacks that a rule returns to are
	// known when it is entered.
	for len(t.order) > 0 {
		rule := t.order[len(t.order)-1]
		t.order = t.order[:len(t.order)-1]
		returns := t.calls[rule]
		delete(t.calls, rule)
		if rest := t.intern(returns); rest.depth < maxDepth && !t.exhausted() {
			t.follow(t.g.rules[rule].state, rest, b, out)
		}
		t.release(returns)
	}
	to := t.intern(out)
	t.release(out)
	if !t.exhausted() {
		s.next[class] = to
	}
	return to
}

// follow adds to out the states that b leads to from a state on top of rest, and records the rules
// to enter.
func (t *table) follow(from int32, rest *stacks, b byte, out *set) {
	edges := t.g.states[from].edges
	t.work -= len(edges)
	for _, e := range edges {
		if e.rule < 0 {
			if e.lo <= b && b <= e.hi {
				t.add(out, e.to, rest)
			}
			continue
		}
		if t.g.rules[e.rule].first[b>>6]>>(b&63)&1 == 0 {
			continue
		}
		returns := t.calls[e.rule]
		if returns == nil {
			returns = t.newSet()
			t.calls[e.rule] = returns
			i, _ := slices.BinarySearchFunc(t.order, e.rule, func(a, b int32) int {
				return cmp.Compare(t.g.rules[b].order, t.g.rules[a].order)
			})
			t.order = slices.Insert(t.order, i, e.rule)
		}
		t.add(returns, e.to, rest)
	}
}

func (t *table) newSet() *set {
	if n := len(t.free); n > 0 {
		s := t.free[n-1]
		t.free = t.free[:n-1]
		return s
	}
	return &set{}
}

func (t *table) release(s *set) {
	clear(s.items)
	s.items, s.end, s.cut = s.items[:0], false, false
	t.free = append(t.free, s)
}
