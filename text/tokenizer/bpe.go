package tokenizer

// Byte-pair encoding (Sennrich et al., 2016).

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

type bpe struct {
	*vocabulary
	merges        mergeTable
	unknown       string
	fuseUnknown   bool
	ignoreMerges  bool
	prefix        string // of characters that do not begin a word
	suffix        string // of the last character of a word
	bytes         *[256]uint32
	byteLevel     bool              // the text's bytes are the alphabet
	alphabet      [256]uint32       // ids of the bytes
	words         map[string]uint32 // tokens by what they stand for in the text, for ignoreMerges
	ascii         [128]uint32       // ids of characters, noID for none
	unknownID     uint32
	unknownExists bool
	cache         *wordCache
	parts         bool // no token reaches from a letter over a ▁: each word merges alone
}

type bpeConfig struct {
	unknown        string
	prefix, suffix string
	fuseUnknown    bool
	byteFallback   bool
	ignoreMerges   bool
}

// newBPE takes merges by rank.
func newBPE(v *vocabulary, merges [][2]string, c bpeConfig) (*bpe, error) {
	m := &bpe{vocabulary: v, unknown: c.unknown, fuseUnknown: c.fuseUnknown, ignoreMerges: c.ignoreMerges,
		prefix: c.prefix, suffix: c.suffix, merges: newMergeTable(len(merges)), words: v.ids, cache: newWordCache()}
	_, known := v.ids[string(space)]
	m.parts = known && !c.ignoreMerges && c.prefix == "" && c.suffix == ""
	var joined []byte
	for rank, pair := range merges {
		a, okA := v.ids[pair[0]]
		b, okB := v.ids[pair[1]]
		if !okA || !okB || len(pair[1]) < len(c.prefix) {
			return nil, fmt.Errorf("%w: merge %d, of %q and %q, is not in the vocabulary", ErrFormat, rank, pair[0], pair[1])
		}
		joined = append(append(joined[:0], pair[0]...), pair[1][len(c.prefix):]...)
		id, ok := v.ids[string(joined)]
		if !ok {
			return nil, fmt.Errorf("%w: merge %d gives %q, which is not in the vocabulary", ErrFormat, rank, joined)
		}
		m.merges.set(a, b, mergeValue{uint32(rank), id})
		m.parts = m.parts && nextPart(joined, 0) == len(joined)
	}
	if c.byteFallback {
		m.bytes = byteTokens(v)
	}
	m.unknownID, m.unknownExists = v.ids[c.unknown]
	m.parts = m.parts && m.unknownExists // else characters may go, and offsets shift
	for b := range m.ascii {
		id, ok := v.ids[string(rune(b))]
		if !ok {
			id = noID
		}
		m.ascii[b] = id
	}
	return m, nil
}

// useBytes makes the model take raw bytes, where it would be given characters of
// the byte alphabet. It tells whether it can: the vocabulary needs all of them.
func (m *bpe) useBytes() bool {
	if m.prefix != "" || m.suffix != "" {
		return false
	}
	for b, r := range byteAlphabet {
		id, ok := m.ids[string(r)]
		if !ok {
			return false
		}
		m.alphabet[b] = id
	}
	m.byteLevel = true
	if !m.ignoreMerges {
		return true
	}
	m.words = make(map[string]uint32, len(m.ids))
	var raw []byte
next:
	for t, id := range m.ids {
		raw = raw[:0]
		for _, r := range t {
			b := alphabetByte(r)
			if b < 0 {
				continue next
			}
			raw = append(raw, byte(b))
		}
		m.words[string(raw)] = id
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

// nextPart gives the first place behind at where a ▁ follows another character, or
// the end.
func nextPart(text []byte, at int) int {
	const underline = string(space)
	behind := false // another character
	for i := at; i < len(text); {
		if text[i] != underline[0] || len(text)-i < len(underline) || string(text[i:i+len(underline)]) != underline {
			behind = true
			i++
			continue
		}
		if behind {
			return i
		}
		i += len(underline)
	}
	return len(text)
}

// word tokenizes a word that merges alone.
func (m *bpe) word(w *work, start, end int32) error {
	text := w.text[start:end]
	if m.ignoreMerges {
		if id, ok := m.words[string(text)]; ok {
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

// characters begins a word with the ids of its characters. One that has none
// becomes the tokens of its bytes, or the unknown token, or nothing.
func (m *bpe) characters(s *bpeScratch, text []byte) error {
	unknown := int32(0) // the length of the unknown token that is due
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
			id, ok = m.ids[string(spelled)]
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

// addBytes adds the tokens of bytes, if all have one. As in Hugging Face's
// library an unknown token that is due comes behind them.
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

// parseMerges reads merges as pairs, or as strings with a space, as they were
// written before 2024.
func parseMerges(in value) ([][2]string, error) {
	var merges [][2]string
	if len(in) == 0 || in[0] != '[' {
		return nil, fmt.Errorf("%w: model.merges must be an array", ErrFormat)
	}
	legacy := false
	err := in.each(func(_, v value) error {
		n := len(merges)
		if v[0] == '"' && (legacy || n == 0) {
			legacy = true
			s, _ := v.text()
			if strings.HasPrefix(s, "#version") {
				return nil
			}
			a, b, ok := strings.Cut(s, " ")
			if !ok || strings.Contains(b, " ") {
				return fmt.Errorf("%w: model.merges[%d] is %q, not two tokens", ErrFormat, n, s)
			}
			merges = append(merges, [2]string{a, b})
			return nil
		}
		var pair [2]string
		i := 0
		bad := legacy || v[0] != '['
		if !bad {
			v.each(func(_, v value) error {
				s, ok := v.text()
				if i < 2 {
					pair[i] = s
				}
				bad = bad || !ok
				i++
				return nil
			})
		}
		if bad || i != 2 {
			return fmt.Errorf("%w: model.merges[%d] is %s, not two tokens", ErrFormat, n, v)
		}
		merges = append(merges, pair)
		return nil
	})
	return merges, err
}
