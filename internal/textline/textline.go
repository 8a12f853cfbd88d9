// Package textline has what files of a text or of a JSON object a line are read and written by.
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

// Max bounds a line, in bytes.
const Max = 64 << 20

// ErrLong is a line of more.
var ErrLong = fmt.Errorf("longer than %d MB", Max>>20)

// A Reader reads lines, and tells how far it is.
type Reader struct {
	N     int   // lines read
	Bytes int64 // read
	r     *bufio.Reader
}

// NewReader reads lines from r.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 1<<16)}
}

// Next is the next line without its end, or io.EOF. The error of a line of over Max bytes matches ErrLong.
func (l *Reader) Next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
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

// Binary reports whether a line is from no text: it has a byte 0, or other control characters where it is
// no UTF-8, as vectors in binary have. Text in an older encoding than UTF-8 has none.
func Binary(line []byte) bool {
	control := func(c byte) bool { return c < 0x20 && (c < '\t' || c > '\r') && c != 0x1b || c == 0x7f }
	return bytes.IndexByte(line, 0) >= 0 || !utf8.Valid(line) && slices.ContainsFunc(line, control)
}

// Quote is s as a JSON string. < > and & stay as they are.
func Quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
