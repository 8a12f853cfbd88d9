package tokenizer

// Normalizers change the text before pre-tokenizers cut it.

import (
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// normalizer changes the text of the splits of w that are not added tokens.
type normalizer interface{ normalize(w *work) }

type normalizers []normalizer

func (list normalizers) normalize(w *work) {
	for _, n := range list {
		n.normalize(w)
	}
}

// normalizeString returns the form of s that n makes.
func normalizeString(n normalizer, s string) (string, error) {
	if n == nil {
		return s, nil
	}
	w := workPool.Get().(*work)
	defer w.release()
	w.reset(s, true)
	n.normalize(w)
	switch {
	case w.tooLong:
		return "", w.lengthError()
	case len(w.splits) == 0:
		return "", nil
	}
	return string(w.text[w.splits[0].start:w.splits[0].end]), nil
}

// mapRunes rewrites each split character by character. f appends the replacement of r to dst. A
// text of only ASCII characters for which ascii is set stays as it is.
func (w *work) mapRunes(ascii *[utf8.RuneSelf]bool, f func(dst []rune, r rune) []rune) {
	var buf [4]rune
	w.rewrite(func(s split) bool {
		i := s.start
		for i < s.end && w.text[i] < utf8.RuneSelf && ascii[w.text[i]] {
			i++
		}
		for i < s.end { // the first character that changes
			r, n := utf8.DecodeRune(w.text[i:s.end])
			if out := f(buf[:0], r); len(out) != 1 || out[0] != r {
				break
			}
			i += int32(n)
		}
		if i == s.end {
			return false
		}
		kept := s.start
		for i < s.end {
			if b := w.text[i]; b < utf8.RuneSelf && ascii[b] {
				i++
				continue
			}
			r, n := utf8.DecodeRune(w.text[i:s.end])
			out := f(buf[:0], r)
			if len(out) != 1 || out[0] != r {
				w.keep(kept, i)
				kept = i + int32(n)
				a := span{}
				if w.wantAlign && len(out) > 0 {
					a = w.alignOf(i)
				}
				for _, c := range out {
					w.emit(c, a)
				}
			}
			i += int32(n)
		}
		w.keep(kept, s.end)
		return true
	})
}

// lowerCase is lower case as in Rust.
type lowerCase struct{ table map[rune][]rune }

func newLowerCase() lowerCase { return lowerCase{ucd.Lower()} }

var notUpper = asciiSet(func(b byte) bool { return b < 'A' || b > 'Z' })

func asciiSet(f func(b byte) bool) *[utf8.RuneSelf]bool {
	var set [utf8.RuneSelf]bool
	for b := range set {
		set[b] = f(byte(b))
	}
	return &set
}

func (n lowerCase) append(dst []rune, r rune) []rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(dst, r)
	}
	if to, ok := n.table[r]; ok {
		return append(dst, to...)
	}
	return append(dst, r)
}

func (n lowerCase) normalize(w *work) { w.mapRunes(notUpper, n.append) }

// dropped removes the characters that have one of the properties.
type dropped struct {
	props ucd.Props
	table ucd.Table
}

var allASCII = asciiSet(func(byte) bool { return true })

func (n dropped) normalize(w *work) {
	w.mapRunes(allASCII, n.append)
}

func (n dropped) append(dst []rune, r rune) []rune {
	if n.table.Of(r)&n.props != 0 {
		return dst
	}
	return append(dst, r)
}

// bertNormalizer is BERT's normalizer, each step of which is optional.
type bertNormalizer struct {
	clean, chinese, strip, lower bool
	table                        ucd.Table
	lowerCase                    lowerCase
}

func (n *bertNormalizer) normalize(w *work) {
	if n.clean || n.chinese {
		w.mapRunes(bertPlain, n.first)
	}
	if n.strip {
		form{ucd.FormD}.normalize(w)
		dropped{ucd.Nonspacing, n.table}.normalize(w)
	}
	if n.lower {
		n.lowerCase.normalize(w)
	}
}

var bertPlain = asciiSet(func(b byte) bool { return b >= ' ' && b != 0x7F })

// first removes control characters, and puts spaces around Chinese characters.
func (n *bertNormalizer) first(dst []rune, r rune) []rune {
	if n.clean {
		switch p := n.table.Of(r); {
		case p&ucd.Control != 0 && r != '\t' && r != '\n' && r != '\r':
			return dst
		case p&ucd.White != 0:
			r = ' '
		}
	}
	if n.chinese && isChinese(r) {
		return append(dst, ' ', r, ' ')
	}
	return append(dst, r)
}

func isChinese(r rune) bool {
	return r >= 0x3400 && (r <= 0x4DBF || r >= 0x4E00 && r <= 0x9FFF || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F ||
		r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F)
}

// nmt is SentencePiece's cleaning for machine translation.
type nmt struct{}

func (nmt) normalize(w *work) {
	w.mapRunes(bertPlain, nmt{}.append)
}

func (nmt) append(dst []rune, r rune) []rune {
	switch {
	case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return dst
	case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200B && r <= 0x200F,
		r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		r = ' '
	}
	return append(dst, r)
}

// form is a Unicode normal form.
type form struct{ ucd.Form }

func (n form) normalize(w *work) {
	t := ucd.Properties()
	w.rewrite(func(s split) bool {
		text := w.text[s.start:s.end]
		// A segment is a character without the flag, and the characters with the flag after it.
		kept, segment, flagged, changed := 0, 0, false, false
		flush := func(end int) {
			if flagged {
				changed = true
				w.keep(s.start+int32(kept), s.start+int32(segment))
				n.segment(w, s, s.start+int32(segment), s.start+int32(end))
				kept = end
			}
			segment, flagged = end, false
		}
		for i := 0; i < len(text); {
			if text[i] < utf8.RuneSelf {
				if flagged {
					flush(i)
				}
				segment = i
				i++
				continue
			}
			r, size := utf8.DecodeRune(text[i:])
			if t.Of(r)&n.Flag != 0 {
				flagged = true
			} else {
				if flagged {
					flush(i)
				}
				segment = i
			}
			i += size
		}
		if flagged {
			flush(len(text))
		}
		if changed {
			w.keep(s.start+int32(kept), s.end)
		}
		return changed
	})
}

func (n form) segment(w *work, s split, start, end int32) {
	w.runes = w.runes[:0]
	for i := start; i < end; {
		r, size := utf8.DecodeRune(w.text[i:end])
		w.runes = append(w.runes, r)
		i += int32(size)
	}
	w.changes = n.Append(w.changes[:0], w.runes)
	w.transform(s, start, end, w.changes, 0)
}

// strip removes white space at both ends of the text, or at one.
type strip struct{ left, right bool }

func (n strip) normalize(w *work) {
	w.rewrite(func(s split) bool {
		text := w.text[s.start:s.end]
		start, end := 0, len(text)
		if n.left {
			start = trimSpaceLeft(text)
		}
		if n.right {
			end = max(start, trimSpaceRight(text))
		}
		if start == 0 && end == len(text) {
			return false
		}
		w.keep(s.start+int32(start), s.start+int32(end))
		return true
	})
}

// prepend puts a string before each split.
type prepend string

func (n prepend) normalize(w *work) {
	w.rewrite(func(s split) bool {
		if s.start == s.end || n == "" {
			return false
		}
		w.prepend(s, string(n))
		w.keep(s.start, s.end)
		return true
	})
}

// prepend emits text, with the place of the first character of s.
func (w *work) prepend(s split, text string) {
	var a span
	if w.wantAlign {
		a = w.alignOf(s.start)
	}
	for _, r := range text {
		w.emit(r, a)
	}
}

// replace replaces what pattern finds with content.
type replace struct {
	pattern pattern
	content string
}

func (n *replace) normalize(w *work) {
	w.rewrite(func(s split) bool {
		text := w.text[s.start:s.end]
		kept := int32(0)
		w.places = n.pattern.appendAll(w.places[:0], text)
		for _, x := range w.places {
			w.keep(s.start+kept, s.start+x.Start)
			var a span
			if w.wantAlign {
				a = w.alignOf(s.start + x.End - 1)
			}
			for _, r := range n.content {
				w.emit(r, a)
			}
			kept = x.End
		}
		if kept > 0 {
			w.keep(s.start+kept, s.end)
		}
		return kept > 0
	})
}

// byteChars spells each byte by the character of GPT-2's alphabet.
type byteChars struct{}

func (byteChars) normalize(w *work) {
	w.rewrite(func(s split) bool {
		if s.start == s.end {
			return false
		}
		for i := s.start; i < s.end; i++ {
			var a span
			if w.wantAlign {
				a = w.alignOf(i)
			}
			w.emit(byteAlphabet[w.text[i]], a)
		}
		return true
	})
}

// byteAlphabet is GPT-2's byte alphabet: printable characters stay as they are, and all other bytes
// become characters that begin at 256.
var byteAlphabet = func() (alphabet [256]rune) {
	next := rune(256)
	for b := range alphabet {
		if b >= '!' && b <= '~' || b >= 0xA1 && b != 0xAD {
			alphabet[b] = rune(b)
		} else {
			alphabet[b] = next
			next++
		}
	}
	return alphabet
}()

// alphabetByte returns the inverse of byteAlphabet. It returns -1 for characters outside the
// alphabet.
func alphabetByte(r rune) int {
	if r < 0 || r >= 256+68 {
		return -1
	}
	return int(alphabetBytes[r])
}

var alphabetBytes = func() (bytes [256 + 68]int16) {
	for r := range bytes {
		bytes[r] = -1
	}
	for b, r := range byteAlphabet {
		bytes[r] = int16(b)
	}
	return bytes
}()
