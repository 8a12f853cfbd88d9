// Package doctags turns DocTags, in which document models such as granite-docling write what is on
// a page, into Markdown.
//
// Headings, paragraphs, lists, code and formulas become what Markdown has for them. Tables, whose
// cells OTSL describes (Lysak et al., 2023, "Optimized Table Tokenization for Table Structure
// Recognition"), become tables: the first row is the head, and a merged cell has the text of the
// first of its cells, where that is short. Headers and footers of pages and the places of elements
// on the page are left out, and a picture is a comment with its caption before it.
package doctags

import (
	"io"
	"strings"
)

// Markdown returns the Markdown of a text of DocTags.
func Markdown(text string) string {
	var b strings.Builder
	w := NewWriter(&b)
	io.WriteString(w, text) // a strings.Builder has no errors
	w.Close()
	return b.String()
}

// IsTag reports whether a token of a vocabulary is one of the tags that a Writer knows.
func IsTag(token string) bool {
	name, closes, ok := tag(token)
	if !ok {
		return false
	}
	switch {
	case cells[name] || name == "nl" || alone[name]:
		return !closes
	case isPlace(name), isLanguage(name):
		return !closes
	}
	return element(name) != ""
}

// A Writer writes the Markdown of the DocTags that are written to it, each element as soon as it
// ends. The DocTags may come in any pieces.
type Writer struct {
	to      io.Writer
	err     error
	held    string   // that may be the beginning of a tag
	open    []*frame // elements that have begun; the first one has the text that is in no element
	wrote   bool
	listing bool // the last that was written is a line of a list
}

// NewWriter returns a Writer to a destination. Close ends what has begun.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to, open: []*frame{{kind: kindPart}}} }

// Write takes the next piece. It returns the first error of the destination.
func (w *Writer) Write(p []byte) (int, error) {
	w.take(w.held+string(p), false)
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close writes what has not ended, and the end of the last line. It does not close the destination.
func (w *Writer) Close() error {
	w.take(w.held, true)
	for len(w.open) > 0 {
		w.end()
	}
	if w.wrote {
		w.write("\n")
		w.wrote = false
	}
	w.open = []*frame{{kind: kindPart}}
	return w.err
}

// longestTag is the most bytes of a tag, its brackets included.
const longestTag = 48

// take goes through text, up to what may be the beginning of a tag, unless no more text follows.
func (w *Writer) take(text string, last bool) {
	w.held = ""
	for text != "" {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			w.text(text)
			return
		}
		w.text(text[:at])
		text = text[at:]
		end := strings.IndexAny(text[1:min(len(text), longestTag)], "<>\n") + 1 // of the tag; 0: it is not whole
		if end == 0 && len(text) < longestTag && !last {
			w.held = text
			return
		}
		name, closes, ok := "", false, false
		if end > 0 && text[end] == '>' {
			name, closes, ok = tag(text[:end+1])
		}
		if !ok || !w.tag(name, closes) {
			w.text("<")
			text = text[1:]
			continue
		}
		text = text[end+1:]
	}
}

// tag returns the name of a tag, and whether it ends an element.
func tag(text string) (name string, closes, ok bool) {
	if len(text) < 3 || len(text) > longestTag || text[0] != '<' || text[len(text)-1] != '>' {
		return "", false, false
	}
	name, closes = strings.CutPrefix(text[1:len(text)-1], "/")
	return name, closes, name != ""
}

// write writes to the destination, unless that failed.
func (w *Writer) write(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.to, s)
	}
}

// block writes a block after an empty line.
func (w *Writer) block(s string) {
	if s == "" {
		return
	}
	if w.wrote {
		w.write("\n\n")
	}
	w.wrote, w.listing = true, false
	w.write(s)
}

// line writes a line of a list, which follows the line before.
func (w *Writer) line(s string) {
	if !w.listing {
		w.block(s)
	} else {
		w.write("\n" + s)
	}
	w.listing = true
}
