// This file writes Arrow IPC files.

package bulk

import (
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// arrowType returns Arrow's type for a column.
func arrowType(c Column) arrow.DataType {
	switch c.Kind {
	case Int32:
		return arrow.PrimitiveTypes.Int32
	case Int64:
		return arrow.PrimitiveTypes.Int64
	case Float32:
		return arrow.PrimitiveTypes.Float32
	case Float64:
		return arrow.PrimitiveTypes.Float64
	case Uint64:
		return arrow.PrimitiveTypes.Uint64
	case Bool:
		return arrow.FixedWidthTypes.Boolean
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Time:
		if c.Unit == time.Millisecond {
			return arrow.FixedWidthTypes.Time32ms
		}
		return &arrow.Time64Type{Unit: arrowUnits[c.Unit]}
	case Timestamp:
		return &arrow.TimestampType{Unit: arrowUnits[c.Unit], TimeZone: c.Zone}
	case Decimal:
		if c.Precision > 38 {
			return &arrow.Decimal256Type{Precision: int32(c.Precision), Scale: int32(c.Scale)}
		}
		return &arrow.Decimal128Type{Precision: int32(c.Precision), Scale: int32(c.Scale)}
	case UUID:
		return &arrow.FixedSizeBinaryType{ByteWidth: 16}
	case Bytes:
		if c.Length > 0 {
			return &arrow.FixedSizeBinaryType{ByteWidth: c.Length}
		}
		return arrow.BinaryTypes.Binary
	case Floats:
		return arrow.FixedSizeListOfNonNullable(int32(c.Length), arrow.PrimitiveTypes.Float32)
	case Float16s:
		return arrow.FixedSizeListOfNonNullable(int32(c.Length), arrow.FixedWidthTypes.Float16)
	case Int8s:
		return arrow.FixedSizeListOfNonNullable(int32(c.Length), arrow.PrimitiveTypes.Int8)
	}
	return arrow.BinaryTypes.String
}

var arrowUnits = map[time.Duration]arrow.TimeUnit{time.Millisecond: arrow.Millisecond, time.Microsecond: arrow.Microsecond, time.Nanosecond: arrow.Nanosecond}

// arrowUUID is the metadata that marks a field of 16 bytes as a UUID.
var arrowUUID = arrow.NewMetadata([]string{ipc.ExtensionTypeKeyName, ipc.ExtensionMetadataKeyName}, []string{"arrow.uuid", ""})

// arrowSchema returns the Arrow schema of columns.
func arrowSchema(columns []Column) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowType(c), Nullable: c.Length == 0}
		if c.Kind == UUID {
			fields[i].Metadata = arrowUUID
		}
	}
	return arrow.NewSchema(fields, nil)
}

// appendArrow appends a value to the builder of a column.
func appendArrow(to array.Builder, v any) {
	switch v := v.(type) {
	case string:
		to.(*array.StringBuilder).Append(v)
	case int32:
		if dates, ok := to.(*array.Date32Builder); ok {
			dates.Append(arrow.Date32(v))
		} else {
			to.(*array.Int32Builder).Append(v)
		}
	case int64:
		switch to := to.(type) {
		case *array.Time32Builder:
			to.Append(arrow.Time32(v))
		case *array.Time64Builder:
			to.Append(arrow.Time64(v))
		case *array.TimestampBuilder:
			to.Append(arrow.Timestamp(v))
		default:
			to.(*array.Int64Builder).Append(v)
		}
	case uint64:
		to.(*array.Uint64Builder).Append(v)
	case *big.Int:
		if long, ok := to.(*array.Decimal256Builder); ok {
			long.Append(decimal256.FromBigInt(v))
		} else {
			to.(*array.Decimal128Builder).Append(decimal128.FromBigInt(v))
		}
	case [16]byte:
		to.(*array.FixedSizeBinaryBuilder).Append(v[:])
	case float32:
		to.(*array.Float32Builder).Append(v)
	case float64:
		to.(*array.Float64Builder).Append(v)
	case bool:
		to.(*array.BooleanBuilder).Append(v)
	case []byte:
		if fixed, ok := to.(*array.FixedSizeBinaryBuilder); ok {
			fixed.Append(v)
		} else {
			to.(*array.BinaryBuilder).Append(v)
		}
	case []float32:
		list := to.(*array.FixedSizeListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.Float32Builder).AppendValues(v, nil)
	case []uint16:
		list := to.(*array.FixedSizeListBuilder)
		list.Append(true)
		halves := list.ValueBuilder().(*array.Float16Builder)
		halves.Reserve(len(v))
		for _, x := range v {
			halves.UnsafeAppend(float16.FromBits(x))
		}
	case []int8:
		list := to.(*array.FixedSizeListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.Int8Builder).AppendValues(v, nil)
	default:
		to.AppendNull()
	}
}

// arrowWriter writes the rows of each call as a record batch.
type arrowWriter struct {
	builder *array.RecordBuilder
	file    interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
}

func newArrowWriter(files []io.Writer, columns []Column) (writer, error) {
	schema := arrowSchema(columns)
	file, err := ipc.NewFileWriter(files[0], ipc.WithSchema(schema))
	if err != nil {
		return nil, err
	}
	return &arrowWriter{array.NewRecordBuilder(memory.DefaultAllocator, schema), file}, nil
}

func (w *arrowWriter) write(rows [][]any) error {
	for _, row := range rows {
		for i, v := range row {
			appendArrow(w.builder.Field(i), v)
		}
	}
	batch := w.builder.NewRecordBatch()
	defer batch.Release()
	if err := w.file.Write(batch); err != nil {
		return fmt.Errorf("arrow: %w", err)
	}
	return nil
}

func (w *arrowWriter) close() error {
	w.builder.Release()
	return w.file.Close()
}
