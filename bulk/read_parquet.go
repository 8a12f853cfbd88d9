// Parquet: flat columns of the kinds that row.go lists.

package bulk

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetReader reads the columns that are wanted, row group by row group.
type parquetReader struct {
	groups  []parquet.RowGroup
	pass    []Column
	cursors []cursor
	left    int64 // rows of the group
	n       int64
}

// cursor reads one column of a row group.
type cursor struct {
	column int
	spell  func(parquet.Value) any // of values that are passed on as another kind; may be nil
	pages  parquet.Pages
	values parquet.ValueReader
	buffer []parquet.Value
	ready  []parquet.Value
}

// ParquetTexts calls each with the rows of a column of strings of a Parquet file of size bytes: the text's bytes, and
// why they cannot be used, or nil. The error is each's, of reading, or matches [fault.ErrInput] if the file is damaged
// or has no such column.
func ParquetTexts(f io.ReaderAt, size int64, column string, each func(text []byte, dead error) error) error {
	r, err := newParquetReader(f, size, &Options{Text: column})
	if err != nil {
		return err
	}
	for {
		x, err := r.next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(x.raw, x.err); err != nil {
			return err
		}
	}
}

func newParquetReader(f io.ReaderAt, size int64, o *Options) (r *parquetReader, err error) {
	defer caught(&err)
	if err := checkFooter(f, size); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(f, size, parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, check.Errorf(fault.ErrInput, "%w", err)
	}
	r = &parquetReader{groups: file.RowGroups()}
	pass := o.pass.columns
	if o.pass.all {
		for _, field := range file.Schema().Fields() {
			if field.Name() != o.Text {
				pass = append(pass, Column{Name: field.Name(), Kind: -1})
			}
		}
	}
	for _, c := range append([]Column{{Name: o.Text, Kind: -1}}, pass...) {
		at, kind, spell, err := columnOf(file.Schema(), c.Name)
		if err != nil {
			return nil, err
		}
		if c.Kind >= 0 && c.Kind != kind {
			return nil, check.Errorf(fault.ErrOption, "Pass: the column %q holds %s, not %s", c.Name, kind, c.Kind)
		}
		c.Kind = kind
		r.pass, r.cursors = append(r.pass, c), append(r.cursors, cursor{column: at, spell: spell})
	}
	if k := r.pass[0].Kind; k != String || r.cursors[0].spell != nil {
		return nil, check.Errorf(fault.ErrInput, "the column %q holds no strings", o.Text)
	}
	r.pass = r.pass[1:]
	return r, nil
}

// checkFooter returns an error if a file claims a footer longer than itself: the library allocates what is claimed.
func checkFooter(f io.ReaderAt, size int64) error {
	const fixed = 12 // the mark at both ends, and the footer's length before the last
	var end [8]byte
	if size < fixed {
		return check.Errorf(fault.ErrInput, "%d bytes are not a Parquet file", size)
	}
	if _, err := f.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); n > size-fixed {
		return check.Errorf(fault.ErrInput, "a footer of %d bytes in a file of %d", n, size)
	}
	return nil
}

// columnOf returns the number of the leaf with a name, the kind of its values, and a function that converts them.
func columnOf(schema *parquet.Schema, name string) (int, Kind, func(parquet.Value) any, error) {
	fields := schema.Fields()
	i := slices.IndexFunc(fields, func(f parquet.Field) bool { return f.Name() == name })
	if i < 0 {
		var names []string
		for _, f := range fields {
			names = append(names, f.Name())
		}
		return 0, 0, nil, check.Errorf(fault.ErrInput, "no column %q, there are %q", name, names)
	}
	leaf, ok := schema.Lookup(name)
	if !ok || !fields[i].Leaf() || leaf.MaxRepetitionLevel > 0 {
		return 0, 0, nil, check.Errorf(fault.ErrInput, "the column %q is nested or repeated", name)
	}
	kind, spell, ok := kindOf(fields[i].Type())
	if !ok {
		return 0, 0, nil, check.Errorf(fault.ErrInput, "the column %q holds %v, which is not supported", name, fields[i].Type())
	}
	return leaf.ColumnIndex, kind, spell, nil
}

// kindOf is what a column of a type holds, and how its values become that where they do not as they are: moments and dates
// are passed on as text after ISO 8601, smaller integers as int32, uint32 as int64.
func kindOf(t parquet.Type) (Kind, func(parquet.Value) any, bool) {
	var logical format.LogicalTypeValue
	if l := t.LogicalType(); l != nil {
		logical = l.Value
	}
	switch l := logical.(type) {
	case *format.StringType, *format.EnumType:
		return String, nil, t.Kind() == parquet.ByteArray
	case *format.JsonType:
		return JSON, nil, t.Kind() == parquet.ByteArray
	case *format.DateType:
		return String, spellDate, t.Kind() == parquet.Int32
	case *format.TimestampType:
		return String, spellMoment(l), t.Kind() == parquet.Int64 && l.Unit.Value != nil
	case *format.IntType:
		switch {
		case l.BitWidth == 32 && !l.IsSigned:
			return Int64, func(v parquet.Value) any { return int64(v.Uint32()) }, t.Kind() == parquet.Int32
		case l.BitWidth < 64:
			return Int32, nil, t.Kind() == parquet.Int32
		}
		return Int64, nil, l.IsSigned && t.Kind() == parquet.Int64
	case nil:
		kind, ok := map[parquet.Kind]Kind{parquet.Boolean: Bool, parquet.Int32: Int32, parquet.Int64: Int64, parquet.Float: Float32, parquet.Double: Float64, parquet.ByteArray: Bytes}[t.Kind()]
		return kind, nil, ok
	}
	return 0, nil, false
}

func spellDate(v parquet.Value) any {
	return time.Unix(int64(v.Int32())*24*60*60, 0).UTC().Format(time.DateOnly)
}

// spellMoment spells a moment with as many digits as it has, and Z if it is one of UTC rather than of some clock.
func spellMoment(t *format.TimestampType) func(parquet.Value) any {
	layout := "2006-01-02T15:04:05.999999999"
	if t.IsAdjustedToUTC {
		layout += "Z07:00"
	}
	return func(v parquet.Value) any {
		tick := t.Unit.Value.Duration()
		second := int64(time.Second / tick)
		return time.Unix(v.Int64()/second, v.Int64()%second*int64(tick)).UTC().Format(layout)
	}
}

func (r *parquetReader) columns() []Column { return r.pass }

func (r *parquetReader) next() (x row, err error) {
	defer caught(&err)
	for r.left == 0 {
		if len(r.groups) == 0 {
			return row{}, io.EOF
		}
		if err := r.nextGroup(); err != nil {
			return row{}, err
		}
	}
	r.left--
	x = row{number: r.n, passed: make([]any, len(r.pass))}
	r.n++
	for i := range r.cursors {
		v, err := r.cursors[i].next()
		if err != nil {
			return row{}, check.Errorf(fault.ErrInput, "%w", err)
		}
		if i > 0 {
			x.passed[i-1], x.err = r.cursors[i].passed(r.pass[i-1], v, x.err)
		} else if v.IsNull() {
			x.err = errNull
		} else if x.raw = v.Clone().ByteArray(); !utf8.Valid(x.raw) {
			x.err = errUTF8
		} else {
			x.text = string(x.raw)
		}
	}
	return x, nil
}

// nextGroup moves to the next row group.
func (r *parquetReader) nextGroup() error {
	group := r.groups[0]
	r.groups, r.left = r.groups[1:], group.NumRows()
	chunks := group.ColumnChunks()
	for i := range r.cursors {
		c := &r.cursors[i]
		if c.pages != nil {
			if err := c.pages.Close(); err != nil {
				return err
			}
		}
		c.pages, c.values, c.ready = chunks[c.column].Pages(), nil, nil
	}
	return nil
}

// next returns the next value of the column.
func (c *cursor) next() (parquet.Value, error) {
	for len(c.ready) == 0 {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err == io.EOF {
				err = io.ErrUnexpectedEOF // the group has more rows
			}
			if err != nil {
				return parquet.Value{}, err
			}
			c.values = page.Values()
		}
		if c.buffer == nil {
			c.buffer = make([]parquet.Value, 256)
		}
		n, err := c.values.ReadValues(c.buffer)
		c.ready = c.buffer[:n]
		if err == io.EOF {
			c.values = nil
		} else if err != nil {
			return parquet.Value{}, err
		}
	}
	v := c.ready[0]
	c.ready = c.ready[1:]
	return v, nil
}

// passed returns a value as row has it; before is why the row is dead already.
func (at *cursor) passed(c Column, v parquet.Value, before error) (any, error) {
	switch {
	case v.IsNull():
		return nil, before
	case at.spell != nil:
		return at.spell(v), before
	}
	switch c.Kind {
	case Bool:
		return v.Boolean(), before
	case Int32:
		return v.Int32(), before
	case Int64:
		return v.Int64(), before
	case Float32:
		return v.Float(), before
	case Float64:
		return v.Double(), before
	case Bytes:
		return slices.Clone(v.ByteArray()), before
	}
	s := string(v.ByteArray())
	if before == nil && !utf8.ValidString(s) {
		before = fmt.Errorf("%q: %w", c.Name, errUTF8)
	}
	return s, before
}

// caught makes an error of a panic: the library panics on some files that are damaged.
func caught(err *error) {
	if v := recover(); v != nil {
		*err = check.Errorf(fault.ErrInput, "damaged: %v", v)
	}
}
