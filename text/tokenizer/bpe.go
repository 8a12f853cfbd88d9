package tokenizer

// Byte-pair encoding (Sennrich et al., 2016).

import (
	"fmt"
	"math/bits"
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
	words         map[string]uint32 // tokens by what they stand for in the text
	ascii         [128]uint32       // ids of characters, noID for none
	unknownID     uint32
	unknownExists bool
}

// mergeTable gives rank and result of each pair of ids that merges.
type mergeTable struct {
	keys   []uint64 // 1 + the pair, 0 if free; a power of two many
	values []mergeValue
	shift  uint
	count  int
}

type mergeValue struct{ rank, id uint32 }

func newMergeTable(n int) mergeTable {
	log := uint(bits.Len(uint(2*n + 16)))
	return mergeTable{keys: make([]uint64, 1<<log), values: make([]mergeValue, 1<<log), shift: 64 - log}
}

func pairOf(a, b uint32) uint64 { return uint64(a)<<32 | uint64(b) + 1 }

func (t *mergeTable) slot(key uint64) int {
	i := int(key * 0x9E3779B97F4A7C15 >> t.shift)
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & (len(t.keys) - 1)
	}
	return i
}

func (t *mergeTable) set(a, b uint32, v mergeValue) {
	i := t.slot(pairOf(a, b))
	t.keys[i], t.values[i] = pairOf(a, b), v
}

func (t *mergeTable) get(a, b uint32) (mergeValue, bool) {
	i := t.slot(pairOf(a, b))
	return t.values[i], t.keys[i] != 0
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
		prefix: c.prefix, suffix: c.suffix, merges: newMergeTable(len(merges)), words: v.ids}
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
	}
	if c.byteFallback {
		m.bytes = byteTokens(v)
	}
	m.unknownID, m.unknownExists = v.ids[c.unknown]
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

// bpeScratch holds a word while it merges.
type bpeScratch struct {
	symbols []symbol
	heap    []merge
	spell   []byte
}

// symbol is a token of the word so far; it ends at start+length of the text.
type symbol struct {
	id         uint32
	prev, next int32
	length     int32 // 0 if it was merged into another
}

// merge is a pair that waits: key holds its rank above the place of its first.
type merge struct {
	key uint64
	id  uint32
}

func (m *bpe) tokenize(w *work, start, end int32) error {
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

func (s *bpeScratch) add(id uint32, length int32) {
	n := int32(len(s.symbols))
	s.symbols = append(s.symbols, symbol{id, n - 1, n + 1, length})
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

// mergeAll merges the pair of the lowest rank, leftmost first, until none is left.
// It takes n log n steps for n symbols.
func (s *bpeScratch) mergeAll(merges *mergeTable) {
	x := s.symbols
	s.heap = s.heap[:0]
	for i := 0; i+1 < len(x); i++ {
		if v, ok := merges.get(x[i].id, x[i+1].id); ok {
			s.push(merge{uint64(v.rank)<<32 | uint64(i), v.id})
		}
	}
	for len(s.heap) > 0 {
		top := s.pop()
		at := int32(uint32(top.key))
		left := &x[at]
		if left.length == 0 || int(left.next) >= len(x) {
			continue
		}
		right := &x[left.next]
		// The pair may have changed since. Hugging Face's library looks at the
		// result alone, so a pair of another rank with the same result passes.
		if v, ok := merges.get(left.id, right.id); !ok || v.id != top.id {
			continue
		}
		left.id = top.id
		left.length += right.length
		right.length = 0
		left.next = right.next
		if int(left.next) < len(x) {
			x[left.next].prev = at
			if v, ok := merges.get(left.id, x[left.next].id); ok {
				s.push(merge{uint64(v.rank)<<32 | uint64(at), v.id})
			}
		}
		if left.prev >= 0 {
			if v, ok := merges.get(x[left.prev].id, left.id); ok {
				s.push(merge{uint64(v.rank)<<32 | uint64(left.prev), v.id})
			}
		}
	}
}

func (s *bpeScratch) push(m merge) {
	h := append(s.heap, m)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].key <= m.key {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = m
	s.heap = h
}

func (s *bpeScratch) pop() merge {
	h := s.heap
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	s.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].key < h[down].key {
			down++
		}
		if last.key <= h[down].key {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = last
	return top
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
