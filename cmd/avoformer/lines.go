// Lines of input, plain or JSON objects.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds a line.
const maxLine = 64 << 20

// lines reads texts.
type lines struct {
	r     *bufio.Reader
	jsonl bool
	field string // of an object that is the text
	n     int    // lines read
	bytes int64  // read
}

// isJSONL tells by the flag, or else by the name.
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

func newLines(r io.Reader, jsonl bool, field string) *lines {
	return &lines{r: bufio.NewReaderSize(r, 1<<16), jsonl: jsonl, field: field}
}

// raw is the next line without its end, or io.EOF.
func (l *lines) raw() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		l.bytes += int64(len(part))
		if errors.Is(err, bufio.ErrBufferFull) && len(line) < maxLine {
			continue
		}
		if len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			l.n++
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("line %d is longer than %d MB", l.n+1, maxLine>>20)
		}
		return nil, err
	}
}

// text is the text that a line holds.
func (l *lines) text(line []byte) (string, error) {
	if l.n == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // as Windows' editors write it
	}
	if !l.jsonl {
		return string(bytes.ToValidUTF8(line, []byte("\ufffd"))), nil
	}
	var s string
	if json.Unmarshal(line, &s) == nil {
		return s, nil // a bare string
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return "", fmt.Errorf("line %d is no JSON object: %w", l.n, err)
	}
	raw, ok := object[l.field]
	if !ok || json.Unmarshal(raw, &s) != nil {
		return "", fmt.Errorf("line %d has no string %q", l.n, l.field)
	}
	return s, nil
}

// chunk is up to n texts, fewer only at the end, and hands each line to seen.
func (l *lines) chunk(n int, seen func(line []byte)) ([]string, error) {
	var texts []string
	for len(texts) < n {
		line, err := l.raw()
		if errors.Is(err, io.EOF) {
			return texts, nil
		} else if err != nil {
			return nil, err
		}
		if seen != nil {
			seen(line)
		}
		s, err := l.text(line)
		if err != nil {
			return nil, err
		}
		texts = append(texts, s)
	}
	return texts, nil
}

// all is every text.
func (l *lines) all() ([]string, error) {
	var texts []string
	for {
		more, err := l.chunk(1024, nil)
		if err != nil || len(more) == 0 {
			return texts, err
		}
		texts = append(texts, more...)
	}
}

// readAll is every text of a file.
func (a *app) readAll(name, format, field string) ([]string, error) {
	jsonl, err := isJSONL(format, name)
	if err != nil {
		return nil, err
	}
	file, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return newLines(io.Reader(file), jsonl, field).all()
}
