// Parquet files.

package bulk

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"io"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// The limits of a row group: large enough for efficient reads, and small enough for a worker to hold several,
// since a group is in memory until it is written.
const (
	groupBytes = 16 << 20
	groupRows  = 1 << 15
)

// fast compresses all columns but vectors. It is one, because each has an encoder's 8 MiB.
var fast = &zstd.Codec{Level: zstd.SpeedFastest}

// parquetWriter writes row groups; columns are in the order of their names.
type parquetWriter struct {
	file    *parquet.GenericWriter[any]
	columns []Column
	order   []int // the columns' numbers in rows
	most    int   // rows of a group
	rows    int   // of the current group
	values  []parquet.Value
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
	group := parquet.Group{}
	for i, c := range columns {
		w.order = append(w.order, i)
		bytes += 8 + 4*c.Length
		group[c.Name] = parquetNode(c)
	}
	w.most = min(max(groupBytes/bytes, 1024), groupRows)
	slices.SortFunc(w.order, func(a, b int) int { return cmp.Compare(columns[a].Name, columns[b].Name) })
	for _, i := range w.order {
		w.columns = append(w.columns, columns[i])
	}
	schema, err := arrowMetadata(w.columns)
	if err != nil {
		return nil, err
	}
	w.file = parquet.NewGenericWriter[any](files[0], parquet.NewSchema("rows", group), parquet.CreatedBy("avoformer", "", ""),
		parquet.KeyValueMetadata("ARROW:schema", schema), parquet.SkipPageBounds("embedding", "list", "element"))
	return w, nil
}

// parquetNode returns a column. Vectors are lists of elements that are there; in fewer bits dictionaries hold them,
// which take a byte an element.
func parquetNode(c Column) parquet.Node {
	switch c.Kind {
	case Floats:
		return parquet.List(parquet.Encoded(parquet.Leaf(parquet.FloatType), &parquet.Plain))
	case Int8s:
		return parquet.List(parquet.Encoded(parquet.Int(8), &parquet.RLEDictionary))
	case Bytes:
		if c.Length > 0 {
			return parquet.Leaf(parquet.FixedLenByteArrayType(c.Length))
		}
	}
	t := map[Kind]parquet.Node{
		String: parquet.String(), JSON: parquet.JSON(), Bytes: parquet.Leaf(parquet.ByteArrayType), Bool: parquet.Leaf(parquet.BooleanType),
		Int32: parquet.Leaf(parquet.Int32Type), Int64: parquet.Leaf(parquet.Int64Type), Float32: parquet.Leaf(parquet.FloatType), Float64: parquet.Leaf(parquet.DoubleType),
	}[c.Kind]
	return parquet.Optional(parquet.Compressed(t, fast))
}

// arrowMetadata tells readers that use Arrow that vectors have a fixed length, for which Parquet has no type.
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
		w.values = w.values[:0]
		for leaf, i := range w.order {
			w.values = appendParquet(w.values, leaf, w.columns[leaf], row[i])
		}
		if _, err := w.file.WriteRows([]parquet.Row{w.values}); err != nil {
			return err
		}
		if w.rows++; w.rows == w.most {
			w.rows = 0
			if err := w.file.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *parquetWriter) close() error { return w.file.Close() }

// appendParquet appends the values of the leaf of a column.
func appendParquet(dst []parquet.Value, leaf int, c Column, v any) []parquet.Value {
	switch v := v.(type) {
	case []float32:
		for i, x := range v {
			dst = append(dst, parquet.FloatValue(x).Level(min(i, 1), 1, leaf))
		}
		return dst
	case []int8:
		for i, x := range v {
			dst = append(dst, parquet.Int32Value(int32(x)).Level(min(i, 1), 1, leaf))
		}
		return dst
	case []byte:
		if c.Length > 0 {
			return append(dst, parquet.FixedLenByteArrayValue(v).Level(0, 0, leaf))
		}
		return append(dst, parquet.ByteArrayValue(v).Level(0, 1, leaf))
	case string:
		return append(dst, parquet.ByteArrayValue([]byte(v)).Level(0, 1, leaf))
	case nil:
		return append(dst, parquet.NullValue().Level(0, 0, leaf))
	}
	return append(dst, parquet.ValueOf(v).Level(0, 1, leaf))
}
