// Reading what has come so far.

package answer

import "strings"

// reader reads from a text of which more may come.
type reader struct {
	in    string
	at    int
	short bool // the text ended before what is read could be told from what is not
}

// peek returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	if r.at < len(r.in) {
		return r.in[r.at]
	}
	r.short = true
	return 0
}

// space passes white space.
func (r *reader) space() {
	for n := 0; n < maxSpace && isSpace(r.peek()); n++ {
		r.at++
	}
}

// literal passes a marker if it is next.
func (r *reader) literal(marker string) bool {
	rest := r.in[r.at:]
	if strings.HasPrefix(rest, marker) {
		r.at += len(marker)
		return true
	}
	if strings.HasPrefix(marker, rest) {
		r.at, r.short = len(r.in), true
	}
	return false
}

// optional passes white space and a marker, if they are next; not "".
func (r *reader) optional(marker string) bool {
	if marker == "" {
		return false
	}
	at := r.at
	r.space()
	if r.literal(marker) {
		return true
	}
	r.at = at
	return false
}

// maxWord is the most bytes of a name.
const maxWord = 256

// word passes what comes before white space or one of the bytes; "" if it is too long.
func (r *reader) word(stop string) string {
	from := r.at
	for {
		c := r.peek()
		if r.short || r.at-from > maxWord {
			return ""
		}
		if isSpace(c) || strings.IndexByte(stop, c) >= 0 {
			return r.in[from:r.at]
		}
		r.at++
	}
}
