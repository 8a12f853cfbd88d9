package tokenizer

// Merging the symbols of a word.

import "math/bits"

// mergeTable maps each pair of ids that merges to its rank and its result.
type mergeTable struct {
	pairs []mergePair // the length is a power of two
	shift uint
}

type mergePair struct {
	key   uint64 // 1 + the pair, 0 if free
	value mergeValue
}

type mergeValue struct{ rank, id uint32 }

func newMergeTable(n int) mergeTable {
	log := uint(bits.Len(uint(2*n + 16)))
	return mergeTable{pairs: make([]mergePair, 1<<log), shift: 64 - log}
}

func pairOf(a, b uint32) uint64 { return uint64(a)<<32 | uint64(b) + 1 }

func (t *mergeTable) slot(key uint64) *mergePair {
	i := int(key * 0x9E3779B97F4A7C15 >> t.shift)
	for t.pairs[i].key != 0 && t.pairs[i].key != key {
		i = (i + 1) & (len(t.pairs) - 1)
	}
	return &t.pairs[i]
}

func (t *mergeTable) set(a, b uint32, v mergeValue) {
	*t.slot(pairOf(a, b)) = mergePair{pairOf(a, b), v}
}

func (t *mergeTable) get(a, b uint32) (mergeValue, bool) {
	p := t.slot(pairOf(a, b))
	return p.value, p.key != 0
}

// bpeScratch holds a word during merging.
type bpeScratch struct {
	symbols []symbol
	heap    []merge
	spell   []byte
}

// symbol is a token of the word so far. Its text ends at start+length.
type symbol struct {
	id         uint32
	prev, next int32
	length     int32 // 0 once it has merged into another symbol
}

// merge is a pair in the queue. Its key is the rank in the upper bits and the position of the first
// symbol in the lower ones.
type merge struct {
	key uint64
	id  uint32
}

func (s *bpeScratch) add(id uint32, length int32) {
	n := int32(len(s.symbols))
	s.symbols = append(s.symbols, symbol{id, n - 1, n + 1, length})
}

// mergeAll merges the leftmost pair with the lowest rank until no pair is left. It takes O(n log n)
// steps for n symbols.
func (s *bpeScratch) mergeAll(merges *mergeTable) {
	x := s.symbols
	s.heap = s.heap[:0]
	for i := 0; i+1 < len(x); i++ {
		if v, ok := merges.get(x[i].id, x[i+1].id); ok {
			s.push(merge{uint64(v.rank)<<32 | uint64(i), v.id})
		}
	}
	for len(s.heap) > 0 {
		top := s.pop()
		at := int32(uint32(top.key))
		left := &x[at]
		if left.length == 0 || int(left.next) >= len(x) {
			continue
		}
		right := &x[left.next]
		// The pair may have changed since it was queued. Hugging Face's library only compares the
		// result, so a pair of another rank with the same result still merges.
		if v, ok := merges.get(left.id, right.id); !ok || v.id != top.id {
			continue
		}
		left.id = top.id
		left.length += right.length
		right.length = 0
		left.next = right.next
		if int(left.next) < len(x) {
			x[left.next].prev = at
			if v, ok := merges.get(left.id, x[left.next].id); ok {
				s.push(merge{uint64(v.rank)<<32 | uint64(at), v.id})
			}
		}
		if left.prev >= 0 {
			if v, ok := merges.get(x[left.prev].id, left.id); ok {
				s.push(merge{uint64(v.rank)<<32 | uint64(left.prev), v.id})
			}
		}
	}
}

func (s *bpeScratch) push(m merge) {
	h := append(s.heap, m)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].key <= m.key {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = m
	s.heap = h
}

func (s *bpeScratch) pop() merge {
	h := s.heap
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	s.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].key < h[down].key {
			down++
		}
		if last.key <= h[down].key {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = last
	return top
}
