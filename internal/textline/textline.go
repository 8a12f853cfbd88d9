// Package textline reads and writes files with a text or a JSON object in each line.
package textline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// Max is the most bytes of a line.
const Max = 64 << 20

// ErrLong is the error for a line of more bytes.
var ErrLong = fmt.Errorf("longer than %d MB", Max>>20)

// ErrBinary is the error for an input that is not text.
var ErrBinary = errors.New("the input is not text in UTF-8: it begins with control characters, as binary files do")

// A Reader reads lines and counts them.
type Reader struct {
	N     int   // lines read
	Bytes int64 // bytes read
	r     *bufio.Reader
}

// NewReader reads lines from r.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 1<<16)}
}

// Next returns the next line without its end, or io.EOF. The error for a line of more than Max
// bytes matches ErrLong. The error for an input whose first kilobytes are binary matches ErrBinary.
func (l *Reader) Next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		if l.Bytes == 0 && l.binary(line) {
			return nil, ErrBinary
		}
		l.Bytes += int64(len(part))
		if errors.Is(err, bufio.ErrBufferFull) && len(line) < Max {
			continue
		}
		if len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			l.N++
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("line %d is %w", l.N+1, ErrLong)
		}
		return nil, err
	}
}

// head is the number of bytes at the beginning of an input that decide whether it is binary.
const head = 4 << 10

// binary examines the first line and the bytes that arrived with it, without waiting for more.
func (l *Reader) binary(first []byte) bool {
	if len(first) < head {
		rest, _ := l.r.Peek(l.r.Buffered()) // these bytes are buffered, so there is no error
		first = append(first[:len(first):len(first)], rest...)
	}
	return Binary(first[:min(head, len(first))])
}

// Binary reports whether the beginning of a file is not text. It is not text if one byte in 16 is a
// control character, as in numbers and in UTF-16, or if one byte in 64 is one and the bytes are not
// UTF-8, as in compressed data. A stray control character does not make a text binary.
func Binary(first []byte) bool {
	n := 0
	for _, c := range first {
		if control(c) {
			n++
		}
	}
	for cut := 0; cut < utf8.UTFMax && len(first) == head && len(first) > 0; cut++ { // the last character may be cut
		if r, size := utf8.DecodeLastRune(first); r != utf8.RuneError || size != 1 {
			break
		}
		first = first[:len(first)-1]
	}
	return n > 2 && n*16 > len(first) || n > 2 && n*64 > len(first) && !utf8.Valid(first)
}

// control reports whether c is a control character that texts do not have. White space and the
// escape character of colours are allowed.
func control(c byte) bool { return c < 0x20 && (c < '\t' || c > '\r') && c != 0x1b || c == 0x7f }

// Control reports whether a line has a control character that texts do not have, such as NUL.
func Control(line []byte) bool { return slices.ContainsFunc(line, control) }

// Quote returns s as a JSON string, in which < > and & are not escaped.
func Quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
