// Lines of files.

package bulk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// MaxLine bounds a line, in bytes.
const MaxLine = 64 << 20

// A LineReader reads lines, and tells how far it is.
type LineReader struct {
	N     int   // lines read
	Bytes int64 // read
	r     *bufio.Reader
}

// NewLineReader reads lines from r.
func NewLineReader(r io.Reader) *LineReader {
	return &LineReader{r: bufio.NewReaderSize(r, 1<<16)}
}

// Next is the next line without its end, or io.EOF. A line of over MaxLine bytes is an error.
func (l *LineReader) Next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		l.Bytes += int64(len(part))
		if errors.Is(err, bufio.ErrBufferFull) && len(line) < MaxLine {
			continue
		}
		if len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			l.N++
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("%w: line %d is longer than %d MB", ErrInput, l.N+1, MaxLine>>20)
		}
		return nil, err
	}
}

// IsBinary reports whether a line is from no text: it has a byte 0, or other control characters where it is
// no UTF-8, as vectors in binary have. Text in an older encoding than UTF-8 has none.
func IsBinary(line []byte) bool {
	control := func(c byte) bool { return c < 0x20 && (c < '\t' || c > '\r') && c != 0x1b || c == 0x7f }
	return bytes.IndexByte(line, 0) >= 0 || !utf8.Valid(line) && slices.ContainsFunc(line, control)
}

// mark is what Windows' editors put at the beginning of a text.
var mark = []byte("\ufeff")
