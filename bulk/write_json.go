// This file writes JSONL, and NumPy's .npy with a JSONL file next to it.

package bulk

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/internal/npy"
	"github.com/avoformer/avoformer/internal/textline"
)

// jsonWriter writes one object per row.
type jsonWriter struct {
	w       io.Writer
	columns []Column
	value   func(dst []byte, c Column, v any) []byte // appends a value
	line    []byte
}

func newJSONWriter(files []io.Writer, columns []Column) (writer, error) {
	return &jsonWriter{w: files[0], columns: columns, value: appendJSON}, nil
}

func (w *jsonWriter) write(rows [][]any) error {
	for _, row := range rows {
		if err := w.row(row); err != nil {
			return err
		}
	}
	return nil
}

func (w *jsonWriter) row(row []any) error {
	w.line = append(w.line[:0], '{')
	for i, c := range w.columns {
		if i > 0 {
			w.line = append(w.line, ',')
		}
		w.line = append(append(w.line, textline.Quote(c.Name)...), ':')
		w.line = w.value(w.line, c, row[i])
	}
	w.line = append(w.line, "}\n"...)
	_, err := w.w.Write(w.line)
	return err
}

func (w *jsonWriter) close() error { return nil }

// appendJSON appends a value of a column. Numbers that are not finite are null, and bytes are in
// base64.
func appendJSON(dst []byte, c Column, v any) []byte {
	if v != nil && c.writtenAsText() {
		return append(dst, textline.Quote(c.text(v))...)
	}
	switch v := v.(type) {
	case string:
		if c.Kind == JSON {
			return appendValue(dst, v)
		}
		return append(dst, textline.Quote(v)...)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case int32:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float32:
		return appendFloat(dst, float64(v), 32)
	case float64:
		return appendFloat(dst, v, 64)
	case bool:
		return strconv.AppendBool(dst, v)
	case []byte:
		return append(append(append(dst, '"'), base64.StdEncoding.EncodeToString(v)...), '"')
	case []float32:
		return appendList(dst, len(v), func(dst []byte, i int) []byte { return appendFloat(dst, float64(v[i]), 32) })
	case []uint16:
		return appendList(dst, len(v), func(dst []byte, i int) []byte { return appendFloat(dst, float64(half.Float16(v[i])), 32) })
	case []int8:
		return appendList(dst, len(v), func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(v[i]), 10) })
	}
	return append(dst, "null"...)
}

// appendValue appends the text of a JSON value, in one line.
func appendValue(dst []byte, v string) []byte {
	if strings.ContainsAny(v, "\r\n") {
		var b bytes.Buffer
		if json.Compact(&b, []byte(v)) == nil {
			return append(dst, b.Bytes()...)
		}
	}
	return append(dst, v...)
}

func appendList(dst []byte, n int, element func(dst []byte, i int) []byte) []byte {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, i)
	}
	return append(dst, ']')
}

func appendFloat(dst []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

// numpyWriter writes the first column of vectors as an array [rows, length], and the other columns
// to a file next to it.
type numpyWriter struct {
	array  *output
	others jsonWriter
	vector int // index of the column
	length int
	descr  string
	rows   int
	buffer []byte
	row    []any
}

func newNumpyWriter(files []io.Writer, columns []Column) (writer, error) {
	w := &numpyWriter{vector: -1, others: jsonWriter{w: files[1], value: appendJSON}}
	var ok bool
	if w.array, ok = files[0].(*output); !ok {
		return nil, check.Errorf(fault.ErrOption, "npy needs a file, because its header is rewritten at the end")
	}
	for i, c := range columns {
		if c.Length > 0 && w.vector < 0 {
			w.vector, w.length = i, c.Length
			w.descr = map[Kind]string{Floats: "<f4", Float16s: "<f2", Int8s: "|i1", Bytes: "|u1"}[c.Kind]
			continue
		}
		w.others.columns = append(w.others.columns, c)
	}
	if w.vector < 0 {
		return nil, check.Errorf(fault.ErrOption, "npy needs vectors, and the task has none")
	}
	_, err := w.array.Write(npy.Header(w.descr, 0, w.length))
	return w, err
}

func (w *numpyWriter) write(rows [][]any) error {
	for _, row := range rows {
		w.buffer = w.buffer[:0]
		switch v := row[w.vector].(type) {
		case []float32:
			for _, x := range v {
				w.buffer = binary.LittleEndian.AppendUint32(w.buffer, math.Float32bits(x))
			}
		case []uint16:
			for _, x := range v {
				w.buffer = binary.LittleEndian.AppendUint16(w.buffer, x)
			}
		case []int8:
			for _, x := range v {
				w.buffer = append(w.buffer, byte(x))
			}
		case []byte:
			w.buffer = append(w.buffer, v...)
		}
		if _, err := w.array.Write(w.buffer); err != nil {
			return err
		}
		w.row = append(append(w.row[:0], row[:w.vector]...), row[w.vector+1:]...)
		if err := w.others.row(w.row); err != nil {
			return err
		}
	}
	w.rows += len(rows)
	return nil
}

func (w *numpyWriter) close() error {
	return w.array.rewrite(npy.Header(w.descr, w.rows, w.length))
}
