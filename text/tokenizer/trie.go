package tokenizer

// A trie over bytes, stored as a double array (Aoe, 1989).

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// trie maps strings to ids.
type trie struct{ nodes []trieNode }

// trieNode is a node. Its index is the base of its parent plus its byte.
type trieNode struct {
	base   int32
	parent int32 // -1 if the element is free
	id     int32 // -1 if no string ends here
}

const trieRoot = 0

// step returns the child of node for byte b.
func (t *trie) step(node int32, b byte) (int32, bool) {
	next := t.nodes[node].base + int32(b)
	return next, int(next) < len(t.nodes) && t.nodes[next].parent == node
}

// walk follows the bytes of s from node.
func (t *trie) walk(node int32, s string) (int32, bool) {
	ok := true
	for i := 0; i < len(s) && ok; i++ {
		node, ok = t.step(node, s[i])
	}
	return node, ok
}

// longest returns the id and the length of the longest string at the beginning of text that leads
// from node to an id. The id is -1 if there is none.
func (t *trie) longest(node int32, text []byte) (id int32, length int) {
	id = -1
	for i, b := range text {
		next, ok := t.step(node, b)
		if !ok {
			break
		}
		node = next
		if v := t.nodes[node].id; v >= 0 {
			id, length = v, i+1
		}
	}
	return id, length
}

// find returns the id of text, or -1.
func (t *trie) find(text []byte) int32 {
	id, n := t.longest(trieRoot, text)
	if n != len(text) {
		return -1
	}
	return id
}

type trieEntry struct {
	key string
	id  int32
}

// headed is an entry, and eight bytes of its key as a number.
type headed struct {
	head uint64
	at   int32
}

// sortEntries sorts entries by key, then by id.
func sortEntries(entries []trieEntry) []trieEntry {
	order, scratch := make([]headed, len(entries)), make([]headed, len(entries))
	for i := range entries {
		order[i] = headed{headOf(entries[i].key, 0), int32(i)}
	}
	sortHeads(order, scratch)
	for lo := 0; lo < len(order); { // keys that begin alike
		hi := lo + 1
		for hi < len(order) && order[hi].head == order[lo].head {
			hi++
		}
		if hi-lo > 1 {
			slices.SortFunc(order[lo:hi], func(a, b headed) int {
				x, y := &entries[a.at], &entries[b.at]
				return cmp.Or(strings.Compare(x.key, y.key), cmp.Compare(x.id, y.id))
			})
		}
		lo = hi
	}
	sorted := make([]trieEntry, len(entries))
	for i, o := range order {
		sorted[i] = entries[o.at]
	}
	return sorted
}

// headOf returns eight bytes of a key, as if zeros followed it.
func headOf(key string, at int) uint64 {
	if len(key) >= at+8 {
		return binary.BigEndian.Uint64([]byte(key[at : at+8]))
	}
	var head [8]byte
	copy(head[:], key[min(at, len(key)):])
	return binary.BigEndian.Uint64(head[:])
}

// sortHeads sorts by the heads, byte after byte from the last one, and keeps the order of equal
// heads.
func sortHeads(x, scratch []headed) {
	var counts [8][256]int32
	for _, h := range x {
		for i := range counts {
			counts[i][byte(h.head>>(8*i))]++
		}
	}
	from, to := x, scratch
	for i := range counts {
		n := &counts[i]
		if len(x) == 0 || int(n[byte(x[0].head>>(8*i))]) == len(x) {
			continue // all have the same byte
		}
		sum := int32(0)
		for b := range n {
			n[b], sum = sum, sum+n[b]
		}
		for _, h := range from {
			b := byte(h.head >> (8 * i))
			to[n[b]] = h
			n[b]++
		}
		from, to = to, from
	}
	if len(x) > 0 && &from[0] != &x[0] {
		copy(x, from)
	}
}

// nodesOf returns how many nodes the trie of sorted entries has, without the root.
func nodesOf(entries []trieEntry) (n int) {
	last := ""
	for i := range entries {
		key := entries[i].key
		same := 0
		for same < min(len(key), len(last)) && key[same] == last[same] {
			same++
		}
		n += len(key) - same
		last = key
	}
	return n
}

// newTrie builds a trie of entries. Of equal keys, the one with the highest id counts. Empty keys
// are ignored.
func newTrie(entries []trieEntry) *trie {
	entries = sortEntries(entries)
	b := trieBuilder{entries: entries}
	n := nodesOf(entries)
	b.nodes = make([]trieNode, 0, n+n/16+1024) // few elements stay free
	b.grow(512)
	b.put(trieRoot, trieNode{parent: trieRoot, id: -1})
	type task struct {
		node, lo, hi, depth int32
	}
	queue := []task{{trieRoot, 0, int32(len(entries)), 0}}
	for len(queue) > 0 {
		t := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		lo := t.lo
		for lo < t.hi && len(entries[lo].key) == int(t.depth) {
			if t.depth > 0 {
				b.nodes[t.node].id = entries[lo].id
			}
			lo++
		}
		b.children(lo, t.hi, t.depth)
		if len(b.labels) == 0 {
			continue
		}
		base := b.place()
		b.nodes[t.node].base = base
		for i, c := range b.labels {
			child := base + int32(c)
			b.put(child, trieNode{parent: t.node, id: -1})
			queue = append(queue, task{child, b.bounds[i], b.bounds[i+1], t.depth + 1})
		}
	}
	if cap(b.nodes)-len(b.nodes) > len(b.nodes)/8 {
		b.nodes = slices.Clip(append([]trieNode(nil), b.nodes...))
	}
	return &trie{b.nodes}
}

type trieBuilder struct {
	entries []trieEntry
	nodes   []trieNode
	taken   []uint64 // a bit for each of nodes, and a few more
	labels  []byte   // of the children to place
	bounds  []int32  // of their entries
	from    int32    // the first base to try
}

func (b *trieBuilder) grow(n int) {
	if have := len(b.nodes); have < n {
		b.nodes = slices.Grow(b.nodes, n-have)[:n]
		for i := have; i < n; i++ {
			b.nodes[i] = trieNode{parent: -1, id: -1}
		}
	}
	for len(b.taken) < n/64+6 { // bits for a base, the 63 after it, and a byte
		b.taken = append(b.taken, 0)
	}
}

func (b *trieBuilder) put(at int32, n trieNode) {
	b.nodes[at] = n
	b.taken[at/64] |= 1 << (at % 64)
}

// takenFrom returns the bits of 64 elements of nodes.
func (b *trieBuilder) takenFrom(at int32) uint64 {
	word, shift := at/64, uint(at%64)
	return b.taken[word]>>shift | b.taken[word+1]<<(64-shift)
}

// children lists the bytes that entries[lo:hi] have at depth.
func (b *trieBuilder) children(lo, hi, depth int32) {
	b.labels, b.bounds = b.labels[:0], b.bounds[:0]
	for i := lo; i < hi; {
		c := b.entries[i].key[depth]
		b.labels, b.bounds = append(b.labels, c), append(b.bounds, i)
		for i++; i < hi && b.entries[i].key[depth] == c; i++ {
		}
	}
	b.bounds = append(b.bounds, hi)
}

// place returns the first base at which the elements of all labels are free. It tries 64 bases at a
// time.
func (b *trieBuilder) place() int32 {
	first := int32(b.labels[0])
	at := max(b.from, 1+first)
	tried, taken := 0, 0
	for ; ; at += 64 {
		b.grow(int(at) + 64 + 256)
		used := b.takenFrom(at)
		tried += 64
		taken += bits.OnesCount64(used)
		for _, c := range b.labels[1:] {
			if used == math.MaxUint64 {
				break
			}
			used |= b.takenFrom(at - first + int32(c))
		}
		if used != math.MaxUint64 {
			at += int32(bits.TrailingZeros64(^used))
			break
		}
	}
	if tried > 64 && taken*20 > tried*19 { // hardly any element so far is free
		b.from = at
	}
	b.grow(int(at) + 256)
	return at - first
}
