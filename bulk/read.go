// Opening inputs: compressions, formats, digests.

package bulk

import (
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/klauspost/compress/zstd"
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

// inputKind is the format and the compression of a file, by its name or the format that was given.
func inputKind(name, given string) (format, compression string, err error) {
	stem := strings.ToLower(name)
	for _, c := range []string{".gz", ".zst"} {
		if s, ok := strings.CutSuffix(stem, c); ok {
			stem, compression = s, c
		}
	}
	format = given
	if format == "" {
		format = "lines"
		for end, f := range map[string]string{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".txt": "lines"} {
			if strings.HasSuffix(stem, end) {
				format = f
			}
		}
		if strings.HasSuffix(stem, ".npy") || strings.HasSuffix(stem, ".arrow") || strings.HasSuffix(stem, ".f32") {
			return "", "", check.Errorf(fault.ErrInput, "%s holds no texts by its name", name)
		}
	}
	switch {
	case format != "lines" && format != "jsonl" && format != "csv" && format != "parquet":
		return "", "", check.Errorf(fault.ErrOption, "input format %q, want lines, jsonl, csv or parquet", format)
	case format == "parquet" && compression != "":
		return "", "", check.Errorf(fault.ErrInput, "%s: a Parquet file is compressed within", name)
	}
	return format, compression, nil
}

// open opens an input.
func open(path string, o *Options) (*source, error) {
	format, compression, err := inputKind(path, o.Input)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &source{file: f, sum: sha256.New()}
	if err := s.begin(format, compression, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// begin makes the reader of a file that is open.
func (s *source) begin(format, compression string, o *Options) error {
	var err error
	if format == "parquet" {
		if _, err := io.Copy(s.sum, s.file); err != nil {
			return err
		}
		s.tee = strings.NewReader("")
		info, err := s.file.Stat()
		if err != nil {
			return err
		}
		s.reader, err = newParquetReader(s.file, info.Size(), o)
		return err
	}
	s.tee = io.TeeReader(s.file, s.sum)
	in := s.tee
	switch compression {
	case ".gz":
		z, err := gzip.NewReader(in)
		if err != nil {
			return check.Errorf(fault.ErrInput, "%w", err)
		}
		in, s.under = z, z
	case ".zst":
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return check.Errorf(fault.ErrInput, "%w", err)
		}
		in, s.under = z, z.IOReadCloser()
	}
	switch format {
	case "csv":
		s.reader, err = newCSVReader(in, o)
	case "jsonl":
		s.reader, err = newJSONReader(in, o)
	default:
		s.reader, err = newTextReader(in, o)
	}
	return err
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
