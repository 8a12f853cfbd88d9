package tokenizer

// Finding many strings in a text in linear time (Aho and Corasick, 1975).

import (
	"bytes"
	"slices"
)

// finder finds strings in a text. It reads texts from the end, by a trie of the strings
// read from their ends, and so knows at each place the longest of them that begins there.
type finder struct {
	strings []string // "" for none
	trie    *trie
	fail    []int32 // for each node, the node of the longest end of its string that has one
	out     []int32 // for each node, the longest of the strings that its string ends with, -1 for none
	starts  []byte  // the first bytes of the strings
}

// found is a place where one of the strings begins.
type found struct{ start, index int32 }

// newFinder returns a finder of those of strings that are not empty.
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

// link fills fail and out, those of shorter strings first.
func (f *finder) link(entries []trieEntry, longest int) {
	at := make([]int32, len(entries)) // the node of each entry's first bytes
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

// longer keeps the entries that have a byte at depth, and their nodes.
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

// next returns the node of the longest end of node's string and b.
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

// appendAll appends the places where one of the strings begins in text, from the last to
// the first, each with the longest that begins there.
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
