package tokenizer

// A JSON reader as strict as Rust's serde_json, which reads Hugging Face's files: no lone
// surrogates, no invalid UTF-8, the same rounding of numbers. The file also has a writer for parts
// of tokenizer.json.

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// value is the text of one well-formed JSON value.
type value []byte

const maxDepth = 128

// spans are the lengths of the large groups of a text, by the bytes from their beginnings to the
// end of the text.
type spans map[int]int

// large is from how many bytes on a group is one of spans.
const large = 1 << 14

// parseJSON checks that data is one JSON value.
func parseJSON(data []byte) (value, error) {
	v, _, err := spannedJSON(data)
	return v, err
}

// spannedJSON is parseJSON, and returns where large groups end.
func spannedJSON(data []byte) (value, spans, error) {
	data = data[:len(data):len(data)]
	valid := true
	var side sync.WaitGroup
	if len(data) < large {
		valid = utf8.Valid(data)
	} else {
		side.Go(func() { valid = utf8.Valid(data) }) // as long as the rest takes
	}
	c := checker{data: data, spans: spans{}}
	c.space()
	start := c.at
	err := c.value(0)
	if side.Wait(); !valid {
		return nil, nil, fmt.Errorf("%w: JSON is not valid UTF-8", fault.ErrFormat)
	} else if err != nil {
		return nil, nil, err
	}
	end := c.at
	c.space()
	if c.at != len(data) {
		return nil, nil, c.fail("text after the value")
	}
	return value(data[start:end]), c.spans, nil
}

type checker struct {
	data  []byte
	at    int
	spans spans // of data and what it is part of; nil: not known
}

func (c *checker) fail(what string) error {
	return fmt.Errorf("%w: JSON at byte %d: %s", fault.ErrFormat, c.at, what)
}

func (c *checker) peek() byte {
	if c.at < len(c.data) {
		return c.data[c.at]
	}
	return 0
}

func (c *checker) space() {
	for c.at < len(c.data) {
		switch c.data[c.at] {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return
		}
	}
}

func (c *checker) value(depth int) error {
	if depth > maxDepth {
		return c.fail("nested too deeply")
	}
	switch b := c.peek(); {
	case b == '{' || b == '[':
		start := c.at
		err := c.group(b, depth)
		if c.at-start >= large && err == nil {
			c.spans[cap(c.data)-start] = c.at - start
		}
		return err
	case b == '"':
		return c.string()
	case b == '-' || '0' <= b && b <= '9':
		return c.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(c.data[c.at:], []byte(word)) {
			c.at += len(word)
			return nil
		}
	}
	return c.fail("expected a value")
}

// group checks an object or an array.
func (c *checker) group(open byte, depth int) error {
	end := open + 2 // } and ] follow { and [ at this distance
	c.at++
	c.space()
	if c.peek() == end {
		c.at++
		return nil
	}
	for {
		if open == '{' {
			if c.peek() != '"' {
				return c.fail("expected a key")
			}
			if err := c.string(); err != nil {
				return err
			}
			c.space()
			if c.peek() != ':' {
				return c.fail("expected a colon")
			}
			c.at++
			c.space()
		}
		if err := c.value(depth + 1); err != nil {
			return err
		}
		c.space()
		switch c.peek() {
		case end:
			c.at++
			return nil
		case ',':
			c.at++
			c.space()
		default:
			return c.fail("expected a comma or the end")
		}
	}
}

func (c *checker) string() error {
	c.at++
	for {
		data, at := c.data, c.at
		for at < len(data) && verbatim[data[at]] {
			at++
		}
		if c.at = at; at == len(data) {
			return c.fail("string does not end")
		}
		switch data[at] {
		case '"':
			c.at++
			return nil
		case '\\':
			if err := c.escape(); err != nil {
				return err
			}
		default:
			return c.fail("control character in a string")
		}
	}
}

// verbatim has the bytes that a string has as they are.
var verbatim = func() (is [256]bool) {
	for b := ' '; b < 256; b++ {
		is[b] = b != '"' && b != '\\'
	}
	return is
}()

func (c *checker) escape() error {
	c.at++
	switch c.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.at++
		return nil
	case 'u':
	default:
		return c.fail("unknown escape")
	}
	high, ok := hex4(c.data, c.at+1)
	if !ok {
		return c.fail("\\u needs four hexadecimal digits")
	}
	c.at += 5
	switch {
	case high < 0xD800 || high > 0xDFFF:
		return nil
	case high < 0xDC00 && c.at+1 < len(c.data) && c.data[c.at] == '\\' && c.data[c.at+1] == 'u':
		if low, ok := hex4(c.data, c.at+2); ok && low >= 0xDC00 && low <= 0xDFFF {
			c.at += 6
			return nil
		}
	}
	return c.fail("lone surrogate")
}

func hex4(data []byte, at int) (rune, bool) {
	if at+4 > len(data) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[at:at+4]), 16, 16)
	return rune(n), err == nil
}

func (c *checker) digits() int {
	start := c.at
	for c.at < len(c.data) && '0' <= c.data[c.at] && c.data[c.at] <= '9' {
		c.at++
	}
	return c.at - start
}

func (c *checker) number() error {
	if c.peek() == '-' {
		c.at++
	}
	if c.peek() == '0' {
		c.at++
	} else if c.digits() == 0 {
		return c.fail("expected a digit")
	}
	if c.peek() == '.' {
		c.at++
		if c.digits() == 0 {
			return c.fail("expected a digit")
		}
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		c.at++
		if b := c.peek(); b == '+' || b == '-' {
			c.at++
		}
		if c.digits() == 0 {
			return c.fail("expected a digit")
		}
	}
	return nil
}

// The functions below walk over well-formed values.

func (v value) isNull() bool { return len(v) == 0 || v[0] == 'n' }

// each calls f with the members of an object, or with the elements of an array and a nil key. It
// stops at the first error.
func (v value) each(f func(key, v value) error) error { return v.eachOf(nil, f) }

// eachOf is each for a value of a text whose spans are known: large groups are not read.
func (v value) eachOf(known spans, f func(key, v value) error) error {
	c := checker{data: v, at: 1, spans: known}
	var key value
	for {
		c.skipSeparators()
		if c.at >= len(v)-1 {
			return nil
		}
		if v[0] == '{' {
			start := c.at
			c.skip()
			key = v[start:c.at]
			c.skipSeparators()
		}
		start := c.at
		c.skip()
		if err := f(key, v[start:c.at]); err != nil {
			return err
		}
	}
}

func (c *checker) skipSeparators() {
	for c.at < len(c.data) {
		switch c.data[c.at] {
		case ' ', '\t', '\n', '\r', ',', ':':
			c.at++
		default:
			return
		}
	}
}

// skip moves past one value.
func (c *checker) skip() {
	depth := 0
	for c.at < len(c.data) {
		switch c.data[c.at] {
		case '"':
			c.skipString()
		case '{', '[':
			if c.spans != nil {
				if n := c.spans[cap(c.data)-c.at]; n > 0 {
					c.at += n
					break
				}
			}
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		case ' ', '\t', '\n', '\r', ',', ':':
			c.at++
			continue
		default:
			for c.at < len(c.data) && !endsWord[c.data[c.at]] {
				c.at++
			}
		}
		if depth == 0 {
			return
		}
	}
}

// endsWord has the bytes that may follow numbers, true, false and null.
var endsWord = [256]bool{' ': true, '\t': true, '\n': true, '\r': true, ',': true, ':': true, ']': true, '}': true}

func (c *checker) skipString() {
	data, at := c.data, c.at+1 // most strings are short
	for at < len(data) && data[at] != '"' {
		if data[at] == '\\' {
			at++
		}
		at++
	}
	c.at = min(at+1, len(data))
}

// arena stores many short strings with one allocation per arenaSize bytes.
type arena struct{ strings.Builder }

const arenaSize = 1 << 15

// text is value.text with storage in the arena.
func (a *arena) text(v value) (string, bool) {
	if len(v) < 2 || v[0] != '"' || len(v) > arenaSize/8 || bytes.IndexByte(v, '\\') >= 0 {
		return v.text()
	}
	if a.Cap()-a.Len() < len(v) {
		a.Reset()
		a.Grow(arenaSize)
	}
	start := a.Len()
	a.Write(v[1 : len(v)-1])
	return a.String()[start:], true
}

// text returns the contents of a string.
func (v value) text() (string, bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	var scratch []byte
	return string(v.bytes(&scratch)), true
}

// bytes returns the contents of a string, in scratch if the string has escapes.
func (v value) bytes(scratch *[]byte) []byte {
	in := v[1 : len(v)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return in
	}
	out := (*scratch)[:0]
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' {
			out = append(out, in[i])
			continue
		}
		i++
		if in[i] != 'u' {
			out = append(out, unescaped(in[i]))
			continue
		}
		r, _ := hex4(in, i+1)
		i += 4
		if r >= 0xD800 && r <= 0xDFFF {
			low, _ := hex4(in, i+3)
			r = (r-0xD800)<<10 + (low - 0xDC00) + 0x10000
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	*scratch = out
	return out
}

func unescaped(b byte) byte {
	switch b {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return b
}

func typeOnly(kind string) string { return fmt.Sprintf(`{"type":%q}`, kind) }

func inOrder(name string, list ...string) string {
	return fmt.Sprintf(`{"type":"Sequence",%q:[%s]}`, name, strings.Join(list, ","))
}

func replaced(pattern, content string) string {
	return fmt.Sprintf(`{"type":"Replace","pattern":%s,"content":"%s"}`, pattern, content)
}
