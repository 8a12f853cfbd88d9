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
	places []uint32          // of ids: 1 + the place of the token in ids.list, 0 for an id without a token
	sparse map[uint32]string // for ids that are far apart

	repeats bool // a token was set twice
}

func newVocabulary(size int) *vocabulary {
	return &vocabulary{ids: newIndex(size), places: make([]uint32, 0, size)}
}

// set sets the id of token. As in Hugging Face's library, the last call counts.
func (v *vocabulary) set(token string, id uint32) { v.setBytes([]byte(token), id) }

func (v *vocabulary) setBytes(token []byte, id uint32) { v.setHashed(v.ids.hash(token), token, id) }

func (v *vocabulary) setHashed(hash uint32, token []byte, id uint32) {
	place, first := v.ids.setHashed(hash, token, id)
	v.repeats = !first || v.repeats
	if int(id) >= len(v.places) && int(id) > 2*v.size()+1<<16 {
		if v.sparse == nil {
			v.sparse = map[uint32]string{}
		}
		v.sparse[id] = string(token)
		return
	}
	for len(v.places) <= int(id) {
		v.places = append(v.places, 0)
	}
	v.places[id] = uint32(place) + 1
}

func (v *vocabulary) size() int { return len(v.ids.list) }

func (v *vocabulary) id(token string) (uint32, bool) {
	return v.ids.get(token)
}

func (v *vocabulary) token(id uint32) (string, bool) {
	if int(id) < len(v.places) && v.places[id] != 0 {
		return v.ids.text(&v.ids.list[v.places[id]-1]), true
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
	var scratch []byte
	sets := setter{v: v}
	err := in.each(func(key, in value) error {
		token := key.bytes(&scratch)
		id, ok := in.uint32()
		if !ok || id > maxID {
			return fmt.Errorf("%w: %s[%q] is %s, not an id", fault.ErrFormat, what, token, in)
		}
		sets.set(token, id)
		return nil
	})
	sets.flush()
	if v.repeats {
		v.forget()
	}
	v.settle()
	v.ids.fit()
	return v, err
}

// A setter sets the ids of many tokens. It asks for the memory of many slots at a time, for which
// the processor would wait each time otherwise.
type setter struct {
	v     *vocabulary
	texts []byte
	ends  []int32
	ids   []uint32
	finds finds
}

// set is vocabulary.set, which takes effect with flush at the latest.
func (s *setter) set(token []byte, id uint32) {
	s.texts = append(s.texts, token...)
	s.ends, s.ids = append(s.ends, int32(len(s.texts))), append(s.ids, id)
	if len(s.ends) == 256 || len(s.texts) > 1<<16 {
		s.flush()
	}
}

func (s *setter) flush() {
	s.finds.look(s.v.ids, s.texts, s.ends)
	from := int32(0)
	for i, to := range s.ends {
		s.v.setHashed(s.finds.hashes[i], s.texts[from:to], s.ids[i])
		from = to
	}
	s.texts, s.ends, s.ids = s.texts[:0], s.ends[:0], s.ids[:0]
}

// forget removes the earlier ids of tokens that were set again.
func (v *vocabulary) forget() {
	for id, place := range v.places {
		if place != 0 && v.ids.list[place-1].id != uint32(id) {
			v.places[id] = 0
		}
	}
	for id, token := range v.sparse {
		if now, _ := v.id(token); now != id {
			delete(v.sparse, id)
		}
	}
}

// settle gives ids a place that were far apart only while the vocabulary was small, as in files
// that are not in the order of ids.
func (v *vocabulary) settle() {
	for id, token := range v.sparse {
		if int(id) > 2*v.size()+1<<16 {
			continue
		}
		if n := int(id) + 1 - len(v.places); n > 0 {
			v.places = append(v.places, make([]uint32, n)...)
		}
		v.places[id] = v.ids.at(v.ids.hash([]byte(token)), []byte(token)).at
		delete(v.sparse, id)
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

// wordPiece takes the longest token at the beginning of a word, then the longest continuation, and
// so on. A word that does not divide into tokens this way is unknown.
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
	for i := range v.ids.list {
		e := &v.ids.list[i]
		entries[i] = trieEntry{v.ids.text(e), int32(e.id)}
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
