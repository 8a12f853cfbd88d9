// This file reads texts from Parquet files, and writes vectors to Parquet files and dead letters to
// JSONL files.

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/bulk/beam/embed"
	"github.com/avoformer/avoformer/fault"
)

// readFn reads the texts of files.
type readFn struct {
	Column string
}

// ProcessElement emits the rows of a file. Rows without a usable text are dead letters.
func (f *readFn) ProcessElement(ctx context.Context, file fileio.ReadableFile, emit func(Row, []byte), dead func(Row, embed.Dead)) error {
	name := file.Metadata.Path
	in, size, err := open(ctx, file)
	if err == nil {
		defer in.Close()
		n := int64(0)
		err = bulk.ParquetTexts(in, size, f.Column, func(text []byte, wrong error) error {
			row := Row{name, n}
			n++
			if wrong != nil {
				dead(row, embed.Dead{Text: text, Reason: wrong.Error()})
			} else {
				emit(row, text)
			}
			return nil
		})
	}
	if errors.Is(err, fault.ErrInput) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) { // another attempt would fail again
		dead(Row{name, -1}, embed.Dead{Reason: err.Error()})
		return nil
	}
	return err
}

// readerAtCloser is a file with random access.
type readerAtCloser interface {
	io.ReaderAt
	io.Closer
}

// open opens a file. It reads a file that is not local into memory.
func open(ctx context.Context, file fileio.ReadableFile) (readerAtCloser, int64, error) {
	in, err := file.Open(ctx)
	if err != nil {
		return nil, 0, err
	}
	if local, ok := in.(*os.File); ok {
		info, err := local.Stat()
		if err != nil {
			return nil, 0, errors.Join(err, local.Close())
		}
		return local, info.Size(), nil
	}
	data, err := io.ReadAll(in)
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, 0, err
	}
	return inMemory{bytes.NewReader(data)}, int64(len(data)), nil
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// vectorAt is a vector of a file.
type vectorAt struct {
	Row    int64
	Vector embed.Vector
}

func vectorByFile(r Row, v embed.Vector) (string, vectorAt) { return r.File, vectorAt{r.Row, v} }

// deadAt is a dead letter of a file.
type deadAt struct {
	Row  int64
	Dead embed.Dead
}

func deadByFile(r Row, d embed.Dead) (string, deadAt) { return r.File, deadAt{r.Row, d} }

// place says where results are written.
type place struct {
	Input, Output string // the pattern and the folder
}

// path returns the path of a file's results. It is relative to the folder as the file is relative
// to the part of the pattern without wildcards.
func (p place) path(file, end string) string {
	fixed := p.Input
	if i := strings.IndexAny(fixed, "*?[\\"); i >= 0 {
		fixed = fixed[:i]
	}
	name := strings.TrimPrefix(file, fixed[:strings.LastIndex(fixed, "/")+1])
	if name == file { // the runner's names of files do not begin with the pattern
		name = path.Base(file)
	}
	return strings.TrimSuffix(p.Output, "/") + "/" + name + end
}

// write writes a file under another name and renames it, so that the file is complete or does not
// exist.
func write(ctx context.Context, name string, to func(io.Writer) error) (err error) {
	files, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	out, err := files.OpenWrite(ctx, name+".part")
	if err != nil {
		return err
	}
	if err := errors.Join(to(out), out.Close()); err != nil {
		return err
	}
	return filesystem.Rename(ctx, files, name+".part", name)
}

// sorted returns the elements of next in the order of rows.
func sorted[T any](next func(*T) bool, row func(T) int64) []T {
	var all []T
	for {
		var x T
		if !next(&x) {
			break
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(row(a), row(b)) })
	return all
}

// writeFn writes the vectors of a file.
type writeFn struct {
	Place place
}

// ProcessElement writes one file.
func (f *writeFn) ProcessElement(ctx context.Context, file string, next func(*vectorAt) bool) error {
	all := sorted(next, func(v vectorAt) int64 { return v.Row })
	columns := []bulk.Column{
		{Name: "row", Kind: bulk.Int64},
		{Name: "embedding", Kind: bulk.Floats, Length: len(all[0].Vector.Values)},
		{Name: "tokens", Kind: bulk.Int32},
		{Name: "cut", Kind: bulk.Bool},
	}
	return write(ctx, f.Place.path(file, ".parquet"), func(out io.Writer) error {
		return bulk.WriteParquet(out, columns, func(yield func([]any) bool) {
			for _, v := range all {
				if !yield([]any{v.Row, v.Vector.Values, v.Vector.Tokens, v.Vector.Cut}) {
					return
				}
			}
		})
	})
}

// buryFn writes the dead letters of a file.
type buryFn struct {
	Place place
}

// letter is a line of dead letters.
type letter struct {
	Input  string  `json:"input"`
	Row    int64   `json:"row"`
	Reason string  `json:"reason"`
	Text   *string `json:"text,omitempty"`
	Base64 string  `json:"base64,omitempty"` // of a text that is not UTF-8
}

// ProcessElement writes one file.
func (f *buryFn) ProcessElement(ctx context.Context, file string, next func(*deadAt) bool) error {
	all := sorted(next, func(d deadAt) int64 { return d.Row })
	return write(ctx, f.Place.path(file, ".dead.jsonl"), func(out io.Writer) error {
		lines := json.NewEncoder(out)
		for _, d := range all {
			l := letter{Input: file, Row: d.Row, Reason: d.Dead.Reason}
			if text := string(d.Dead.Text); utf8.ValidString(text) {
				l.Text = &text
			} else {
				l.Base64 = base64.StdEncoding.EncodeToString(d.Dead.Text)
			}
			if err := lines.Encode(l); err != nil {
				return err
			}
		}
		return nil
	})
}
