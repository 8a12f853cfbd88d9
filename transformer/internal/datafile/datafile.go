// Package datafile has what the packages of file formats share. A file is not trusted: nothing is
// allocated because it claims to be so long.
package datafile

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/avoformer/avoformer/internal/regular"
)

// Open opens the file at path and has parse read its header.
func Open[F any](path string, parse func(r io.ReaderAt, size int64) (F, error)) (F, *os.File, error) {
	var none F
	file, err := regular.Open(path)
	if err != nil {
		return none, nil, err
	}
	stat, err := file.Stat()
	if err != nil {
		file.Close()
		return none, nil, err
	}
	f, err := parse(file, stat.Size())
	if err != nil {
		file.Close()
		return none, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, file, nil
}

// A Reader reads the data of tensors.
type Reader struct {
	io.ReaderAt
	Format    string // that errors begin with
	Malformed error  // that those match which say that the data ends early
}

// Between returns the bytes from begin to end, which are of the named tensor.
func (r Reader) Between(begin, end int64, name string) ([]byte, error) {
	if end-begin > math.MaxInt {
		return nil, fmt.Errorf("%s: %q has %d bytes, too many for this machine", r.Format, name, end-begin)
	}
	raw, err := io.ReadAll(io.NewSectionReader(r, begin, end-begin))
	if err != nil {
		return nil, fmt.Errorf("%s: %q: %w", r.Format, name, err)
	}
	if int64(len(raw)) != end-begin {
		return nil, r.early(name)
	}
	return raw, nil
}

// Fill sets dst to the bytes from at on, which are of the named tensor.
func (r Reader) Fill(dst []byte, at int64, name string) error {
	if n, err := r.ReadAt(dst, at); n < len(dst) {
		if err == io.EOF {
			return r.early(name)
		}
		return fmt.Errorf("%s: %q: %w", r.Format, name, err)
	}
	return nil
}

func (r Reader) early(name string) error {
	return fmt.Errorf("%w: %q: the data ends early", r.Malformed, name)
}
