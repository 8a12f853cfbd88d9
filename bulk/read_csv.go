// This file reads CSV and TSV with a line of names.

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

// csvReader reads one record per row. A quote in a field that does not begin with a quote is a
// character of the field. Any other error in quotes ends the file, because the beginning of the
// next record is unknown.
type csvReader struct {
	records *csv.Reader // reads the output of bareQuotes
	names   []string
	text    int // index of the text's field
	pass    []Column
	fields  []int // indices of the fields that are passed on
	n       int64
}

// bareQuotes replaces each quote in a field that does not begin with a quote by bareQuote.
// [csv.Reader] would return an error for it or, with LazyQuotes, accept quotes that are not closed.
// The byte 0xff is doubled, so that bareQuote is unambiguous.
type bareQuotes struct {
	from   io.Reader // must repeat its error
	comma  byte
	state  fieldState
	in     [1 << 12]byte
	buffer [1 << 13]byte
	out    []byte // the rest of buffer
}

const bareQuote, doubled = "\xff'", "\xff\xff"

// plainQuotes restores a field that bareQuotes changed.
var plainQuotes = strings.NewReplacer(bareQuote, `"`, doubled, "\xff")

// fieldState is the place of a byte in a record.
type fieldState int

const (
	begins fieldState = iota // at the first byte of a field
	bare                     // in a field that does not begin with a quote
	quoted                   // in a field that begins with a quote
	closed                   // after a quote in a quoted field: its end, or a quote if another one follows
)

func (q *bareQuotes) Read(p []byte) (int, error) {
	if len(q.out) == 0 {
		n, err := q.from.Read(q.in[:])
		if n == 0 {
			return 0, err
		}
		q.out = q.buffer[:0]
		for _, c := range q.in[:n] {
			switch {
			case q.state == bare && c == '"':
				q.out = append(q.out, bareQuote...)
			case c == bareQuote[0]:
				q.out = append(q.out, doubled...)
			default:
				q.out = append(q.out, c)
			}
			q.state = q.state.after(c, q.comma)
		}
	}
	n := copy(p, q.out)
	q.out = q.out[n:]
	return n, nil
}

// after returns the state after a byte.
func (s fieldState) after(c, comma byte) fieldState {
	switch {
	case s == quoted && c != '"':
		return quoted
	case s == quoted:
		return closed
	case c == comma || c == '\n':
		return begins
	case (s == begins || s == closed) && c == '"':
		return quoted
	}
	return bare
}

// newCSVReader returns a reader of records whose fields are separated by comma, which may be a tab.
func newCSVReader(in io.Reader, comma byte, o *Options) (*csvReader, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	if begin, _ := buffered.Peek(len(mark)); string(begin) == string(mark) {
		_, _ = buffered.Discard(len(mark)) // the bytes are in the buffer
	}
	r := &csvReader{records: csv.NewReader(&bareQuotes{from: buffered, comma: comma})}
	r.records.Comma, r.records.FieldsPerRecord = rune(comma), -1
	names, err := r.record()
	if errors.Is(err, io.EOF) {
		return nil, check.Errorf(fault.ErrInput, "the file is empty, want a line of names")
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

// field returns the index of the field with a name.
func (r *csvReader) field(name string) (int, error) {
	at := slices.Index(r.names, name)
	if at < 0 || slices.Index(r.names[at+1:], name) >= 0 {
		return 0, check.Errorf(fault.ErrInput, "want exactly one %q in the line of names, which has %q", name, r.names)
	}
	return at, nil
}

// record returns the next record.
func (r *csvReader) record() ([]string, error) {
	fields, err := r.records.Read()
	for i, f := range fields {
		fields[i] = plainQuotes.Replace(f)
	}
	return fields, err
}

func (r *csvReader) columns() []Column { return r.pass }

func (r *csvReader) next() (row, error) {
	record, err := r.record()
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
			x.err = fmt.Errorf("%q is not a value of the kind %s", c.Name, c.Kind)
		}
	}
	if x.err != nil {
		x.raw = recordText(record)
		return x, nil
	}
	x.text = record[r.text]
	return x, nil
}

// fromText returns a text as a value of a kind. An empty text is nil, except for strings and bytes.
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

// recordText returns the line of a record.
func recordText(record []string) []byte {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(record) // writing to a Builder never fails
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
