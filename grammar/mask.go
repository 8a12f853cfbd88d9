package grammar

import (
	"hash/maphash"
	"math"
	"math/bits"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file computes the tokens that may follow a state.
//
// A state of the automaton that can be reached with many stacks, such as the middle of a string in
// JSON of any depth, allows mostly the same tokens with each stack. Therefore each state has a
// local mask, which is computed once: the tokens that it allows before its rule returns, and the
// nodes of the trie where the rule returns. From these nodes, the walk continues with the current
// stack. The mask of several states is the union of their masks.

// A mask has a bit for each token that may follow a state.
type mask struct {
	words []uint64
	count int
	first int // the first token, if there is one
	link  *mask
}

// A local is a local mask: the tokens that a state allows up to and including the byte with which
// its rule returns, and the nodes of the trie where the rule returns.
type local struct {
	words   []uint64
	returns []int32
	depth   int32 // largest depth of stacks during the walk
}

// manyItems is the largest number of states whose local masks are combined to a mask.
const manyItems = 4

// maskOf returns the tokens that may follow s.
func (t *table) maskOf(s *stacks) (*mask, error) {
	if s.mask != nil {
		return s.mask, nil
	}
	words := make([]uint64, t.v.words())
	if !t.compose(s, words) {
		clear(words)
		t.walk(0, s, words, nil)
	}
	if t.exhausted() {
		return nil, errorf(fault.ErrTooLarge, "the grammar is too ambiguous to be followed")
	}
	if s.end {
		for _, e := range t.v.ends {
			words[e/64] |= 1 << (e % 64)
		}
	}
	s.mask = t.internMask(words)
	return s.mask, nil
}

// compose combines the mask of s from local masks. It reports false if s has more than manyItems
// states, or if a stack might exceed maxDepth, which local masks do not take into account.
func (t *table) compose(s *stacks, words []uint64) bool {
	if len(s.items) > manyItems {
		return false
	}
	for _, it := range s.items {
		l := t.localOf(it.state)
		if s.depth+l.depth+t.g.height >= maxDepth {
			return false
		}
		for i, w := range l.words {
			words[i] |= w
		}
		for _, n := range l.returns {
			t.walk(n, it.rest, words, nil)
		}
	}
	return true
}

// internMask returns the only copy of the mask with these words.
func (t *table) internMask(words []uint64) *mask {
	var h maphash.Hash
	h.SetSeed(t.seed)
	for _, w := range words {
		maphash.WriteComparable(&h, w)
	}
	sum := h.Sum64()
	for m := t.masks[sum]; m != nil; m = m.link {
		if slices.Equal(m.words, words) {
			return m
		}
	}
	m := &mask{words: words, first: -1, link: t.masks[sum]}
	for i, w := range words {
		if m.first < 0 && w != 0 {
			m.first = 64*i + bits.TrailingZeros64(w)
		}
		m.count += bits.OnesCount64(w)
	}
	t.masks[sum] = m
	t.bytes += 8*len(words) + 64
	return m
}

// localOf returns the local mask of a state.
func (t *table) localOf(state int32) *local {
	state = t.alike(state)
	if l := t.locals[state]; l != nil {
		return l
	}
	l := &local{words: make([]uint64, t.v.words())}
	t.deepest = 0
	t.walk(0, t.intern(&set{items: []item{{state, t.cut}}}), l.words, &l.returns)
	l.returns, l.depth = slices.Clip(l.returns), t.deepest
	if !t.exhausted() {
		t.locals[state] = l
		t.bytes += 8*len(l.words) + 4*len(l.returns) + 64
	}
	return l
}

// alike returns a state with the same local mask: in a repetition that continues for longer than a
// token, the number of remaining repetitions does not matter.
func (t *table) alike(state int32) int32 {
	s := &t.g.states[state]
	if s.run < 0 {
		return state
	}
	r := &t.g.runs[s.run]
	times := int(s.place) + 1
	switch needed := r.min - times; {
	case r.max-times <= t.v.deep:
		return state
	case needed > t.v.deep:
		return r.states[0]
	case needed <= 0:
		return r.states[max(r.min-1, 0)]
	}
	return state
}

// walk sets the bits of the tokens below a node of the trie whose bytes may follow s. Unless
// returns is nil, it appends the nodes where the rule of a local mask returns.
func (t *table) walk(from int32, s *stacks, words []uint64, returns *[]int32) {
	if len(s.items) == 0 {
		return
	}
	nodes, end := t.v.nodes, from+t.v.nodes[from].size
	t.path[nodes[from].depth] = s
	for i := from + 1; i < end; {
		n := &nodes[i]
		before, class := t.path[n.depth-1], t.g.class[n.b]
		var at *stacks
		if before.next != nil {
			at = before.next[class]
		}
		if at == nil {
			at = t.step(before, class)
			if t.exhausted() {
				return
			}
		}
		t.work--
		if at == t.dead {
			i += n.size
			continue
		}
		for token := n.token; token >= 0; token = t.v.same[token] {
			words[token/64] |= 1 << (token % 64)
		}
		if at.cut && returns != nil {
			*returns = append(*returns, i)
		}
		if len(at.items) == 0 {
			i += n.size
			continue
		}
		t.path[n.depth] = at
		t.deepest = max(t.deepest, at.depth)
		i++
	}
}

// longest returns the longest token of the bytes that must follow s, and the state after it. The
// token is negative if there is none.
func (t *table) longest(s *stacks) (token int, after *stacks) {
	token = -1
	for node := 0; ; {
		b, ok := t.only(s)
		if ok {
			node, ok = t.v.child(node, b)
		}
		if !ok {
			return token, after
		}
		if s = t.step(s, t.g.class[b]); s == t.dead || t.exhausted() {
			return token, after
		}
		if same := t.v.nodes[node].token; same >= 0 {
			token, after = int(same), s
		}
	}
}

// only returns the byte that must follow s. ok is false if several may follow, or the text may end.
func (t *table) only(s *stacks) (b byte, ok bool) {
	if s.end {
		return 0, false
	}
	for _, it := range s.items {
		for _, e := range t.g.states[it.state].edges {
			lo, hi := e.lo, e.hi
			if e.rule >= 0 {
				var some bool
				if lo, hi, some = t.g.rules[e.rule].bytes(); !some {
					continue
				}
			}
			if lo != hi || ok && lo != b {
				return 0, false
			}
			b, ok = lo, true
		}
	}
	return b, ok
}

// bytes returns the smallest and the largest byte with which a rule begins; false if there is no
// such byte.
func (r *ruleStart) bytes() (lo, hi byte, ok bool) {
	for i, w := range r.first {
		if w == 0 {
			continue
		}
		if !ok {
			lo, ok = byte(64*i+bits.TrailingZeros64(w)), true
		}
		hi = byte(64*i + 63 - bits.LeadingZeros64(w))
	}
	return lo, hi, ok
}

// apply sets the logits of the tokens that m does not allow to -Inf.
func (m *mask) apply(logits []float32) {
	for i, w := range m.words {
		row := logits[64*i : min(64*i+64, len(logits))]
		switch {
		case w == math.MaxUint64:
		case w == 0:
			copy(row, refused[:])
		default:
			for out := ^w; out != 0; out &= out - 1 {
				j := bits.TrailingZeros64(out)
				if j >= len(row) {
					break
				}
				row[j] = refused[0]
			}
		}
	}
}

var refused = func() (row [64]float32) {
	for i := range row {
		row[i] = float32(math.Inf(-1))
	}
	return row
}()
