// This file checks that JSON is well-formed, in one pass over the text before anything is decoded.

package pyjson

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ErrSyntax is the error for text that Python's json does not read as one value, that is nested too
// deeply, or that has half of a surrogate pair.
var ErrSyntax = errors.New("malformed JSON")

// maxDepth is the largest number of arrays and objects inside each other. Python's limit is
// similar.
const maxDepth = 1000

// constants are the names of values. The last three are extensions of Python.
var constants = [...]string{"null", "true", "false", "NaN", "Infinity", "-Infinity"}

// reader reads text from the index at on.
type reader struct {
	text []byte
	at   int
}

// valid returns an error unless text is one value.
func valid(text []byte) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("%w: not UTF-8", ErrSyntax)
	}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		return fmt.Errorf("%w: a byte order mark", ErrSyntax)
	}
	r := reader{text: text}
	if err := r.value(0); err != nil {
		return err
	}
	if r.space(); r.at < len(text) {
		return r.fail("text after the value")
	}
	return nil
}

func (r *reader) fail(what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrSyntax, what, r.at)
}

// next returns the byte to be read, 0 at the end.
func (r *reader) next() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// space skips white space.
func (r *reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// value skips white space and a value.
func (r *reader) value(depth int) error {
	r.space()
	switch b := r.next(); {
	case depth > maxDepth:
		return r.fail("nested too deeply")
	case b == '{':
		return r.list('}', func() error {
			if r.space(); r.next() != '"' {
				return r.fail("no key")
			}
			if err := r.str(); err != nil {
				return err
			}
			if r.space(); r.next() != ':' {
				return r.fail("no colon")
			}
			r.at++
			return r.value(depth + 1)
		})
	case b == '[':
		return r.list(']', func() error { return r.value(depth + 1) })
	case b == '"':
		return r.str()
	}
	for _, c := range constants {
		if bytes.HasPrefix(r.text[r.at:], []byte(c)) {
			r.at += len(c)
			return nil
		}
	}
	return r.number()
}

// list skips an array or an object, whose elements or members item skips.
func (r *reader) list(end byte, item func() error) error {
	r.at++
	if r.space(); r.next() == end {
		r.at++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		r.space()
		b := r.next()
		if b != end && b != ',' {
			return r.fail("neither a comma nor the end of a list")
		}
		if r.at++; b == end {
			return nil
		}
	}
}

// str skips a string.
func (r *reader) str() error {
	for r.at++; r.at < len(r.text); r.at++ {
		switch b := r.text[r.at]; {
		case b == '"':
			r.at++
			return nil
		case b < ' ':
			return r.fail("a control character in a string")
		case b == '\\':
			if err := r.escape(); err != nil {
				return err
			}
		}
	}
	return r.fail("a string without end")
}

// escape skips an escape up to its last byte.
func (r *reader) escape() error {
	r.at++
	if b := r.next(); b == 0 || bytes.IndexByte([]byte(`"\/bfnrtu`), b) < 0 {
		return r.fail("an unknown escape")
	} else if b != 'u' {
		return nil
	}
	high, err := r.hex()
	if err != nil {
		return err
	}
	if high >= 0xD800 && high < 0xE000 {
		if high >= 0xDC00 || !bytes.HasPrefix(r.text[r.at+1:], []byte(`\u`)) {
			return r.fail("half of a surrogate pair")
		}
		r.at += 2
		if low, err := r.hex(); err != nil || low < 0xDC00 || low >= 0xE000 {
			return r.fail("half of a surrogate pair")
		}
	}
	return nil
}

// hex reads the four digits after the current byte and stays at the last.
func (r *reader) hex() (uint64, error) {
	if r.at+5 > len(r.text) {
		return 0, r.fail("a string without end")
	}
	n, err := strconv.ParseUint(string(r.text[r.at+1:r.at+5]), 16, 16)
	if err != nil {
		return 0, r.fail("no hexadecimal digits")
	}
	r.at += 4
	return n, nil
}

// number skips a number.
func (r *reader) number() error {
	if r.next() == '-' {
		r.at++
	}
	if r.next() == '0' {
		r.at++
	} else if r.digits() == 0 {
		return r.fail("no value")
	}
	if r.next() == '.' {
		r.at++
		if r.digits() == 0 {
			return r.fail("no digit")
		}
	}
	if b := r.next(); b == 'e' || b == 'E' {
		r.at++
		if b := r.next(); b == '+' || b == '-' {
			r.at++
		}
		if r.digits() == 0 {
			return r.fail("no digit")
		}
	}
	return nil
}

// digits skips digits and counts them.
func (r *reader) digits() int {
	start := r.at
	for b := r.next(); b >= '0' && b <= '9'; b = r.next() {
		r.at++
	}
	return r.at - start
}
