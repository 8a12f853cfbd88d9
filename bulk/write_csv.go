// This file writes CSV for databases: PostgreSQL's COPY, DuckDB, and SQLite's .import.

package bulk

import (
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"
)

// csvWriter writes a header and one line per row, after RFC 4180. A null is an empty field, and an
// empty string is an empty field in quotes, which PostgreSQL distinguishes. Vectors are JSON lists,
// which pgvector and sqlite-vec read. Vectors of bits are digits, the first dimension first. Other
// bytes are in hexadecimal after \x.
type csvWriter struct {
	w       io.Writer
	columns []Column
	line    []byte
}

func newCSVWriter(files []io.Writer, columns []Column) (writer, error) {
	w := &csvWriter{w: files[0], columns: columns}
	for i, c := range columns {
		if i > 0 {
			w.line = append(w.line, ',')
		}
		w.line = appendField(w.line, c.Name)
	}
	_, err := w.w.Write(append(w.line, '\n'))
	return w, err
}

func (w *csvWriter) write(rows [][]any) error {
	for _, row := range rows {
		w.line = w.line[:0]
		for i, c := range w.columns {
			if i > 0 {
				w.line = append(w.line, ',')
			}
			w.line = appendCSV(w.line, c, row[i])
		}
		w.line = append(w.line, '\n')
		if _, err := w.w.Write(w.line); err != nil {
			return err
		}
	}
	return nil
}

func (w *csvWriter) close() error { return nil }

// appendCSV appends a value of a column.
func appendCSV(dst []byte, c Column, v any) []byte {
	switch v := v.(type) {
	case nil:
		return dst
	case string:
		return appendField(dst, v)
	case []byte:
		if c.Length > 0 {
			for _, b := range v {
				dst = fmt.Appendf(dst, "%08b", b)
			}
			return dst
		}
		return hex.AppendEncode(append(dst, `\x`...), v)
	case []float32, []uint16, []int8:
		return append(appendJSON(append(dst, '"'), c, v), '"')
	case float32:
		if isSpecial(float64(v)) {
			return appendSpecial(dst, float64(v))
		}
	case float64:
		if isSpecial(v) {
			return appendSpecial(dst, v)
		}
	}
	if c.writtenAsText() {
		return appendField(dst, c.text(v))
	}
	return appendJSON(dst, c, v)
}

func isSpecial(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// appendSpecial appends a number that is not finite, as PostgreSQL and DuckDB read it.
func appendSpecial(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case v < 0:
		return append(dst, "-Infinity"...)
	}
	return append(dst, "Infinity"...)
}

// appendField appends a text, in quotes if readers need them.
func appendField(dst []byte, s string) []byte {
	if s != "" && s != `\.` && !strings.ContainsAny(s, "\",\r\n") {
		return append(dst, s...)
	}
	return append(append(append(dst, '"'), strings.ReplaceAll(s, `"`, `""`)...), '"')
}
