// This file reads inputs, and computes the digests of their files.

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
	// columns returns the columns that are passed on.
	columns() []Column
	// next returns the next row, or io.EOF. A bad row has its err set.
	next() (row, error)
}

// source is an open input.
type source struct {
	reader
	file  *os.File
	under io.Closer // closes the decompressor; may be nil
	sum   hash.Hash // of the file's bytes
	tee   io.Reader // the rest of the file; reading it updates sum
}

// digest returns the digest of the whole file. Call it after all rows have been read.
func (s *source) digest() (string, error) {
	if _, err := io.Copy(io.Discard, s.tee); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", s.sum.Sum(nil)), nil
}

// Close closes the file. It may be called again.
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

// mark is the byte order mark that some editors write at the beginning of a text.
var mark = []byte("\ufeff")
