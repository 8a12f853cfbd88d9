package tokenizer

// Models turn a piece of text into ids.

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/avoformer/avoformer/fault"
)

var (
	errNoUnknown = errors.New("the text has characters that the vocabulary lacks, and the model has no unknown token")
)

// vocabulary maps tokens to ids and back.
type vocabulary struct {
	ids    *index
	tokens []string
	known  []bool            // ids that have a token
	sparse map[uint32]string // for ids that are far apart

	repeats bool // a token was set twice
}

func newVocabulary(size int) *vocabulary {
	return &vocabulary{ids: newIndex(size), tokens: make([]string, 0, size), known: make([]bool, 0, size)}
}

// set sets the id of token. As in Hugging Face's library, the last call counts.
func (v *vocabulary) set(token string, id uint32) {
	v.repeats = !v.ids.set(token, id) || v.repeats
	switch {
	case int(id) < len(v.tokens):
		v.tokens[id], v.known[id] = token, true
	case int(id) <= 2*v.size()+1<<16:
		for len(v.tokens) <= int(id) {
			v.tokens, v.known = append(v.tokens, ""), append(v.known, false)
		}
		v.tokens[id], v.known[id] = token, true
	default:
		if v.sparse == nil {
			v.sparse = map[uint32]string{}
		}
		v.sparse[id] = token
	}
}

func (v *vocabulary) size() int { return len(v.ids.list) }

func (v *vocabulary) id(token string) (uint32, bool) {
	return v.ids.get(token)
}

func (v *vocabulary) token(id uint32) (string, bool) {
	if int(id) < len(v.tokens) && v.known[id] {
		return v.tokens[id], true
	}
	s, ok := v.sparse[id]
	return s, ok
}

// parseVocabulary reads {"token": id, …}.
func parseVocabulary(what string, in value) (*vocabulary, error) {
	if len(in) == 0 || in[0] != '{' {
		return nil, fmt.Errorf("%w: %s must be an object", fault.ErrFormat, what)
	}
	v := newVocabulary(min(bytes.Count(in, []byte{':'}), len(in)/12)) // about
	var tokens arena
	err := in.each(func(key, in value) error {
		token, _ := tokens.text(key)
		id, ok := in.uint32()
		if !ok || id > maxID {
			return fmt.Errorf("%w: %s[%q] is %s, not an id", fault.ErrFormat, what, token, in)
		}
		v.set(token, id)
		return nil
	})
	if v.repeats {
		v.forget()
	}
	return v, err
}

// forget removes the earlier ids of tokens that were set again.
func (v *vocabulary) forget() {
	for id, token := range v.tokens {
		if now, _ := v.id(token); v.known[id] && now != uint32(id) {
			v.tokens[id], v.known[id] = "", false
		}
	}
	for id, token := range v.sparse {
		if now, _ := v.id(token); now != id {
			delete(v.sparse, id)
		}
	}
}

// maxID bounds ids, which are stored as int32.
const maxID = 1<<31 - 2

// wordLevel makes each piece one token.
type wordLevel struct {
	*vocabulary
	unknown string
}

func (m *wordLevel) tokenize(w *work, start, end int32) error {
	id, ok := m.ids.find(w.text[start:end])
	if !ok {
		if id, ok = m.id(m.unknown); !ok {
			return errNoUnknown
		}
	}
	w.tokens = append(w.tokens, token{id: id, start: start, end: end})
	return nil
}

// wordPiece takes the longest token at the beginning of a word, then the longest continuation, and so on. A word that
// does not divide into tokens this way is unknown.
type wordPiece struct {
	*vocabulary
	unknown   string
	prefix    string // of continuations
	limit     int    // characters; longer words are unknown
	trie      *trie
	continues int32 // the trie's node after prefix, -1 if no token begins with it
}

// newWordPiece returns the model of a vocabulary, whose trie is given.
func newWordPiece(v *vocabulary, trie *trie, unknown, prefix string, limit int) *wordPiece {
	m := &wordPiece{vocabulary: v, unknown: unknown, prefix: prefix, limit: limit, trie: trie}
	node, ok := m.trie.walk(trieRoot, prefix)
	if !ok {
		node = -1
	}
	m.continues = node
	return m
}

func (v *vocabulary) trie() *trie {
	entries := make([]trieEntry, len(v.ids.list))
	for i, e := range v.ids.list {
		entries[i] = trieEntry{e.text, int32(e.id)}
	}
	return newTrie(entries)
}

func (m *wordPiece) tokenize(w *work, start, end int32) error {
	text := w.text[start:end]
	before := len(w.tokens)
	node := int32(trieRoot)
	ok := len(text) <= m.limit || runesAtMost(text, m.limit)
	for at := 0; ok && at < len(text); {
		id, n := int32(-1), 0
		if node >= 0 {
			id, n = m.trie.longest(node, text[at:])
		}
		if ok = id >= 0; !ok {
			break
		}
		w.tokens = append(w.tokens, token{id: uint32(id), start: start + int32(at), end: start + int32(at+n)})
		at += n
		node = m.continues
	}
	if ok {
		return nil
	}
	id, known := m.id(m.unknown)
	if !known {
		return errNoUnknown
	}
	w.tokens = append(w.tokens[:before], token{id: id, start: start, end: end})
	return nil
}

func runesAtMost(text []byte, limit int) bool {
	n := 0
	for _, b := range text {
		if b&0xC0 != 0x80 {
			if n++; n > limit {
				return false
			}
		}
	}
	return true
}
