package tokenizer

// Added tokens: strings that are found in the text before the model sees it.

import (
	"fmt"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// AddedToken is a string that is one token wherever it occurs.
type AddedToken struct {
	ID         uint32
	Content    string
	SingleWord bool // found only between characters that are not part of words
	LStrip     bool // takes the white space before it
	RStrip     bool // takes the white space after it
	Normalized bool // looked for in the normalized text, in its normalized form
	Special    bool // left out when decoding without special tokens
}

// addedTokens are the tokens that the file adds to the model's vocabulary.
type addedTokens struct {
	list       []AddedToken
	shown      []string // the decoded string of each element of list
	byContent  map[string]int32
	byID       map[uint32]int32
	special    map[string]bool
	raw        finder // of the tokens that are looked for in the text as it is
	normalized finder
}

func newAddedTokens() addedTokens {
	return addedTokens{byContent: map[string]int32{}, byID: map[uint32]int32{}, special: map[string]bool{}}
}

// add adds tokens in the file's order. As in Hugging Face's library, a token of the model keeps the
// model's id, and every other token gets the next free id; ids in the file do not count.
func (a *addedTokens) add(tokens []AddedToken, m model, normalize func(string) (string, error)) error {
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
		// As in Hugging Face's library, a token that is listed twice keeps the normalized form of
		// its first entry.
		if a.shown[i] == a.list[i].Content {
			a.shown[i] = t.Content
		}
		if t.Normalized {
			s, err := normalize(t.Content)
			if err != nil {
				return fmt.Errorf("%w: added token %q: %w", fault.ErrFormat, t.Content, err)
			}
			if s != t.Content {
				a.shown[i] = s
			}
		}
		a.list[i] = t
		a.byContent[t.Content], a.byID[t.ID] = i, i
	}
	raw, normalized := make([]string, len(a.list)), make([]string, len(a.list))
	known := map[string]bool{}
	for i, t := range a.list {
		if !t.Normalized { // contents are not empty, and differ
			raw[i] = t.Content
			continue
		}
		s := a.shown[i]
		if s == "" || known[s] {
			return fmt.Errorf("%w: added token %q: its normalized form is %q, which is empty or the form of another added token", fault.ErrFormat, t.Content, s)
		}
		known[s], normalized[i] = true, s
	}
	a.raw, a.normalized = newFinder(raw), newFinder(normalized)
	return nil
}

// cutAdded cuts s at the tokens that f finds.
func (w *work) cutAdded(s split, f *finder, a *addedTokens) {
	text := w.text[s.start:s.end]
	done := 0
	var white span // white space that the last token with RStrip took
	w.found = f.appendAll(w.found[:0], text)
	for at, i := 0, len(w.found)-1; i >= 0; i-- {
		start := int(w.found[i].start)
		if start < at || w.isLiteral(s.start+int32(start), a.list[w.found[i].index].Content) {
			continue
		}
		at = start + len(f.strings[w.found[i].index])
		t, end := &a.list[w.found[i].index], at
		if t.SingleWord && (endsWithWord(text[:start]) || startsWithWord(text[end:])) {
			continue
		}
		if t.LStrip { // except white space that the token before has taken
			start = done + trimSpaceRight(text[done:max(done, start)])
		}
		if t.RStrip {
			if int32(end) < white.start || int32(end) > white.end {
				white = span{int32(end), int32(end + trimSpaceLeft(text[end:]))}
			}
			end = int(white.end)
		}
		if done < start {
			w.piece(s, s.start+int32(done), s.start+int32(start))
		}
		if start < end {
			w.nextSplit = append(w.nextSplit, w.cut(s, s.start+int32(start), s.start+int32(end), w.found[i].index))
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

// trimSpaceRight returns the length of text without the white space at its end.
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

// trimSpaceLeft returns the length of the white space at the beginning of text.
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
