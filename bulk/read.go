// Reading inputs, and the digests of their files.

package bulk

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// reader reads the rows of an input.
type reader interface {
	// columns are those that are passed on.
	columns() []Column
	// next is the next row, or io.EOF. A bad row has its err set.
	next() (row, error)
}

// source is an input that is open.
type source struct {
	reader
	file  *os.File
	under io.Closer // of the decompression; or nil
	sum   hash.Hash // of the file's bytes
	tee   io.Reader // what the rest of them is read from
}

// digest is that of the whole file, once all of its rows are read.
func (s *source) digest() (string, error) {
	if _, err := io.Copy(io.Discard, s.tee); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", s.sum.Sum(nil)), nil
}

// Close ends reading; it may be called again.
func (s *source) Close() error {
	var err error
	if s.under != nil {
		err, s.under = s.under.Close(), nil
	}
	if closed := s.file.Close(); !errors.Is(closed, os.ErrClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

// mark is what Windows' editors put at the beginning of a text.
var mark = []byte("\ufeff")
