// This file writes Parquet files.

package bulk

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// Limits of a row group. A group is large enough for efficient reads, and small enough that several
// fit into memory: each is in memory until it is written.
const (
	groupBytes = 16 << 20
	groupRows  = 1 << 15
)

// parquetWriter writes row groups.
type parquetWriter struct {
	file    *file.Writer
	columns []stored
	most    int // rows of a group
	rows    int // of the current group
}

// WriteParquet writes rows as Run writes them. Each row has the values of all columns.
func WriteParquet(out io.Writer, columns []Column, rows iter.Seq[[]any]) error {
	w, err := newParquetWriter([]io.Writer{out}, columns)
	if err != nil {
		return err
	}
	for row := range rows {
		if err := w.write([][]any{row}); err != nil {
			return err
		}
	}
	return w.close()
}

func newParquetWriter(files []io.Writer, columns []Column) (writer, error) {
	w := &parquetWriter{}
	bytes := 0
	var fields schema.FieldList
	// Vectors are not compressed and have no statistics: both would cost time and save little.
	const fastest = 1
	properties := []parquet.WriterProperty{parquet.WithCreatedBy("avoformer"), parquet.WithDictionaryDefault(false), parquet.WithRootName("rows"),
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(fastest)}
	for _, c := range columns {
		bytes += 8 + 4*c.Length
		field, values, err := storedAs(c)
		if err != nil {
			return nil, err
		}
		fields, w.columns = append(fields, field), append(w.columns, values)
		if c.Length > 0 {
			path := c.Name
			if c.Kind != Bytes {
				path += ".list.element"
			}
			properties = append(properties, parquet.WithStatsFor(path, false), parquet.WithCompressionFor(path, compress.Codecs.Uncompressed))
			if c.Kind == Int8s { // an index of a dictionary takes one byte per element, an integer takes four
				properties = append(properties, parquet.WithDictionaryFor(path, true), parquet.WithDictionaryCostFallbackFor(path, false))
			}
		}
	}
	w.most = min(max(groupBytes/bytes, 1024), groupRows)
	root, err := schema.NewGroupNode("rows", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return nil, err
	}
	arrow, err := arrowMetadata(columns)
	if err != nil {
		return nil, err
	}
	extra := metadata.NewKeyValueMetadata()
	if err := extra.Append("ARROW:schema", arrow); err != nil {
		return nil, err
	}
	w.file, err = file.NewParquetWriterWithError(files[0], root, file.WithWriterProps(parquet.NewWriterProperties(properties...)), file.WithWriteMetadata(extra))
	return w, err
}

// arrowMetadata returns the Arrow schema of columns. Readers that use Arrow learn from it that
// vectors have a fixed length, and the zones of timestamps; Parquet has no type for these.
func arrowMetadata(columns []Column) (string, error) {
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(arrowSchema(columns)))
	if err := w.Close(); err != nil {
		return "", err
	}
	const end = 8 // bytes of the mark of a stream's end
	return base64.StdEncoding.EncodeToString(b.Bytes()[:b.Len()-end]), nil
}

func (w *parquetWriter) write(rows [][]any) error {
	for _, row := range rows {
		for i, c := range w.columns {
			c.add(row[i])
		}
		if w.rows++; w.rows == w.most {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the row group.
func (w *parquetWriter) flush() error {
	if w.rows == 0 {
		return nil
	}
	w.rows = 0
	group, err := w.file.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	for _, c := range w.columns {
		to, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := c.write(to); err != nil {
			return err
		}
		if err := to.Close(); err != nil {
			return err
		}
	}
	return group.Close()
}

func (w *parquetWriter) close() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.file.FlushWithFooter()
}

// stored has the values of a column in the current row group.
type stored interface {
	add(v any)
	write(to file.ColumnChunkWriter) error
}

// storedAs returns Parquet's schema of a column, and the storage of its values. Vectors are lists
// of elements that are not null; all other values may be null.
func storedAs(c Column) (schema.Node, stored, error) {
	optional := parquet.Repetitions.Optional
	logical := func(l schema.LogicalType, t parquet.Type, length int, values stored) (schema.Node, stored, error) {
		node, err := schema.NewPrimitiveNodeLogical(c.Name, optional, l, t, length, -1)
		return node, values, err
	}
	plain := func(t parquet.Type, values stored) (schema.Node, stored, error) {
		return logical(schema.NoLogicalType{}, t, -1, values)
	}
	list := func(l schema.LogicalType, t parquet.Type, length int, values stored) (schema.Node, stored, error) {
		element, err := schema.NewPrimitiveNodeLogical("element", parquet.Repetitions.Required, l, t, length, -1)
		if err != nil {
			return nil, nil, err
		}
		node, err := schema.ListOfWithName(c.Name, element, parquet.Repetitions.Required, -1)
		return node, values, err
	}
	units := map[time.Duration]schema.TimeUnitType{time.Millisecond: schema.TimeUnitMillis, time.Microsecond: schema.TimeUnitMicros, time.Nanosecond: schema.TimeUnitNanos}
	types := parquet.Types
	switch c.Kind {
	case String:
		return logical(schema.StringLogicalType{}, types.ByteArray, -1, &values[string, parquet.ByteArray]{as: func(v string) parquet.ByteArray { return parquet.ByteArray(v) }})
	case JSON:
		return logical(schema.JSONLogicalType{}, types.ByteArray, -1, &values[string, parquet.ByteArray]{as: func(v string) parquet.ByteArray { return parquet.ByteArray(v) }})
	case Bool:
		return plain(types.Boolean, &values[bool, bool]{as: itself[bool]})
	case Int32:
		return plain(types.Int32, &values[int32, int32]{as: itself[int32]})
	case Int64:
		return plain(types.Int64, &values[int64, int64]{as: itself[int64]})
	case Uint64:
		return logical(schema.NewIntLogicalType(64, false), types.Int64, -1, &values[uint64, int64]{as: func(v uint64) int64 { return int64(v) }})
	case Float32:
		return plain(types.Float, &values[float32, float32]{as: itself[float32]})
	case Float64:
		return plain(types.Double, &values[float64, float64]{as: itself[float64]})
	case Floats:
		return list(schema.NoLogicalType{}, types.Float, -1, &vectors[float32, float32]{as: itself[float32]})
	case Float16s:
		return list(schema.Float16LogicalType{}, types.FixedLenByteArray, 2, &vectors[uint16, parquet.FixedLenByteArray]{as: func(v uint16) parquet.FixedLenByteArray {
			return binary.LittleEndian.AppendUint16(nil, v)
		}})
	case Int8s:
		return list(schema.NewIntLogicalType(8, true), types.Int32, -1, &vectors[int8, int32]{as: func(v int8) int32 { return int32(v) }})
	case Date:
		return logical(schema.DateLogicalType{}, types.Int32, -1, &values[int32, int32]{as: itself[int32]})
	case Time:
		l := schema.NewTimeLogicalType(true, units[c.Unit])
		if c.Unit == time.Millisecond {
			return logical(l, types.Int32, -1, &values[int64, int32]{as: func(v int64) int32 { return int32(v) }})
		}
		return logical(l, types.Int64, -1, &values[int64, int64]{as: itself[int64]})
	case Timestamp:
		return logical(schema.NewTimestampLogicalType(c.Zone != "", units[c.Unit]), types.Int64, -1, &values[int64, int64]{as: itself[int64]})
	case Decimal:
		bits := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Precision)), nil).BitLen() + 1 // and the sign
		length := (bits + 7) / 8
		return logical(schema.NewDecimalLogicalType(int32(c.Precision), int32(c.Scale)), types.FixedLenByteArray, length, &values[*big.Int, parquet.FixedLenByteArray]{as: func(v *big.Int) parquet.FixedLenByteArray {
			if v.Sign() < 0 { // two's complement
				v = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*length)))
			}
			return v.FillBytes(make([]byte, length))
		}})
	case UUID:
		return logical(schema.UUIDLogicalType{}, types.FixedLenByteArray, 16, &values[[16]byte, parquet.FixedLenByteArray]{as: func(v [16]byte) parquet.FixedLenByteArray { return v[:] }})
	case Bytes:
		if c.Length == 0 {
			return plain(types.ByteArray, &values[[]byte, parquet.ByteArray]{as: func(v []byte) parquet.ByteArray { return v }})
		}
		optional = parquet.Repetitions.Required
		return logical(schema.NoLogicalType{}, types.FixedLenByteArray, c.Length, &values[[]byte, parquet.FixedLenByteArray]{required: true, as: func(v []byte) parquet.FixedLenByteArray { return v }})
	}
	return nil, nil, fmt.Errorf("bulk: the column %q has the kind %d, which does not exist", c.Name, c.Kind)
}

func itself[T any](v T) T { return v }

// to writes values of type P.
type to[P any] interface {
	WriteBatch(values []P, levels, repeats []int16) (int64, error)
}

// values has values of type V that Parquet stores as P.
type values[V, P any] struct {
	as       func(V) P
	required bool
	held     []P
	levels   []int16
}

func (c *values[V, P]) add(v any) {
	if v == nil {
		c.levels = append(c.levels, 0)
		return
	}
	c.levels = append(c.levels, 1)
	c.held = append(c.held, c.as(v.(V)))
}

func (c *values[V, P]) write(w file.ColumnChunkWriter) error {
	levels := c.levels
	if c.required {
		levels = nil
	}
	_, err := w.(to[P]).WriteBatch(c.held, levels, nil)
	clear(c.held)
	c.held, c.levels = c.held[:0], c.levels[:0]
	return err
}

// vectors has lists of V whose elements Parquet stores as P.
type vectors[V, P any] struct {
	as              func(V) P
	held            []P
	levels, repeats []int16
}

func (c *vectors[V, P]) add(v any) {
	for i, x := range v.([]V) {
		c.held, c.levels, c.repeats = append(c.held, c.as(x)), append(c.levels, 1), append(c.repeats, int16(min(i, 1)))
	}
}

func (c *vectors[V, P]) write(w file.ColumnChunkWriter) error {
	_, err := w.(to[P]).WriteBatch(c.held, c.levels, c.repeats)
	c.held, c.levels, c.repeats = c.held[:0], c.levels[:0], c.repeats[:0]
	return err
}
