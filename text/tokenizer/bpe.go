package tokenizer

// Byte-pair encoding (Sennrich et al., 2016).

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

type bpe struct {
	*vocabulary
	merges        mergeTable
	unknown       string
	fuseUnknown   bool
	ignoreMerges  bool
	prefix        string // before characters that do not begin a word
	suffix        string // after the last character of a word
	bytes         *[256]uint32
	byteLevel     bool        // the bytes of the text are the alphabet
	alphabet      [256]uint32 // ids of the bytes
	words         *index      // for ignoreMerges: ids by the bytes of the text
	ascii         [128]uint32 // ids of ASCII characters, or noID
	unknownID     uint32
	unknownExists bool
	cache         *wordCache
	from          *source // nil: of no file
	parts         bool    // no token has a ▁ after another character, so words merge separately
}

type bpeConfig struct {
	unknown        string
	prefix, suffix string
	fuseUnknown    bool
	byteFallback   bool
	ignoreMerges   bool
}

// newBPE returns a model without merges. Add them, then call finish.
func newBPE(v *vocabulary, c bpeConfig) *bpe {
	m := &bpe{vocabulary: v, unknown: c.unknown, fuseUnknown: c.fuseUnknown, ignoreMerges: c.ignoreMerges,
		prefix: c.prefix, suffix: c.suffix, merges: newMergeTable(0), words: v.ids, cache: newWordCache()}
	_, known := v.id(string(space))
	m.parts = known && !c.ignoreMerges && c.prefix == "" && c.suffix == ""
	if c.byteFallback {
		m.bytes = byteTokens(v)
	}
	return m
}

// mergedBPE returns the model with merges in the order of their ranks.
func mergedBPE(v *vocabulary, merges [][2]string, c bpeConfig) (*bpe, error) {
	m := newBPE(v, c)
	return m, m.mergeAll(merges)
}

// mergeAll adds merges in the order of their ranks, and finishes the model.
func (m *bpe) mergeAll(merges [][2]string) error {
	g := newMerging(m.vocabulary, m.prefix, m.parts, len(merges))
	for rank, pair := range merges {
		g.add(rank, bytesOf(pair[0]), bytesOf(pair[1]))
	}
	if err := g.done(); err != nil {
		return err
	}
	m.merges, m.parts = g.table, g.parts
	m.finish()
	return nil
}

// finish must be called after the last merge.
func (m *bpe) finish() {
	m.unknownID, m.unknownExists = m.id(m.unknown)
	m.parts = m.parts && m.unknownExists // otherwise characters may vanish, and offsets shift
	for b := range m.ascii {
		id, ok := m.id(string(rune(b)))
		if !ok {
			id = noID
		}
		m.ascii[b] = id
	}
}

// useBytes makes the model take raw bytes instead of characters of the byte alphabet. It reports
// whether the vocabulary has all of these characters; if not, the model does not change.
func (m *bpe) useBytes() bool {
	if m.prefix != "" || m.suffix != "" {
		return false
	}
	for b, r := range byteAlphabet {
		id, ok := m.id(string(r))
		if !ok {
			return false
		}
		m.alphabet[b] = id
	}
	m.byteLevel = true
	if !m.ignoreMerges {
		return true
	}
	if m.from != nil && m.from.ids == m.vocabulary && m.from.words != nil {
		m.words = m.from.words
		return true
	}
	m.words = newIndex(len(m.ids.list))
	if m.from != nil && m.from.ids == m.vocabulary {
		m.from.words = m.words
	}
	var raw []byte
next:
	for i := range m.ids.list {
		e := &m.ids.list[i]
		raw = raw[:0]
		for _, r := range m.ids.text(e) {
			b := alphabetByte(r)
			if b < 0 {
				continue next
			}
			raw = append(raw, byte(b))
		}
		m.words.set(raw, e.id)
	}
	return true
}

func (m *bpe) tokenize(w *work, start, end int32) error {
	if !m.parts || m.byteLevel {
		return m.cache.word(w, start, end, m.word)
	}
	text := w.text[:end]
	for at := int(start); at < len(text); {
		next := nextPart(text, at)
		if err := m.cache.word(w, int32(at), int32(next), m.word); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// word tokenizes a word that merges separately.
func (m *bpe) word(w *work, start, end int32) error {
	text := w.text[start:end]
	if m.ignoreMerges {
		if id, ok := m.words.find(text); ok {
			w.tokens = append(w.tokens, token{id: id, start: start, end: end})
			return nil
		}
	}
	s := &w.scratch
	s.symbols = s.symbols[:0]
	if m.byteLevel {
		for _, b := range text {
			s.add(m.alphabet[b], 1)
		}
	} else if err := m.characters(s, text); err != nil {
		return err
	}
	s.mergeAll(&m.merges)
	at := start
	for i := range s.symbols {
		if x := &s.symbols[i]; x.length > 0 {
			w.tokens = append(w.tokens, token{id: x.id, start: at, end: at + x.length})
			at += x.length
		}
	}
	return nil
}

// characters begins a word with the ids of its characters. A character without an id becomes the
// tokens of its bytes, the unknown token, or nothing.
func (m *bpe) characters(s *bpeScratch, text []byte) error {
	unknown := int32(0) // length of the text of a pending unknown token
	flush := func() {
		if unknown > 0 {
			s.add(m.unknownID, unknown)
			unknown = 0
		}
	}
	for i := 0; i < len(text); {
		size := 1
		if text[i] >= utf8.RuneSelf {
			_, size = utf8.DecodeRune(text[i:])
		}
		spelled := text[i : i+size]
		if m.prefix != "" || m.suffix != "" {
			s.spell = s.spell[:0]
			if i > 0 {
				s.spell = append(s.spell, m.prefix...)
			}
			s.spell = append(s.spell, spelled...)
			if i+size == len(text) {
				s.spell = append(s.spell, m.suffix...)
			}
			spelled = s.spell
		}
		i += size
		var id uint32
		var ok bool
		if len(spelled) == 1 && spelled[0] < utf8.RuneSelf {
			id = m.ascii[spelled[0]]
			ok = id != noID
		} else {
			id, ok = m.ids.find(spelled)
		}
		switch {
		case ok:
			flush()
			s.add(id, int32(size))
		case m.addBytes(s, spelled):
		case m.unknown == "":
		case !m.unknownExists:
			return fmt.Errorf("%w: the unknown token %q is not in the vocabulary", errNoUnknown, m.unknown)
		default:
			if !m.fuseUnknown {
				flush()
			}
			unknown += int32(size)
		}
	}
	flush()
	return nil
}

// addBytes adds the tokens of bytes if each byte has one. As in Hugging Face's library, a pending
// unknown token comes after them.
func (m *bpe) addBytes(s *bpeScratch, text []byte) bool {
	if m.bytes == nil {
		return false
	}
	for _, b := range text {
		if m.bytes[b] == noID {
			return false
		}
	}
	for _, b := range text {
		s.add(m.bytes[b], 1)
	}
	return true
}

// mergesAtMost returns how many merges an array can have: by its commas, whose number a long string
// may only claim, and by its length.
func mergesAtMost(in value) int {
	commas := bytes.Count(in, []byte{','})
	if first := bytes.TrimLeft(in[1:], " \t\r\n"); first[0] == '"' {
		return min(commas+1, len(in)/len(`"a b",`)+1)
	}
	return min(commas/2+1, len(in)/len(`["a","b"],`)+1)
}

// parseMerges reads merges as pairs, or in the form that was written before 2024: as strings with a
// space.
func parseMerges(in value, m *bpe) error {
	if len(in) == 0 || in[0] != '[' {
		return fmt.Errorf("%w: model.merges must be an array", fault.ErrFormat)
	}
	g := newMerging(m.vocabulary, m.prefix, m.parts, mergesAtMost(in))
	rank, legacy := 0, false
	var scratch [2][]byte
	err := in.each(func(_, v value) error {
		if v[0] == '"' && (legacy || rank == 0) {
			legacy = true
			s := v.bytes(&scratch[0])
			if bytes.HasPrefix(s, []byte("#version")) {
				return nil
			}
			a, b, ok := bytes.Cut(s, []byte{' '})
			if !ok || bytes.IndexByte(b, ' ') >= 0 {
				return fmt.Errorf("%w: model.merges[%d] is %q, not two tokens", fault.ErrFormat, rank, s)
			}
			g.add(rank, a, b)
			rank++
			return nil
		}
		a, b, ok := v.pair(&scratch)
		if legacy || !ok {
			return fmt.Errorf("%w: model.merges[%d] is %s, not two tokens", fault.ErrFormat, rank, v)
		}
		g.add(rank, a, b)
		rank++
		return nil
	})
	if earlier := g.done(); earlier != nil {
		return earlier
	}
	m.merges, m.parts = g.table, g.parts
	return err
}

// pair returns the contents of the two strings of an array, in scratch where they have escapes.
func (v value) pair(scratch *[2][]byte) (first, second []byte, ok bool) {
	if v[0] != '[' {
		return nil, nil, false
	}
	c := checker{data: v, at: 1}
	var all [2][]byte
	for i := range all {
		if c.skipSeparators(); c.peek() != '"' {
			return nil, nil, false
		}
		start := c.at
		c.skipString()
		all[i] = v[start:c.at].bytes(&scratch[i])
	}
	c.skipSeparators()
	return all[0], all[1], c.at == len(v)-1
}
