package tokenizer

// Byte-level BPE whose files have the bytes of each token in the order of their ranks, and no
// merges: those of tiktoken, and Mistral's tekken.json. Two neighbours are merged if the vocabulary
// has both together, the pair with the lowest rank first. A word that is a token is not merged.

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/avoformer/avoformer/fault"
)

// mostRanked bounds the bytes of a token, because all places to cut it in two are tried.
const mostRanked = 512

var bracesPlus = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9,]\}\+`) })

// ranked is such a tokenizer under construction.
type ranked struct {
	tokens  [][]byte // by rank; nil: none
	first   uint32   // the id of rank 0
	special []AddedToken
	pattern string // whose matches are words
}

// spelled returns bytes as characters of the byte alphabet.
func spelled(b []byte) string {
	s := make([]rune, len(b))
	for i, x := range b {
		s[i] = byteAlphabet[x]
	}
	return string(s)
}

// build returns the tokenizer, without tokens that other files name.
func (r *ranked) build() (*Tokenizer, error) {
	v := newVocabulary(len(r.tokens) + len(r.special))
	for rank, b := range r.tokens {
		if b == nil {
			continue
		}
		s := spelled(b)
		if _, ok := v.id(s); ok || len(b) == 0 || len(b) > mostRanked {
			return nil, fmt.Errorf("%w: the token of rank %d, %q, is empty, longer than %d bytes, or there twice", fault.ErrFormat, rank, b, mostRanked)
		}
		v.set(s, r.first+uint32(rank))
	}
	if bracesPlus().MatchString(r.pattern) { // possessive in tiktoken, and repeated in the syntax that is compiled here
		return nil, fmt.Errorf("%w: the pattern %.40q has a quantifier in braces with +", fault.ErrConfig, r.pattern)
	}
	at, err := compile(r.pattern)
	if err != nil {
		return nil, err
	}
	for _, t := range r.special {
		// A word that is a token becomes this token, which a special one must not.
		words := at.appendAll(nil, []byte(t.Content))
		if _, ok := v.id(t.Content); ok || t.Content == "" || len(words) == 1 && int(words[0].End-words[0].Start) == len(t.Content) {
			return nil, fmt.Errorf("%w: the special token %q is empty, a word, or there twice", fault.ErrFormat, t.Content)
		}
		if s, ok := v.token(t.ID); ok {
			return nil, fmt.Errorf("%w: %q and %q have the id %d", fault.ErrFormat, s, t.Content, t.ID)
		}
		v.set(t.Content, t.ID)
	}
	m := newBPE(v, bpeConfig{ignoreMerges: true})
	merges := r.merges(v)
	g := newMerging(v, "", m.parts, len(merges))
	for _, x := range merges {
		g.add(x.rank, bytesOf(x.first), bytesOf(x.second))
	}
	if err := g.done(); err != nil {
		return nil, err
	}
	m.merges, m.parts = g.table, g.parts
	m.finish()
	for b, c := range byteAlphabet {
		if !v.has(string(c)) {
			return nil, fmt.Errorf("%w: no token is the byte %#02x alone", fault.ErrFormat, b)
		}
	}
	t := &Tokenizer{model: m, decoder: byteLevelDecoder{}, pre: preTokenizers{r.words(at), byteLevel{spell: true}}}
	return t, t.finish(r.special)
}

// rankedMerge is a pair of tokens that are another one together. Pairs of the same token have the
// same rank.
type rankedMerge struct {
	rank          int
	first, second string
}

// merges returns the pairs that make a token.
func (r *ranked) merges(v *vocabulary) (all []rankedMerge) {
	for rank, b := range r.tokens {
		for cut := 1; cut < len(b); cut++ {
			first, second := spelled(b[:cut]), spelled(b[cut:])
			if v.has(first) && v.has(second) {
				all = append(all, rankedMerge{rank, first, second})
			}
		}
	}
	return all
}

// words cuts at the matches of a pattern, and drops what is between them.
func (r *ranked) words(at pattern) preTokenizer {
	if _, ok := at.(scanner); ok {
		return &splitAt{pattern: at, behavior: isolated} // the patterns that have scanners match everything
	}
	return &splitAt{pattern: at, behavior: removed, invert: true}
}

func (v *vocabulary) has(token string) bool {
	_, ok := v.id(token)
	return ok
}
