package grammar

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// A Vocabulary has the tokens of a tokenizer, stored for the computation of masks. It is immutable
// and safe for concurrent use with any number of grammars. It occupies 12 bytes for each distinct
// prefix of a token, 5 MB for a vocabulary of 152,000 tokens.
type Vocabulary struct {
	tokens [][]byte
	ends   []int
	isEnd  []bool
	nodes  []node  // in depth-first order; the first is the root
	same   []int32 // of each token, another one with the same bytes, or -1
	deep   int     // bytes of the longest token
}

// A node of the trie of all tokens represents the bytes on the path to it.
type node struct {
	token int32 // a token of these bytes, or -1
	size  int32 // number of nodes of the subtree, with itself
	depth uint16
	b     byte
}

// longestToken is the largest number of bytes of a token. Longer tokens are never allowed.
const longestToken = math.MaxUint16

// NewVocabulary returns a Vocabulary of tokens, given as the bytes that each adds to the text. (For
// tokenizers such as GPT-2's these are the bytes, not the letters that stand for them; a token that
// is part of a character has only its own bytes.) A token without bytes is never allowed; give
// control tokens no bytes. ends are the tokens that end a text, whatever their bytes: they are
// allowed exactly where the grammar may end. The bytes are not copied and must not be changed.
//
// Each state of a grammar can continue with some byte, and so with some token if every byte is a
// token, as in vocabularies that can encode any text. With other vocabularies, a text may come to a
// point where no token may follow, which is [fault.ErrNoToken].
func NewVocabulary(tokens [][]byte, ends []int) (*Vocabulary, error) {
	if len(tokens) > math.MaxInt32 {
		return nil, errorf(fault.ErrTooLarge, "%d tokens", len(tokens))
	}
	v := &Vocabulary{tokens: tokens, isEnd: make([]bool, len(tokens)), same: make([]int32, len(tokens))}
	for _, t := range ends {
		if t < 0 || t >= len(tokens) {
			return nil, errorf(fault.ErrShape, "the end token %d is not one of %d tokens", t, len(tokens))
		}
		if !v.isEnd[t] {
			v.isEnd[t] = true
			v.ends = append(v.ends, t)
		}
	}
	var order []int32
	for t, b := range tokens {
		v.same[t] = -1
		if len(b) > 0 && len(b) <= longestToken && !v.isEnd[t] {
			order = append(order, int32(t))
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(bytes.Compare(tokens[a], tokens[b]), cmp.Compare(b, a))
	})
	v.nodes = []node{{token: -1}}
	var path []int // the nodes on the path to the last one
	var before []byte
	for _, t := range order {
		b := tokens[t]
		n := common(before, b)
		if n == len(b) && n == len(before) { // equal tokens are adjacent in order, and form a chain
			last := &v.nodes[path[n-1]]
			v.same[t], last.token = last.token, t
			continue
		}
		v.close(path[n:])
		path = path[:n]
		for ; n < len(b); n++ {
			path = append(path, len(v.nodes))
			v.nodes = append(v.nodes, node{token: -1, depth: uint16(n + 1), b: b[n]})
		}
		v.nodes[len(v.nodes)-1].token = t
		v.deep = max(v.deep, len(b))
		before = b
	}
	v.close(path)
	v.close([]int{0})
	v.nodes = slices.Clone(v.nodes) // without spare capacity
	if len(v.nodes) > math.MaxInt32 {
		return nil, errorf(fault.ErrTooLarge, "tokens with %d bytes", len(v.nodes))
	}
	return v, nil
}

// close sets the sizes of the subtrees of path.
func (v *Vocabulary) close(path []int) {
	for _, n := range path {
		v.nodes[n].size = int32(len(v.nodes) - n)
	}
}

// child returns the node that a byte leads to from another one.
func (v *Vocabulary) child(node int, b byte) (child int, ok bool) {
	for i, end := node+1, node+int(v.nodes[node].size); i < end; i += int(v.nodes[i].size) {
		if v.nodes[i].b == b {
			return i, true
		}
	}
	return 0, false
}

// Tokens returns the number of tokens.
func (v *Vocabulary) Tokens() int { return len(v.tokens) }

// words returns the number of words that a mask has.
func (v *Vocabulary) words() int { return (len(v.tokens) + 63) / 64 }
