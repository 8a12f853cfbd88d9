// Markers and white space in the text so far.

package answer

import "strings"

// spaces are the bytes of white space around markers.
const spaces = " \t\r\n"

func isSpace(c byte) bool { return strings.IndexByte(spaces, c) >= 0 }

// maxSpace is the largest amount of white space around a marker that belongs to the marker.
const maxSpace = 64

// find returns the position of the first of the markers, and the marker; "" if the text has none of
// them.
func find(s string, markers []string) (at int, marker string) {
	for at := range len(s) {
		for _, m := range markers {
			if s[at] == m[0] && strings.HasPrefix(s[at:], m) {
				return at, m
			}
		}
	}
	return len(s), ""
}

// spaceBefore returns where the white space before a marker at a place begins.
func spaceBefore(s string, at int) int {
	n := at
	for n > 0 && at-n < maxSpace && isSpace(s[n-1]) {
		n--
	}
	return n
}

// certain returns how many bytes of s cannot belong to a marker whose end has not yet come; with
// space, nor to the white space before it.
func certain(s string, markers []string, space bool) int {
	n := len(s)
	for _, m := range markers {
		for k := min(len(m)-1, len(s)); k > len(s)-n; k-- {
			if strings.HasSuffix(s, m[:k]) {
				n = len(s) - k
				break
			}
		}
	}
	if space {
		n = spaceBefore(s, n)
	}
	return n
}

// reader reads from the beginning of a text. More text may come later.
type reader struct {
	in    string
	at    int
	short bool // the text ended where more of it could change the result
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

// literal passes a marker, and reports whether it was next.
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

// optional passes white space and a marker, and reports whether they were next. The marker "" never
// is.
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

// word passes and returns the bytes before white space or one of the bytes of stop; "" if there are
// more than maxWord of them.
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

// constant passes and returns the bytes before white space or one of the bytes of stop; ok is false
// for more than maxWord of them.
func (r *reader) constant(stop string) (word string, ok bool) {
	from := r.at
	for c := r.peek(); !r.short && strings.IndexByte(stop, c) < 0 && !isSpace(c); c = r.peek() {
		if r.at++; r.at-from > maxWord {
			return "", false
		}
	}
	return r.in[from:r.at], true
}

// blank passes white space, and what is white space in the syntax of Python.
func (r *reader) blank(python bool) {
	r.space()
	for python {
		switch rest := r.in[r.at:]; {
		case strings.HasPrefix(rest, "\\\n"): // the line continues
			r.at += 2
		case rest == "\\": // the end of the line has not come
			r.at, r.short = len(r.in), true
			return
		case strings.HasPrefix(rest, "#"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				r.at, r.short = len(r.in), true
				return
			}
			r.at += end
		default:
			return
		}
		r.space()
	}
}
