package tokenizer

// Finding many strings in a text in linear time (Aho and Corasick, 1975).

import (
	"bytes"
	"slices"
)

// finder finds strings in a text. It reads the text from its end, with a trie of the reversed
// strings, and so finds the longest string that begins at each position.
type finder struct {
	strings []string // "" entries are never found
	trie    *trie
	fail    []int32 // by node: the node of the longest proper suffix that is in the trie
	out     []int32 // by node: the index of the longest string that is a suffix, or -1
	starts  []byte  // the first bytes of the strings
}

// found is a position where a string begins, and the index of the string.
type found struct{ start, index int32 }

// newFinder returns a finder of the strings that are not empty.
func newFinder(strings []string) finder {
	f := finder{strings: strings}
	entries := make([]trieEntry, 0, len(strings))
	longest := 0
	for i, s := range strings {
		if s == "" {
			continue
		}
		b := []byte(s)
		if !slices.Contains(f.starts, b[0]) {
			f.starts = append(f.starts, b[0])
		}
		longest = max(longest, len(b))
		slices.Reverse(b)
		entries = append(entries, trieEntry{string(b), int32(i)})
	}
	if len(entries) == 0 {
		return f
	}
	f.trie = newTrie(entries)
	f.fail, f.out = make([]int32, len(f.trie.nodes)), make([]int32, len(f.trie.nodes))
	f.out[trieRoot] = -1
	f.link(entries, longest)
	return f
}

// link fills fail and out, in the order of depth.
func (f *finder) link(entries []trieEntry, longest int) {
	at := make([]int32, len(entries)) // by entry: the node of the prefix read so far
	linked := make([]bool, len(f.trie.nodes))
	for depth := range longest {
		for i, e := range entries {
			if depth >= len(e.key) {
				continue
			}
			parent := at[i]
			node, _ := f.trie.step(parent, e.key[depth])
			at[i] = node
			if linked[node] {
				continue
			}
			linked[node] = true
			if parent != trieRoot {
				f.fail[node] = f.next(f.fail[parent], e.key[depth])
			}
			if f.out[node] = f.trie.nodes[node].id; f.out[node] < 0 {
				f.out[node] = f.out[f.fail[node]]
			}
		}
		entries, at = longer(entries, at, depth+1)
	}
}

// longer keeps the entries that are longer than depth, and their nodes.
func longer(entries []trieEntry, at []int32, depth int) ([]trieEntry, []int32) {
	n := 0
	for i, e := range entries {
		if len(e.key) > depth {
			entries[n], at[n] = e, at[i]
			n++
		}
	}
	return entries[:n], at[:n]
}

// next returns the node of the longest suffix of node's string followed by b.
func (f *finder) next(node int32, b byte) int32 {
	for {
		if to, ok := f.trie.step(node, b); ok {
			return to
		}
		if node == trieRoot {
			return trieRoot
		}
		node = f.fail[node]
	}
}

// appendAll appends the positions in text where a string begins, from the last to the first, each
// with the longest string that begins there.
func (f *finder) appendAll(places []found, text []byte) []found {
	if f.trie == nil {
		return places
	}
	first := 0
	if len(f.starts) == 1 {
		if first = bytes.IndexByte(text, f.starts[0]); first < 0 {
			return places
		}
	}
	node := int32(trieRoot)
	for i := len(text) - 1; i >= first; i-- {
		node = f.next(node, text[i])
		if v := f.out[node]; v >= 0 {
			places = append(places, found{int32(i), v})
		}
	}
	return places
}
