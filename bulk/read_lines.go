// This file reads plain lines, and JSON objects, one per line.

package bulk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/textline"
)

// textReader reads one text per line.
type textReader struct{ in *textline.Reader }

func newTextReader(in io.Reader, o *Options) (*textReader, error) {
	if len(o.pass.columns) > 0 {
		return nil, check.Errorf(fault.ErrOption, "Pass: plain lines have no columns")
	}
	return &textReader{textline.NewReader(in)}, nil
}

func (r *textReader) columns() []Column { return nil }

func (r *textReader) next() (row, error) { return nextLine(r.in) }

// nextLine returns a row with a line as its text.
func nextLine(in *textline.Reader) (row, error) {
	line, err := in.Next()
	if errors.Is(err, textline.ErrLong) || errors.Is(err, textline.ErrBinary) {
		err = check.Errorf(fault.ErrInput, "%w", err)
	}
	if err != nil {
		return row{}, err
	}
	if in.N == 1 {
		line = bytes.TrimPrefix(line, mark)
	}
	x := row{number: int64(in.N - 1), raw: line, control: textline.Control(line)}
	if utf8.Valid(line) {
		x.text = string(line)
	} else {
		x.err = errUTF8
	}
	return x, nil
}

// jsonReader reads one object per line.
type jsonReader struct {
	in    *textline.Reader
	field string
	pass  []Column
}

func newJSONReader(in io.Reader, o *Options) (*jsonReader, error) {
	if o.pass.all {
		return nil, check.Errorf(fault.ErrOption, "Pass has *, but objects of a JSONL file may have different fields: name the fields to pass on")
	}
	r := &jsonReader{in: textline.NewReader(in), field: o.Text}
	for _, c := range o.pass.columns {
		if c.Kind < 0 {
			c.Kind = JSON
		}
		if c.Kind == Bytes {
			return nil, check.Errorf(fault.ErrOption, "Pass %q: JSON has no byte strings", c.Name+":bytes")
		}
		r.pass = append(r.pass, c)
	}
	return r, nil
}

func (r *jsonReader) columns() []Column { return r.pass }

func (r *jsonReader) next() (row, error) {
	x, err := nextLine(r.in)
	if err != nil || x.err != nil {
		return x, err
	}
	x.passed = make([]any, len(r.pass))
	x.text, x.err = r.object(x.raw, x.passed)
	return x, nil
}

// object returns the text of a line, and sets passed to the fields that are passed on.
func (r *jsonReader) object(line []byte, passed []any) (string, error) {
	var object map[string]json.RawMessage
	if err := pyjson.Unmarshal(line, &object); err != nil {
		return "", fmt.Errorf("not a JSON object: %w", err)
	}
	var s string
	raw, ok := object[r.field]
	if !ok || string(raw) == "null" || pyjson.Unmarshal(raw, &s) != nil {
		return "", fmt.Errorf("no string %q", r.field)
	}
	for i, c := range r.pass {
		raw, ok := object[c.Name]
		if !ok || c.Kind != JSON && string(raw) == "null" {
			continue
		}
		v, err := fromJSON(c.Kind, raw)
		if err != nil {
			return "", fmt.Errorf("%q is not a value of the kind %s", c.Name, c.Kind)
		}
		passed[i] = v
	}
	return s, nil
}

// fromJSON returns a value of a kind.
func fromJSON(k Kind, raw json.RawMessage) (any, error) {
	switch k {
	case JSON:
		return string(raw), nil
	case Int32:
		return read[int32](raw)
	case Int64:
		return read[int64](raw)
	case Float32:
		v, err := read[float64](raw)
		if f, ok := v.(float64); err == nil && ok && math.Abs(f) <= math.MaxFloat32 {
			return float32(f), nil
		}
		return nil, errors.Join(err, errRange)
	case Float64:
		return read[float64](raw)
	case Bool:
		return read[bool](raw)
	}
	return read[string](raw)
}

var errRange = errors.New("out of range")

func read[T any](raw []byte) (any, error) {
	var v T
	err := pyjson.Unmarshal(raw, &v)
	return v, err
}

// checkJSON returns an error unless s is the text of a JSON value.
func checkJSON(s string) error {
	var v any
	return pyjson.Unmarshal([]byte(s), &v)
}
