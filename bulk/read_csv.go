// CSV with a line of names.

package bulk

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// csvReader reads a record a row. One with an error in its quotes ends the file: where the next begins is not known.
type csvReader struct {
	records *csv.Reader
	names   []string
	text    int // the number of the text's field
	pass    []Column
	fields  []int // of what is passed on
	n       int64
}

func newCSVReader(in io.Reader, o *Options) (*csvReader, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	if begin, _ := buffered.Peek(len(mark)); string(begin) == string(mark) {
		_, _ = buffered.Discard(len(mark)) // they are in the buffer
	}
	r := &csvReader{records: csv.NewReader(buffered)}
	r.records.FieldsPerRecord = -1
	names, err := r.records.Read()
	if errors.Is(err, io.EOF) {
		return nil, check.Errorf(fault.ErrInput, "an empty file has no line of names")
	} else if err != nil {
		return nil, csvError(err)
	}
	r.names = names
	if r.text, err = r.field(o.Text); err != nil {
		return nil, err
	}
	pass := o.pass.columns
	if o.pass.all {
		for i, name := range names {
			if i != r.text {
				pass = append(pass, Column{Name: name, Kind: String})
			}
		}
	}
	for _, c := range pass {
		at, err := r.field(c.Name)
		if err != nil {
			return nil, err
		}
		if c.Kind < 0 {
			c.Kind = String
		}
		r.pass, r.fields = append(r.pass, c), append(r.fields, at)
	}
	return r, nil
}

// field returns the number of the field of a name.
func (r *csvReader) field(name string) (int, error) {
	at := slices.Index(r.names, name)
	if at < 0 || slices.Index(r.names[at+1:], name) >= 0 {
		return 0, check.Errorf(fault.ErrInput, "the line of names has not exactly one %q, but %q", name, r.names)
	}
	return at, nil
}

func (r *csvReader) columns() []Column { return r.pass }

func (r *csvReader) next() (row, error) {
	record, err := r.records.Read()
	if err != nil {
		return row{}, csvError(err)
	}
	x := row{number: r.n, passed: make([]any, len(r.pass))}
	r.n++
	switch joined := strings.Join(record, "\n"); {
	case len(record) != len(r.names):
		x.err = fmt.Errorf("%d fields, the line of names has %d", len(record), len(r.names))
	case !utf8.ValidString(joined):
		x.err = errUTF8
	}
	for i, c := range r.pass {
		if x.err != nil {
			break
		}
		if x.passed[i], err = fromText(c.Kind, record[r.fields[i]]); err != nil {
			x.err = fmt.Errorf("%q is no %s", c.Name, c.Kind)
		}
	}
	if x.err != nil {
		x.raw = recordText(record)
		return x, nil
	}
	x.text = record[r.text]
	return x, nil
}

// fromText returns a value of a kind; nothing is nil, except for strings.
func fromText(k Kind, s string) (any, error) {
	switch {
	case k == String:
		return s, nil
	case k == Bytes:
		return []byte(s), nil
	case s == "":
		return nil, nil
	case k == Int32:
		v, err := strconv.ParseInt(s, 10, 32)
		return int32(v), err
	case k == Int64:
		return strconv.ParseInt(s, 10, 64)
	case k == Float32:
		v, err := strconv.ParseFloat(s, 32)
		return float32(v), err
	case k == Float64:
		return strconv.ParseFloat(s, 64)
	case k == Bool:
		return strconv.ParseBool(s)
	}
	return s, checkJSON(s)
}

// recordText returns a record as a line.
func recordText(record []string) []byte {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(record) // a builder takes everything
	w.Flush()
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// csvError distinguishes errors of the format from those of reading.
func csvError(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return check.Errorf(fault.ErrInput, "%w", err)
	}
	return err
}
