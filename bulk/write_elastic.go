// This file writes bodies of requests to Elasticsearch and OpenSearch.

package bulk

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/internal/textline"
)

// elasticWriter writes the body of a request to _bulk. Each row has two lines, the action and the
// document. Vectors of bits are lists of bytes from -128 to 127, which both databases read. Other
// bytes are in base64, as the databases' type binary requires.
//
// A document's _id is the column "id" if there is one and it has a value, and otherwise the shard's
// name and the number of the row. Thus a repeated request replaces documents instead of adding them
// a second time.
type elasticWriter struct {
	jsonWriter
	shard   string
	row, id int // indices of columns; id is -1 if there is no such column
}

func newElasticWriter(files []io.Writer, columns []Column, shard string) (writer, error) {
	number := func(name string) int { return slices.IndexFunc(columns, func(c Column) bool { return c.Name == name }) }
	return &elasticWriter{jsonWriter{w: files[0], columns: columns, value: appendElastic}, shard, number("row"), number("id")}, nil
}

func (w *elasticWriter) write(rows [][]any) error {
	for _, row := range rows {
		if _, err := fmt.Fprintf(w.w, "{\"index\":{\"_id\":%s}}\n", w.idOf(row)); err != nil {
			return err
		}
		if err := w.jsonWriter.row(row); err != nil {
			return err
		}
	}
	return nil
}

// idOf returns the _id of a row's document, as JSON.
func (w *elasticWriter) idOf(row []any) []byte {
	if w.id >= 0 && row[w.id] != nil {
		switch id := appendElastic(nil, w.columns[w.id], row[w.id]); {
		case string(id) == `""`, string(id) == "null": // not an id: several rows may have it, and would replace each other
		case id[0] == '"':
			return id
		default:
			return textline.Quote(string(id))
		}
	}
	return textline.Quote(fmt.Sprintf("%s:%d", w.shard, row[w.row]))
}

func appendElastic(dst []byte, c Column, v any) []byte {
	if bits, ok := v.([]byte); ok && c.Length > 0 {
		return appendList(dst, len(bits), func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(int8(bits[i])), 10) })
	}
	return appendJSON(dst, c, v)
}
