// This file reads lines of input, which are plain text or JSON objects.

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/textline"
	"github.com/avoformer/avoformer/text"
)

// lines reads texts, and counts lines and bytes.
type lines struct {
	*textline.Reader
	jsonl    bool
	field    string            // the field of an object that holds the text
	seen     func(line []byte) // if not nil, called with every line
	progress *progress
	file     input
	warn     func(warning string)
	warned   bool // a warning about a control character was printed
}

// inputFlags are the flags of commands that read lines.
type inputFlags struct {
	app           *app
	format, field *string
}

func (f *flags) input() inputFlags {
	return inputFlags{f.app, f.String("input", "", "lines or jsonl; default: by the extension of the file"), f.String("field", "text", "the `name` of the text in JSON objects")}
}

// open opens a file, or the standard input.
func (f inputFlags) open(name string) (*lines, error) {
	jsonl, err := isJSONL(*f.format, name)
	if err != nil {
		return nil, err
	}
	if *f.format == "" {
		switch ext := strings.ToLower(filepath.Ext(name)); ext {
		case ".npy", ".f32":
			return nil, fmt.Errorf("%s holds vectors according to its name, want lines of text; -input lines reads it as lines", name)
		case ".csv", ".tsv", ".parquet":
			return nil, fmt.Errorf("%s is a table according to its name, want lines of text; avoformer bulk reads tables, and -input lines reads it as lines", name)
		case ".json":
			return nil, fmt.Errorf("%s is one JSON value according to its name, want lines of text, or an object in each line with -input jsonl; -input lines reads it as lines", name)
		}
	}
	file, err := f.app.open(name)
	if err != nil {
		return nil, err
	}
	return &lines{Reader: textline.NewReader(file), jsonl: jsonl, field: *f.field, progress: f.app.newProgress(file.size()), file: file, warn: f.app.warn}, nil
}

func (l *lines) Close() error {
	l.progress.done()
	return l.file.Close()
}

// isJSONL reports whether lines are JSON, according to the flag or else to the name.
func isJSONL(format, name string) (bool, error) {
	switch format {
	case "lines":
		return false, nil
	case "jsonl":
		return true, nil
	case "":
		return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson"), nil
	}
	return false, usagef("-input %q, want lines or jsonl", format)
}

// text returns the text in a line.
func (l *lines) text(line []byte) (string, error) {
	if l.N == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // editors on Windows write this mark
	}
	if !l.warned && textline.Control(line) {
		l.warned = true
		l.warn(fmt.Sprintf("line %d holds control characters; this line and later ones are taken as they are", l.N))
	}
	if !l.jsonl {
		return string(bytes.ToValidUTF8(line, []byte("\ufffd"))), nil
	}
	var s string
	if pyjson.Unmarshal(line, &s) == nil {
		return s, nil // a line that is a JSON string
	}
	var object map[string]json.RawMessage
	if err := pyjson.Unmarshal(line, &object); err != nil {
		return "", fmt.Errorf("line %d is not a JSON object: %w", l.N, err)
	}
	raw, ok := object[l.field]
	if !ok || pyjson.Unmarshal(raw, &s) != nil {
		return "", fmt.Errorf("line %d has no string %q", l.N, l.field)
	}
	return s, nil
}

// chunk returns up to n texts. It returns fewer only at the end.
func (l *lines) chunk(n int) ([]string, error) {
	var texts []string
	for len(texts) < n {
		line, err := l.Next()
		if errors.Is(err, io.EOF) {
			return texts, nil
		} else if err != nil {
			return nil, err
		}
		if l.seen != nil {
			l.seen(line)
		}
		s, err := l.text(line)
		if err != nil {
			return nil, err
		}
		texts = append(texts, s)
	}
	return texts, nil
}

// eachChunk calls do with up to n texts at a time, and with the number of the lines before them.
func (l *lines) eachChunk(n int, do func(first int, texts []string) error) error {
	defer l.progress.done()
	for {
		first := l.N
		texts, err := l.chunk(n)
		if err != nil || len(texts) == 0 {
			return err
		}
		if err := do(first, texts); err != nil {
			return ofLine(first, err)
		}
		l.progress.tell(l.N, l.Bytes)
	}
}

// ofLine adds the number of the line to an error about a text. before is the number of lines before
// the texts.
func ofLine(before int, err error) error {
	if at, ok := errors.AsType[*text.InputError](err); ok {
		return fmt.Errorf("line %d: %w", before+at.Number+1, at.Err)
	}
	return err
}

// all returns all texts.
func (l *lines) all() ([]string, error) {
	var all []string
	err := l.eachChunk(chunkLines, func(_ int, texts []string) error {
		all = append(all, texts...)
		return nil
	})
	return all, err
}

var errNoTexts = errors.New("no texts to compare")

// chunkLines is the number of lines that are passed to a pipeline at a time. An interrupt loses at
// most that many.
const chunkLines = 512
