package grammar

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// A Vocabulary is the tokens of a tokenizer, laid out for masks. It is immutable, serves any number
// of grammars and goroutines, and takes 12 bytes for each beginning of a token, 5 MB for a
// vocabulary of 152,000.
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

// longestToken is the most bytes of a token that can be chosen; longer ones never are allowed.
const longestToken = math.MaxUint16

// NewVocabulary makes a Vocabulary of the bytes of each token, as they are in the text (for the
// tokenizers of GPT-2 and its kind: bytes, not the letters that stand for them; a token that is
// part of a character has only its own bytes). A token without bytes, as control tokens should be
// given, is never allowed. ends are the tokens that end a text, whatever their bytes: they are
// allowed exactly where the grammar may end. The bytes are not copied and must not be changed.
//
// Each state of a grammar can continue with some byte, and so with some token if every byte is a
// token, as in vocabularies that can spell any text. With other vocabularies, a text may come to a
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
	var path []int // the nodes on the way to the last one
	var before []byte
	for _, t := range order {
		b := tokens[t]
		n := common(before, b)
		if n == len(b) && n == len(before) { // the order is such that all of them get a chain
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
	v.nodes = slices.Clone(v.nodes) // of the size it needs
	if len(v.nodes) > math.MaxInt32 {
		return nil, errorf(fault.ErrTooLarge, "tokens with %d bytes", len(v.nodes))
	}
	return v, nil
}

// close notes where the subtrees of path end.
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
