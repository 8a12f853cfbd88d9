// This file lists all formats of inputs and results.

package bulk

import (
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/klauspost/compress/zstd"
)

// newWriter returns the writer of a format for a shard. files are the format's files, in the order
// of ends.
func newWriter(format string, files []io.Writer, columns []Column, shard string) (writer, error) {
	switch format {
	case "parquet":
		return newParquetWriter(files, columns)
	case "arrow":
		return newArrowWriter(files, columns)
	case "npy":
		return newNumpyWriter(files, columns)
	case "csv":
		return newCSVWriter(files, columns)
	case "elastic":
		return newElasticWriter(files, columns, shard)
	default:
		return newJSONWriter(files, columns)
	}
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

// begin creates the reader of an open file.
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
		s.reader, err = newCSVReader(in, ',', o)
	case "tsv":
		s.reader, err = newCSVReader(in, '\t', o)
	case "jsonl":
		s.reader, err = newJSONReader(in, o)
	default:
		s.reader, err = newTextReader(in, o)
	}
	return err
}

// inputKind returns the format and the compression of a file. The format is the given one or, if
// that is "", depends on the name.
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
		for end, f := range map[string]string{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".txt": "lines"} {
			if strings.HasSuffix(stem, end) {
				format = f
			}
		}
		if strings.HasSuffix(stem, ".npy") || strings.HasSuffix(stem, ".arrow") || strings.HasSuffix(stem, ".f32") {
			return "", "", check.Errorf(fault.ErrInput, "%s: files with this ending have no texts", name)
		}
		if strings.HasSuffix(stem, ".json") {
			return "", "", check.Errorf(fault.ErrInput, "%s: a .json file is one JSON value, want .jsonl, an object in each line; the input format jsonl or lines reads it regardless of its name", name)
		}
	}
	switch {
	case format != "lines" && format != "jsonl" && format != "csv" && format != "tsv" && format != "parquet":
		return "", "", check.Errorf(fault.ErrOption, "input format %q, want lines, jsonl, csv, tsv or parquet", format)
	case format == "parquet" && compression != "":
		return "", "", check.Errorf(fault.ErrInput, "%s: a compressed Parquet file is not supported, since Parquet compresses its own pages", name)
	}
	return format, compression, nil
}
