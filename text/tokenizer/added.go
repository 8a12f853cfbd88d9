package tokenizer

// Added tokens: strings that are found in the text before anything else.

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// AddedToken is a string that is one token wherever it stands.
type AddedToken struct {
	ID         uint32
	Content    string
	SingleWord bool // found only between characters that are no part of words
	LStrip     bool // takes the white space before it
	RStrip     bool // takes the white space behind it
	Normalized bool // looked for in the normalized text, in its normalized form
	Special    bool // left out when decoding without special tokens
}

// addedTokens is what the file adds to the model's vocabulary.
type addedTokens struct {
	list       []AddedToken
	shown      []string // for each of list: its string when decoding
	byContent  map[string]int32
	byID       map[uint32]int32
	special    map[string]bool
	raw        finder // for those looked for in the text as it is
	normalized finder
}

// add takes tokens in the file's order. As in Hugging Face's library, a token that
// the model has keeps the model's id, and others get the next free one, whatever
// the file says.
func (a *addedTokens) add(tokens []AddedToken, m model, normalize func(string) string) error {
	next := uint32(m.size())
	for id := range a.byID {
		if id >= next {
			next = id + 1
		}
	}
	for _, t := range tokens {
		if t.Content == "" {
			continue
		}
		i, known := a.byContent[t.Content]
		switch id, inModel := m.id(t.Content); {
		case known:
			t.ID = a.list[i].ID
		case inModel:
			t.ID = id
		default:
			t.ID = next
			next++
		}
		if t.Special {
			a.special[t.Content] = true
		}
		if i, known = a.byID[t.ID]; !known {
			i = int32(len(a.list))
			a.list = append(a.list, t)
			a.shown = append(a.shown, t.Content)
		}
		// A token that is given twice keeps the normalized form of the first, as
		// in Hugging Face's library.
		if a.shown[i] == a.list[i].Content {
			a.shown[i] = t.Content
		}
		if t.Normalized {
			if s := normalize(t.Content); s != t.Content {
				a.shown[i] = s
			}
		}
		a.list[i] = t
		a.byContent[t.Content], a.byID[t.ID] = i, i
	}
	a.raw, a.normalized = finder{}, finder{}
	for i, t := range a.list {
		f, s := &a.raw, t.Content
		if t.Normalized {
			f, s = &a.normalized, a.shown[i]
		}
		if err := f.insert(s, int32(i)); err != nil {
			return fmt.Errorf("added token %q: %w", t.Content, err)
		}
	}
	return nil
}

// finder finds strings in a text.
type finder struct {
	first  [256]int32 // for each first byte, 1 + its node
	nodes  []finderNode
	starts []byte // the first bytes
}

type finderNode struct {
	next  map[byte]int32
	value int32
}

func (f *finder) insert(s string, value int32) error {
	if s == "" {
		return fmt.Errorf("%w: it is empty when normalized", ErrFormat)
	}
	if f.first[s[0]] == 0 {
		f.starts = append(f.starts, s[0])
		f.nodes = append(f.nodes, finderNode{value: -1})
		f.first[s[0]] = int32(len(f.nodes))
	}
	at := f.first[s[0]] - 1
	for _, b := range []byte(s[1:]) {
		n, ok := f.nodes[at].next[b]
		if !ok {
			n = int32(len(f.nodes))
			f.nodes = append(f.nodes, finderNode{value: -1})
			if f.nodes[at].next == nil {
				f.nodes[at].next = map[byte]int32{}
			}
			f.nodes[at].next[b] = n
		}
		at = n
	}
	if f.nodes[at].value >= 0 {
		return fmt.Errorf("%w: another one has the same normalized form", ErrFormat)
	}
	f.nodes[at].value = value
	return nil
}

// find gives the leftmost, then longest, of the strings that lies in text at or
// behind at.
func (f *finder) find(text []byte, at int) (start, end int, value int32) {
	for ; at < len(text); at++ {
		if len(f.starts) == 1 {
			n := bytes.IndexByte(text[at:], f.starts[0])
			if n < 0 {
				break
			}
			at += n
		}
		node := f.first[text[at]] - 1
		if node < 0 {
			continue
		}
		value = f.nodes[node].value
		end = at + 1
		for i := at + 1; i < len(text); i++ {
			next, ok := f.nodes[node].next[text[i]]
			if !ok {
				break
			}
			node = next
			if v := f.nodes[node].value; v >= 0 {
				value, end = v, i+1
			}
		}
		if value >= 0 {
			return at, end, value
		}
	}
	return 0, 0, -1
}

// cutAdded cuts the tokens that f finds out of s.
func (w *work) cutAdded(s split, f *finder, a *addedTokens) {
	text := w.text[s.start:s.end]
	done := 0
	for at := 0; at < len(text) && len(f.starts) > 0; {
		start, end, i := f.find(text, at)
		if i < 0 {
			break
		}
		at = end
		t := &a.list[i]
		if t.SingleWord && (endsWithWord(text[:start]) || startsWithWord(text[end:])) {
			continue
		}
		if t.LStrip {
			start = max(trimSpaceRight(text[:start]), done)
		}
		if t.RStrip {
			end += trimSpaceLeft(text[end:])
		}
		if done < start {
			w.piece(s, s.start+int32(done), s.start+int32(start))
		}
		if start < end {
			w.nextSplit = append(w.nextSplit, w.cut(s, s.start+int32(start), s.start+int32(end), i))
		}
		done = end
	}
	w.piece(s, s.start+int32(done), s.end)
}

func endsWithWord(text []byte) bool {
	r, n := utf8.DecodeLastRune(text)
	return n > 0 && ucd.Properties().Of(r)&ucd.RustWord != 0
}

func startsWithWord(text []byte) bool {
	r, n := utf8.DecodeRune(text)
	return n > 0 && ucd.Properties().Of(r)&ucd.RustWord != 0
}

// trimSpaceRight gives the length of text without white space at its end.
func trimSpaceRight(text []byte) int {
	t := ucd.Properties()
	for len(text) > 0 {
		r, n := utf8.DecodeLastRune(text)
		if t.Of(r)&ucd.White == 0 {
			break
		}
		text = text[:len(text)-n]
	}
	return len(text)
}

// trimSpaceLeft gives the length of the white space that text begins with.
func trimSpaceLeft(text []byte) int {
	t := ucd.Properties()
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if t.Of(r)&ucd.White == 0 {
			break
		}
		at += n
	}
	return at
}
