// This file reads Parquet files with flat columns of the kinds that row.go lists.

package bulk

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/half"
)

// parquetReader reads the requested columns, row group by row group and page by page.
type parquetReader struct {
	file    *file.Reader
	source  io.ReaderAt
	size    int64
	pass    []Column
	leaves  []int // indices of the columns in the file, the texts' first
	cursors []cursor
	group   int   // next row group
	left    int64 // rows left in the current group
	n       int64
}

// ParquetTexts calls each for the rows of a column of strings in a Parquet file of size bytes. It
// passes the bytes of the text, and an error if the text cannot be used. ParquetTexts returns an
// error of each, an error of reading, or an error that matches [fault.ErrInput] if the file is
// damaged or has no such column.
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
	properties := parquet.NewReaderProperties(nil)
	properties.BufferedStreamEnabled, properties.BufferSize = true, 1<<16
	properties.MaxCompressedPageSize, properties.MaxUncompressedPageSize = maxPage, maxPage
	opened, err := file.NewParquetReader(io.NewSectionReader(f, 0, size), file.WithReadProps(properties))
	if err != nil {
		return nil, check.Errorf(fault.ErrInput, "%w", err)
	}
	r = &parquetReader{file: opened, source: f, size: size}
	fields := opened.MetaData().Schema.Root()
	pass := o.pass.columns
	if o.pass.all {
		for i := range fields.NumFields() {
			if name := fields.Field(i).Name(); name != o.Text {
				pass = append(pass, Column{Name: name, Kind: -1})
			}
		}
	}
	zones := zonesOf(opened.MetaData().KeyValueMetadata())
	for i, c := range append([]Column{{Name: o.Text, Kind: -1}}, pass...) {
		leaf, err := leafOf(opened.MetaData().Schema, c.Name)
		if err != nil {
			return nil, err
		}
		column := opened.MetaData().Schema.Column(leaf)
		made, values, ok := columnOf(column, zones)
		switch {
		case !ok:
			return nil, check.Errorf(fault.ErrInput, "the column %q holds %s, which is not supported", c.Name, typeName(column))
		case i == 0 && made.Kind != String && made.Kind != JSON && made.Kind != Bytes:
			return nil, check.Errorf(fault.ErrInput, "the column %q holds %s, not strings", c.Name, typeName(column))
		case c.Kind == String && made.writtenAsText():
			values = &textCursor{values, made}
			made = Column{Name: c.Name, Kind: String}
		case c.Kind >= 0 && c.Kind != made.Kind:
			return nil, check.Errorf(fault.ErrOption, "Pass: the column %q holds %s, not %s", c.Name, made.Kind, c.Kind)
		}
		r.pass, r.leaves, r.cursors = append(r.pass, made), append(r.leaves, leaf), append(r.cursors, values)
	}
	r.pass = r.pass[1:]
	return r, nil
}

// leafOf returns the index of the column with a name.
func leafOf(s *schema.Schema, name string) (int, error) {
	var names []string
	var found schema.Node
	for i := range s.Root().NumFields() {
		field := s.Root().Field(i)
		names = append(names, field.Name())
		if field.Name() != name {
			continue
		}
		if found != nil {
			return 0, check.Errorf(fault.ErrInput, "two columns are named %q", name)
		}
		found = field
	}
	switch {
	case found == nil:
		return 0, check.Errorf(fault.ErrInput, "there is no column %q; the columns are %q", name, names)
	case found.Type() != schema.Primitive || found.RepetitionType() == parquet.Repetitions.Repeated:
		return 0, check.Errorf(fault.ErrInput, "the column %q is nested or repeated", name)
	}
	return s.ColumnIndexByNode(found), nil
}

// typeName returns the name of a column's type for messages.
func typeName(c *schema.Column) string {
	name := c.PhysicalType().String()
	if l := c.LogicalType(); l != nil && !l.IsNone() {
		name = l.String() + " as " + name
	}
	return name
}

// zonesOf returns the time zones of timestamps, by the names of their columns. Parquet has only a
// flag for UTC. The zone is in the Arrow schema, which programs that use Arrow add to the file.
// This function parses the schema, a flatbuffer, because Arrow's reader allocates as much memory as
// the schema claims.
func zonesOf(kv metadata.KeyValueMetadata) (zones map[string]string) {
	defer func() { _ = recover() }() // keep the zones before the damage
	zones = map[string]string{}
	encoded := kv.FindValue("ARROW:schema")
	if encoded == nil {
		return zones
	}
	data, err := base64.StdEncoding.DecodeString(*encoded)
	const head = 8 // -1 and the length
	if err != nil || len(data) < head+4 {
		return zones
	}
	const timestamp = 10
	const header, fields, name, kind, ofKind, zone = 8, 6, 4, 8, 10, 6 // offsets in the tables of Message, Schema, Field and Timestamp
	message := flatbuffers.Table{Bytes: data[head:], Pos: flatbuffers.GetUOffsetT(data[head:])}
	var schema flatbuffers.Table
	message.Union(&schema, flatbuffers.UOffsetT(message.Offset(header)))
	list := flatbuffers.UOffsetT(schema.Offset(fields))
	for i := range min(schema.VectorLen(list), len(data)) {
		field := flatbuffers.Table{Bytes: schema.Bytes, Pos: schema.Indirect(schema.Vector(list) + flatbuffers.UOffsetT(4*i))}
		if at := flatbuffers.UOffsetT(field.Offset(kind)); at == 0 || field.GetByte(at+field.Pos) != timestamp {
			continue
		}
		var moment flatbuffers.Table
		field.Union(&moment, flatbuffers.UOffsetT(field.Offset(ofKind)))
		if at := flatbuffers.UOffsetT(moment.Offset(zone)); at != 0 {
			zones[field.String(flatbuffers.UOffsetT(field.Offset(name))+field.Pos)] = moment.String(at + moment.Pos)
		}
	}
	return zones
}

// columnOf returns the description of a column, and a cursor that reads its values. Smaller
// integers are passed on as int32, uint32 as int64, and float16 as float32.
func columnOf(c *schema.Column, zones map[string]string) (Column, cursor, bool) {
	own := Column{Name: c.Name()}
	as := func(k Kind, values cursor) (Column, cursor, bool) {
		own.Kind = k
		return own, values, values != nil
	}
	physical := c.PhysicalType()
	switch l := c.LogicalType().(type) {
	case schema.StringLogicalType, schema.EnumLogicalType:
		return as(String, bytesOf(c, textOf))
	case schema.JSONLogicalType:
		return as(JSON, bytesOf(c, jsonOf))
	case schema.NullLogicalType:
		return as(String, nulls{})
	case schema.DateLogicalType:
		return as(Date, int32Of(c, same))
	case schema.TimeLogicalType:
		own.Unit = unitOf(l.TimeUnit())
		if physical == parquet.Types.Int32 {
			return as(Time, int32Of(c, func(v int32) (any, error) { return int64(v), ofDay(int64(v), own.Unit) }))
		}
		return as(Time, int64Of(c, func(v int64) (any, error) { return v, ofDay(v, own.Unit) }))
	case schema.TimestampLogicalType:
		own.Unit = unitOf(l.TimeUnit())
		if l.IsAdjustedToUTC() && !l.IsFromConvertedType() {
			own.Zone = zones[own.Name]
			if own.Zone == "" {
				own.Zone = "UTC"
			}
		}
		return as(Timestamp, int64Of(c, same))
	case schema.DecimalLogicalType:
		own.Precision, own.Scale = int(l.Precision()), int(l.Scale())
		return as(Decimal, decimalsOf(c, own))
	case schema.UUIDLogicalType:
		return as(UUID, fixedOf(c, 16, func(v []byte) (any, error) { return [16]byte(v), nil }))
	case schema.Float16LogicalType:
		return as(Float32, fixedOf(c, 2, func(v []byte) (any, error) {
			return half.Float16(binary.LittleEndian.Uint16(v)), nil
		}))
	case schema.IntLogicalType:
		switch {
		case l.BitWidth() == 64 && !l.IsSigned():
			return as(Uint64, int64Of(c, func(v int64) (any, error) { return uint64(v), nil }))
		case l.BitWidth() == 64:
			return as(Int64, int64Of(c, same))
		case l.BitWidth() == 32 && !l.IsSigned():
			return as(Int64, int32Of(c, func(v int32) (any, error) { return int64(uint32(v)), nil }))
		}
		return as(Int32, int32Of(c, same))
	case schema.NoLogicalType, nil:
	default:
		return own, nil, false
	}
	switch physical {
	case parquet.Types.Boolean:
		return as(Bool, &typed[bool]{required: required(c), convert: same[bool]})
	case parquet.Types.Int32:
		return as(Int32, int32Of(c, same))
	case parquet.Types.Int64:
		return as(Int64, int64Of(c, same))
	case parquet.Types.Int96:
		own.Unit = time.Nanosecond
		return as(Timestamp, &typed[parquet.Int96]{required: required(c), convert: func(v parquet.Int96) (any, error) {
			moment, err := v.ToTimestamp()
			return int64(moment), err
		}})
	case parquet.Types.Float:
		return as(Float32, &typed[float32]{required: required(c), convert: same[float32]})
	case parquet.Types.Double:
		return as(Float64, &typed[float64]{required: required(c), convert: same[float64]})
	case parquet.Types.ByteArray:
		return as(Bytes, bytesOf(c, cloned))
	case parquet.Types.FixedLenByteArray:
		return as(Bytes, fixedOf(c, c.TypeLength(), cloned))
	}
	return own, nil, false
}

func unitOf(u schema.TimeUnitType) time.Duration {
	switch u {
	case schema.TimeUnitMillis:
		return time.Millisecond
	case schema.TimeUnitMicros:
		return time.Microsecond
	}
	return time.Nanosecond
}

// ofDay returns an error if a time is not within a day.
func ofDay(v int64, unit time.Duration) error {
	if v < 0 || v >= int64(24*time.Hour/unit) {
		return fmt.Errorf("the time %d, in units of %v, is not within a day", v, unit)
	}
	return nil
}

// decimalsOf returns a cursor for decimals of any type that can store them.
func decimalsOf(c *schema.Column, own Column) cursor {
	const most = 76 // digits of Arrow's largest decimal type
	if own.Precision < 1 || own.Precision > most || own.Scale < 0 || own.Scale > own.Precision {
		return nil
	}
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(own.Precision)), nil)
	within := func(v *big.Int) (any, error) {
		if v.CmpAbs(limit) >= 0 {
			return nil, fmt.Errorf("a decimal has more than %d digits", own.Precision)
		}
		return v, nil
	}
	fromBytes := func(v []byte) (any, error) {
		n := new(big.Int).SetBytes(v)
		if len(v) > 0 && v[0] >= 0x80 { // two's complement
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
		}
		return within(n)
	}
	switch c.PhysicalType() {
	case parquet.Types.Int32:
		return int32Of(c, func(v int32) (any, error) { return within(big.NewInt(int64(v))) })
	case parquet.Types.Int64:
		return int64Of(c, func(v int64) (any, error) { return within(big.NewInt(v)) })
	case parquet.Types.ByteArray:
		return bytesOf(c, fromBytes)
	case parquet.Types.FixedLenByteArray:
		return fixedOf(c, c.TypeLength(), fromBytes)
	}
	return nil
}

func same[T any](v T) (any, error) { return v, nil }

func cloned(v []byte) (any, error) { return slices.Clone(v), nil }

func textOf(v []byte) (any, error) {
	if !utf8.Valid(v) {
		return nil, errUTF8
	}
	return string(v), nil
}

func jsonOf(v []byte) (any, error) {
	if !json.Valid(v) {
		return nil, errors.New("not JSON")
	}
	return string(v), nil
}

// A cursor reads the values of one column, one row group after the other.
type cursor interface {
	// open begins a row group.
	open(file.ColumnChunkReader) error
	// next returns the next value, which is nil for null, or the reason why its row is dead. The
	// last result is an error of the file.
	next() (v any, dead, err error)
	// raw returns the bytes of the value that next returned, or nil if it was null. It may be
	// called only for strings and bytes.
	raw() []byte
	// close returns an error unless all values were read.
	close() error
}

// batch is the number of values that are decoded at once. It is small because a page may encode
// long strings in a few bytes.
const batch = 128

// typed is a cursor of values that Parquet stores as T.
type typed[T any] struct {
	required bool
	convert  func(T) (any, error)
	reader   interface {
		file.ColumnChunkReader
		ReadBatchInPage(rows int64, values []T, levels, repeats []int16) (int64, int, error)
	}
	values   [batch]T
	levels   [batch]int16
	at, rows int // next row and number of rows of the batch
	value    int // index of the next value in values
}

func required(c *schema.Column) bool { return c.MaxDefinitionLevel() == 0 }

func int32Of(c *schema.Column, convert func(int32) (any, error)) cursor {
	return onlyOf(c, parquet.Types.Int32, &typed[int32]{required: required(c), convert: convert})
}

func int64Of(c *schema.Column, convert func(int64) (any, error)) cursor {
	return onlyOf(c, parquet.Types.Int64, &typed[int64]{required: required(c), convert: convert})
}

func bytesOf(c *schema.Column, convert func([]byte) (any, error)) cursor {
	return onlyOf(c, parquet.Types.ByteArray, &typed[parquet.ByteArray]{required: required(c), convert: func(v parquet.ByteArray) (any, error) { return convert(v) }})
}

func fixedOf(c *schema.Column, length int, convert func([]byte) (any, error)) cursor {
	if c.TypeLength() != length || length < 1 {
		return nil
	}
	return onlyOf(c, parquet.Types.FixedLenByteArray, &typed[parquet.FixedLenByteArray]{required: required(c), convert: func(v parquet.FixedLenByteArray) (any, error) { return convert(v) }})
}

// onlyOf returns values if the column stores them as t, and nil otherwise.
func onlyOf(c *schema.Column, t parquet.Type, values cursor) cursor {
	if c.PhysicalType() != t {
		return nil
	}
	return values
}

func (c *typed[T]) open(r file.ColumnChunkReader) error {
	var ok bool
	if c.reader, ok = r.(interface {
		file.ColumnChunkReader
		ReadBatchInPage(rows int64, values []T, levels, repeats []int16) (int64, int, error)
	}); !ok {
		return fmt.Errorf("a column of type %v, which contradicts the schema", r.Type())
	}
	c.at, c.rows, c.value = 0, 0, 0
	return nil
}

func (c *typed[T]) next() (any, error, error) {
	if c.at == c.rows {
		if err := c.fill(); err != nil {
			return nil, nil, err
		}
	}
	c.at++
	if !c.required && c.levels[c.at-1] == 0 {
		return nil, nil, nil
	}
	c.value++
	v, dead := c.convert(c.values[c.value-1])
	return v, dead, nil
}

// fill reads the next batch. If a page has fewer values than it states, the library returns fewer
// values than levels.
func (c *typed[T]) fill() error {
	if !c.reader.HasNext() {
		if err := c.reader.Err(); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF // the group has more rows
	}
	levels := c.levels[:]
	if c.required {
		levels = nil
	}
	rows, values, err := c.reader.ReadBatchInPage(batch, c.values[:], levels, nil)
	if err != nil {
		return err
	}
	want := int(rows)
	for _, level := range levels[:min(len(levels), int(rows))] {
		if level == 0 {
			want--
		}
	}
	if rows == 0 || values != want {
		return fmt.Errorf("a page has %d values, want %d", values, want)
	}
	c.at, c.rows, c.value = 0, int(rows), 0
	return nil
}

func (c *typed[T]) raw() []byte {
	if !c.required && c.levels[c.at-1] == 0 {
		return nil
	}
	switch v := any(c.values[c.value-1]).(type) {
	case parquet.ByteArray:
		return v
	case parquet.FixedLenByteArray:
		return v
	}
	return nil
}

func (c *typed[T]) close() error {
	if c.reader == nil {
		return nil
	}
	if c.at < c.rows || c.reader.HasNext() {
		return errors.New("a column has more values than its row group has rows")
	}
	return errors.Join(c.reader.Err(), c.reader.Close())
}

// nulls is a cursor of a column without values.
type nulls struct{}

func (nulls) open(file.ColumnChunkReader) error { return nil }
func (nulls) next() (any, error, error)         { return nil, nil, nil }
func (nulls) raw() []byte                       { return nil }
func (nulls) close() error                      { return nil }

// textCursor is a cursor that returns values as text.
type textCursor struct {
	cursor
	of Column
}

func (s *textCursor) next() (any, error, error) {
	v, dead, err := s.cursor.next()
	if v == nil || dead != nil || err != nil {
		return nil, dead, err
	}
	return s.of.text(v), nil, nil
}

func (r *parquetReader) columns() []Column { return r.pass }

func (r *parquetReader) next() (x row, err error) {
	defer caught(&err)
	for r.left == 0 {
		if err := r.nextGroup(); err != nil {
			return row{}, err
		}
	}
	r.left--
	x = row{number: r.n, passed: make([]any, len(r.pass))}
	r.n++
	for i, c := range r.cursors {
		v, dead, err := c.next()
		if err != nil {
			return row{}, check.Errorf(fault.ErrInput, "the column %q: %w", r.file.MetaData().Schema.Column(r.leaves[i]).Name(), err)
		}
		if i > 0 {
			x.passed[i-1] = v
			if dead != nil && x.err == nil {
				x.err = fmt.Errorf("%q: %w", r.pass[i-1].Name, dead)
			}
		} else if x.raw = slices.Clone(c.raw()); x.raw == nil {
			x.err = errNull
		} else if !utf8.Valid(x.raw) {
			x.err = errUTF8
		} else {
			x.text = string(x.raw)
		}
	}
	return x, nil
}

// nextGroup moves to the next row group.
func (r *parquetReader) nextGroup() error {
	for _, c := range r.cursors {
		if err := c.close(); err != nil {
			return check.Errorf(fault.ErrInput, "%w", err)
		}
	}
	if r.group == r.file.NumRowGroups() {
		r.cursors = nil
		return io.EOF
	}
	group := r.file.RowGroup(r.group)
	r.group++
	r.left = group.NumRows()
	if r.left < 0 {
		return check.Errorf(fault.ErrInput, "a row group of %d rows, want at least 0", r.left)
	}
	for i, c := range r.cursors {
		if err := r.openColumn(group, r.leaves[i], c); err != nil {
			return err
		}
	}
	return nil
}

func (r *parquetReader) openColumn(group *file.RowGroupReader, leaf int, c cursor) error {
	column := r.file.MetaData().Schema.Column(leaf)
	chunk, err := group.MetaData().ColumnChunk(leaf)
	if err == nil && chunk.FilePath() != "" {
		err = fmt.Errorf("its values are in another file, %q", chunk.FilePath())
	}
	if err == nil && chunk.NumValues() != group.NumRows() {
		err = fmt.Errorf("%d values in a row group of %d rows", chunk.NumValues(), group.NumRows())
	}
	if err == nil {
		err = checkPages(r.source, r.size, column, chunk)
	}
	var reader file.ColumnChunkReader
	if err == nil {
		reader, err = group.Column(leaf)
	}
	if err == nil {
		err = c.open(reader)
	}
	if err != nil {
		return check.Errorf(fault.ErrInput, "the column %q: %w", column.Name(), err)
	}
	return nil
}

// caught converts a panic to an error: the library panics on some damaged files.
func caught(err *error) {
	if v := recover(); v != nil {
		*err = check.Errorf(fault.ErrInput, "damaged: %v", v)
	}
}
