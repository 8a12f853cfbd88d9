// Package split splits documents into parts that a model can read whole, such as those that a
// search finds: by the headings of Markdown, by sentences, and by the tokens of a model. A part
// knows where it is in its document.
//
// This package is settling: see doc/stability.md.
package split

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// A Part is a part of a document: its bytes from Start to End, without white space around them.
type Part struct {
	Text       string
	Start, End int
	Headings   []string // the headings above the part, the outermost first; only of Markdown
}

// part returns the part with some bytes of a document; false if they are only white space.
func part(document string, start, end int) (Part, bool) {
	start += len(document[start:end]) - len(strings.TrimLeftFunc(document[start:end], unicode.IsSpace))
	end = start + len(strings.TrimRightFunc(document[start:end], unicode.IsSpace))
	return Part{Text: document[start:end], Start: start, End: end}, start < end
}

// Markdown returns the sections of a document in Markdown: each from a heading that begins with #,
// which it includes, to the next. What looks like a heading in a fenced block of code is not a
// heading.
func Markdown(document string) []Part {
	var parts []Part
	var headings []string
	var levels []int
	start, at, fence := 0, 0, ""
	end := func(to int) {
		if p, ok := part(document, start, to); ok {
			p.Headings = slices.Clone(headings)
			parts = append(parts, p)
		}
		start = to
	}
	for line := range strings.Lines(document) {
		bare := strings.TrimSpace(line)
		mark := bare[:len(bare)-len(strings.TrimLeft(bare, "`~"))]
		level := len(bare) - len(strings.TrimLeft(bare, "#"))
		switch {
		case fence != "":
			if bare == mark && len(mark) >= len(fence) && mark[0] == fence[0] {
				fence = ""
			}
		case len(mark) >= 3 && strings.Count(mark, mark[:1]) == len(mark):
			fence = mark
		case level >= 1 && level <= 6 && (len(bare) == level || bare[level] == ' ' || bare[level] == '\t') && !strings.HasPrefix(line, "    ") && line[0] != '\t':
			end(at)
			for len(levels) > 0 && levels[len(levels)-1] >= level {
				levels, headings = levels[:len(levels)-1], headings[:len(headings)-1]
			}
			levels, headings = append(levels, level), append(headings, strings.TrimSpace(strings.TrimRight(bare[level:], "#")))
		}
		at += len(line)
	}
	end(len(document))
	return parts
}

// Sentences returns the sentences of a document. One ends before an empty line, and after a full
// stop, a question or an exclamation mark, with closing quotes and brackets after it, where white
// space and no small letter or digit follow; in Chinese and Japanese without white space.
// Abbreviations before a name, as in "Dr. Smith", end one too.
func Sentences(document string) []Part {
	var parts []Part
	start := 0
	for _, to := range sentenceEnds(document) {
		if p, ok := part(document, start, to); ok {
			parts = append(parts, p)
		}
		start = to
	}
	return parts
}

// sentenceEnds returns the places behind sentences, the last of them the end of the document.
func sentenceEnds(document string) []int {
	var ends []int
	stopped, spaces, lines := false, false, 0 // since the last letter
	for i, r := range document {
		switch {
		case strings.ContainsRune("。！？", r):
			ends = append(ends, i+utf8.RuneLen(r))
			stopped, spaces, lines = false, false, 0
		case strings.ContainsRune(".!?…", r):
			stopped, spaces, lines = true, false, 0
		case unicode.IsSpace(r):
			spaces = true
			if r == '\n' {
				lines++
			}
		case !spaces && stopped && strings.ContainsRune("\"'”’»)]", r):
		default:
			if lines > 1 || stopped && spaces && !unicode.IsLower(r) && !unicode.IsDigit(r) {
				ends = append(ends, i)
			}
			stopped, spaces, lines = false, false, 0
		}
	}
	return append(ends, len(document))
}

// Tokens returns parts of at most most tokens, special ones not counted, that are made of as many
// whole sentences as fit; a sentence of more tokens is cut between two of them. The error is an
// ErrOption of most, or that of the tokenizer.
func Tokens(t *tokenizer.Tokenizer, document string, most int) ([]Part, error) {
	if most < 1 {
		return nil, check.Option("most", most, "want at least 1")
	}
	t = t.WithTruncation(nil).WithPadding(nil)
	var parts []Part
	for start, ends := 0, sentenceEnds(document); start < len(document); {
		ends = ends[slices.IndexFunc(ends, func(e int) bool { return e > start }):]
		fits := 0
		for _, to := range ends {
			e, err := beginning(t, document[start:to], most)
			if err != nil {
				return nil, fmt.Errorf("bytes %d to %d: %w", start, to, err)
			}
			if len(e.IDs) <= most {
				fits = to
				continue
			}
			if fits == 0 {
				fits = cut(e, document, start, most)
			}
			break
		}
		if p, ok := part(document, start, fits); ok {
			parts = append(parts, p)
		}
		start = fits
	}
	return parts, nil
}

// beginning encodes a text, or as much of its beginning as has some more tokens than most: a long
// text that has no end of a sentence is not read once again for each of its parts.
func beginning(t *tokenizer.Tokenizer, text string, most int) (*tokenizer.Encoding, error) {
	plain := tokenizer.Options{NoSpecial: true, Offsets: tokenizer.Bytes}
	most = min(most, len(text))
	for size := 16 * (most + 4); size < len(text); size *= 2 {
		end := size
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		if e, err := t.Encode(text[:end], plain); err != nil || len(e.IDs) > 2*most+4 {
			return e, err
		}
	}
	return t.Encode(text, plain)
}

// cut returns the place behind the first most tokens of what begins at start, and behind one
// character at least.
func cut(e *tokenizer.Encoding, document string, start, most int) int {
	for n := most; n > 0; n-- {
		if at := start + e.Offsets[n].Start; at > start && utf8.RuneStart(document[at]) {
			return at
		}
	}
	_, size := utf8.DecodeRuneInString(document[start:])
	return start + size
}
