// Package sums writes and reads files that end with their checksum, a CRC-32C in four bytes,
// little-endian.
package sums

import (
	"bufio"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
)

// Castagnoli is the table of CRC-32C.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer writes bytes, counts them and computes their checksum. It keeps its first error.
type Writer struct {
	w   io.Writer
	sum hash.Hash32
	n   int64
	err error
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, sum: crc32.New(Castagnoli)} }

// Write writes p, unless an earlier write failed.
func (s *Writer) Write(p []byte) {
	if s.err != nil {
		return
	}
	n, err := s.w.Write(p)
	s.n, s.err = s.n+int64(n), err
	s.sum.Write(p)
}

// End writes the checksum. It returns the number of bytes written and the first error, as
// io.WriterTo does.
func (s *Writer) End() (int64, error) {
	s.Write(binary.LittleEndian.AppendUint32(nil, s.sum.Sum32()))
	return s.n, s.err
}

// Save writes x to a temporary file next to the destination and renames it.
func Save(name string, x io.WriterTo) error {
	return regular.Create(name, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 1<<20)
		if _, err := x.WriteTo(w); err != nil {
			return err
		}
		return w.Flush()
	})
}

// Reader reads bytes and computes their checksum.
type Reader struct {
	r   io.Reader
	sum hash.Hash32
}

// NewReader returns a reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r, sum: crc32.New(Castagnoli)} }

// Read fills p. An early end is a fault.ErrFormat.
func (s *Reader) Read(p []byte) error {
	if _, err := io.ReadFull(s.r, p); err == io.EOF || err == io.ErrUnexpectedEOF {
		return check.Errorf(fault.ErrFormat, "the file ends early: %w", io.ErrUnexpectedEOF)
	} else if err != nil {
		return err
	}
	s.sum.Write(p)
	return nil
}

// Bytes reads n bytes. It allocates memory as the bytes arrive.
func (s *Reader) Bytes(n uint64) ([]byte, error) {
	var b []byte
	for n > 0 {
		at := len(b)
		b = append(b, make([]byte, min(n, 1<<16))...)
		if err := s.Read(b[at:]); err != nil {
			return nil, err
		}
		n -= uint64(len(b) - at)
	}
	return b, nil
}

// End reads the checksum, and compares it.
func (s *Reader) End() error {
	want := s.sum.Sum32()
	var sum [4]byte
	if err := s.Read(sum[:]); err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint32(sum[:]); got != want {
		return check.Errorf(fault.ErrFormat, "checksum %08x, want %08x", got, want)
	}
	return nil
}

// Load calls read for a file, which must have no bytes left. Errors name the file.
func Load[T any](name string, read func(r io.Reader) (T, error)) (T, error) {
	var none T
	f, err := os.Open(name)
	if err != nil {
		return none, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	x, err := read(r)
	if err == nil {
		if _, err = r.ReadByte(); err == io.EOF {
			return x, nil
		} else if err == nil {
			err = check.Errorf(fault.ErrFormat, "bytes after the end")
		}
	}
	return none, check.InFile(filepath.Base(name), fault.ErrFormat, err)
}
