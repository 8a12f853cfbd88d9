package tokenizer

// Pre-tokenizers cut the normalized text before the model sees it.

import (
	"unicode/utf8"

	"github.com/avoformer/avoformer/text/tokenizer/internal/ucd"
)

// preTokenizer cuts the splits of w, except added tokens.
type preTokenizer interface{ cut(w *work) }

type preTokenizers []preTokenizer

func (list preTokenizers) cut(w *work) {
	for _, p := range list {
		p.cut(w)
	}
}

// bertPreTokenizer drops white space and isolates punctuation.
type bertPreTokenizer struct{}

func (bertPreTokenizer) cut(w *work) {
	w.splitEach(func(s split) {
		text := w.text[:s.end]
		start := s.start
		for i := s.start; i < s.end; {
			p, n := at(text, int(i))
			if p&(ucd.White|ucd.Punct) != 0 {
				w.piece(s, start, i)
				start = i + int32(n)
				if p&ucd.White == 0 {
					w.piece(s, i, start)
				}
			}
			i += int32(n)
		}
		w.piece(s, start, s.end)
	})
}

// whitespace finds words, and runs of characters that are neither in words nor white space.
type whitespace struct{}

func (whitespace) cut(w *work) {
	w.splitEach(func(s split) {
		text := w.text[:s.end]
		for i := int(s.start); i < len(text); {
			p, n := at(text, i)
			end := i + n
			switch {
			case p&ucd.RustWord != 0:
				end = run(text, end, ucd.RustWord)
			case p&ucd.White == 0:
				end = runOthers(text, end, ucd.RustWord|ucd.White)
			default:
				i = end
				continue
			}
			w.piece(s, int32(i), int32(end))
			i = end
		}
	})
}

// whitespaceSplit drops white space.
type whitespaceSplit struct{}

func (whitespaceSplit) cut(w *work) {
	w.splitEach(func(s split) {
		text := w.text[:s.end]
		for i := int(s.start); i < len(text); {
			end := runOthers(text, i, ucd.White)
			w.piece(s, int32(i), int32(end))
			i = run(text, end, ucd.White)
		}
	})
}

// behavior says what happens to the delimiters at which a text is cut.
type behavior int

const (
	removed behavior = iota
	isolated
	mergedWithPrevious
	mergedWithNext
	contiguous
)

var behaviors = map[string]behavior{
	"Removed": removed, "Isolated": isolated, "MergedWithPrevious": mergedWithPrevious,
	"MergedWithNext": mergedWithNext, "Contiguous": contiguous,
}

// cutMatches cuts s into w.matches with the given behavior.
func (w *work) cutMatches(s split, b behavior) {
	m := w.matches
	switch b {
	case removed:
		for _, x := range m {
			if !x.delimiter {
				w.piece(s, x.start, x.end)
			}
		}
		return
	case contiguous:
		m = mergeMatches(m, func(was, is bool) bool { return was == is })
	case mergedWithPrevious:
		m = mergeMatches(m, func(was, is bool) bool { return is && !was })
	case mergedWithNext:
		out := len(m)
		was := false
		for i := len(m) - 1; i >= 0; i-- {
			if m[i].delimiter && !was && out < len(m) {
				was = true
				m[out].start = m[i].start
				continue
			}
			was = m[i].delimiter
			out--
			m[out] = m[i]
		}
		m = m[out:]
	}
	for _, x := range m {
		w.piece(s, x.start, x.end)
	}
}

// mergeMatches joins each match to the one before it if join returns true.
func mergeMatches(m []match, join func(was, is bool) bool) []match {
	out := m[:0]
	was := false
	for _, x := range m {
		if join(was, x.delimiter) && len(out) > 0 {
			out[len(out)-1].end = x.end
		} else {
			out = append(out, x)
		}
		was = x.delimiter
	}
	return out
}

// splitAt cuts a text at the matches of a pattern. If inverted, the parts between matches are the
// delimiters.
type splitAt struct {
	pattern  pattern
	behavior behavior
	invert   bool
}

func (p *splitAt) cut(w *work) {
	if scan, ok := p.pattern.(scanner); ok && p.behavior == isolated {
		w.splitEach(func(s split) { w.cutScanned(s, scan) })
		return
	}
	w.splitEach(func(s split) {
		text := w.text[s.start:s.end]
		w.matches = w.matches[:0]
		done := int32(0)
		w.places = p.pattern.appendAll(w.places[:0], text)
		for _, x := range w.places {
			w.match(s, done, x.Start, p.invert)
			w.match(s, x.Start, x.End, !p.invert)
			done = x.End
		}
		w.match(s, done, int32(len(text)), p.invert)
		w.cutMatches(s, p.behavior)
	})
}

func (w *work) match(s split, start, end int32, delimiter bool) {
	if start < end {
		w.matches = append(w.matches, match{s.start + start, s.start + end, delimiter})
	}
}

// cutScanned isolates the matches of scan.
func (w *work) cutScanned(s split, scan scanner) {
	text := w.text[:s.end]
	gap := int(s.start) // the end of the last match
	for i := gap; i < len(text); {
		n := scan.scan(text[i:])
		if n == 0 {
			_, n = utf8.DecodeRune(text[i:])
			i += n
			continue
		}
		w.piece(s, int32(gap), int32(i))
		w.piece(s, int32(i), int32(i+n))
		i += n
		gap = i
	}
	w.piece(s, int32(gap), int32(len(text)))
}

// splitChars cuts at the characters that have one of the properties.
type splitChars struct {
	props    ucd.Props
	behavior behavior
}

func (p splitChars) cut(w *work) {
	w.cutRunes(p.behavior, func(_ rune, props ucd.Props) bool { return props&p.props != 0 })
}

// splitRune drops a character.
type splitRune rune

func (p splitRune) cut(w *work) {
	w.cutRunes(removed, func(r rune, _ ucd.Props) bool { return r == rune(p) })
}

// cutRunes cuts at each character for which delimiter returns true.
func (w *work) cutRunes(b behavior, delimiter func(r rune, p ucd.Props) bool) {
	w.splitEach(func(s split) {
		w.matches = w.matches[:0]
		text := w.text[s.start:s.end]
		done := int32(0)
		for i := int32(0); int(i) < len(text); {
			r, size := utf8.DecodeRune(text[i:])
			n := int32(size)
			if delimiter(r, properties.Of(r)) {
				w.match(s, done, i, false)
				w.match(s, i, i+n, true)
				done = i + n
			}
			i += n
		}
		w.match(s, done, int32(len(text)), false)
		w.cutMatches(s, b)
	})
}

// fixedLength cuts a text into pieces of so many characters.
type fixedLength int

func (p fixedLength) cut(w *work) {
	w.splitEach(func(s split) {
		start, count := s.start, 0
		for i := s.start; i < s.end; {
			_, n := utf8.DecodeRune(w.text[i:s.end])
			i += int32(n)
			if count++; count == int(p) {
				w.piece(s, start, i)
				start, count = i, 0
			}
		}
		w.piece(s, start, s.end)
	})
}

// scheme says where Metaspace prepends its character.
type scheme int

const (
	always scheme = iota
	first
	never
)

// metaspace replaces spaces with another character, and cuts before it.
type metaspace struct {
	replacement rune
	scheme      scheme
	split       bool
}

func (p metaspace) cut(w *work) {
	w.rewrite(func(s split) bool {
		r, _ := utf8.DecodeRune(w.text[s.start:s.end])
		starts := r == p.replacement || r == ' '
		changed := false
		if !starts && (p.scheme == always || p.scheme == first && s.shift == 0) {
			w.prepend(s, string(p.replacement))
			changed = true
		}
		kept := s.start
		for i := s.start; i < s.end; i++ {
			if w.text[i] == ' ' {
				w.keep(kept, i)
				var a span
				if w.wantAlign {
					a = w.alignOf(i)
				}
				w.emit(p.replacement, a)
				kept, changed = i+1, true
			}
		}
		if changed {
			w.keep(kept, s.end)
		}
		return changed
	})
	if !p.split {
		return
	}
	spelled := utf8.AppendRune(nil, p.replacement)
	w.splitEach(func(s split) {
		start := s.start
		w.places = literal(spelled).appendAll(w.places[:0], w.text[s.start:s.end])
		for _, x := range w.places {
			w.piece(s, start, s.start+x.Start)
			start = s.start + x.Start
		}
		w.piece(s, start, s.end)
	})
}

// byteLevel is GPT-2's pre-tokenizer: it puts an optional space in front, cuts at its pattern, and
// spells each byte as a character of its alphabet. spell is not set if the model works on bytes.
type byteLevel struct {
	prefixSpace, pattern, spell bool
}

func (p byteLevel) cut(w *work) {
	if p.prefixSpace {
		w.rewrite(func(s split) bool {
			if s.start == s.end || w.text[s.start] == ' ' {
				return false
			}
			w.prepend(s, " ")
			w.keep(s.start, s.end)
			return true
		})
	}
	if p.pattern {
		w.splitEach(func(s split) { w.cutScanned(s, gpt2Scanner) })
	}
	if p.spell {
		byteChars{}.normalize(w)
	}
}
