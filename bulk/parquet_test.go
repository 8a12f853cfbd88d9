package bulk_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// parquetOf returns a file with the columns "id" and "text", and a row group for each part of the
// records.
func parquetOf(t testing.TB, parts ...[]record) []byte {
	t.Helper()
	text, err := schema.NewPrimitiveNodeLogical("text", parquet.Repetitions.Required, schema.StringLogicalType{}, parquet.Types.ByteArray, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	root, err := schema.NewGroupNode("rows", parquet.Repetitions.Required, schema.FieldList{schema.NewInt64Node("id", parquet.Repetitions.Required, -1), text}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := file.NewParquetWriterWithError(&b, root)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		group, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		var texts []parquet.ByteArray
		for _, r := range part {
			ids, texts = append(ids, r.ID), append(texts, parquet.ByteArray(r.Text))
		}
		for range 2 {
			c, err := group.NextColumn()
			if err != nil {
				t.Fatal(err)
			}
			switch c := c.(type) {
			case *file.Int64ColumnChunkWriter:
				_, err = c.WriteBatch(ids, nil, nil)
			case *file.ByteArrayColumnChunkWriter:
				_, err = c.WriteBatch(texts, nil, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// parquetVectors reads results from a file. Unlike bulk's reader, it reads whole columns with the
// library.
func parquetVectors(t testing.TB, path string) []vector {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var rows []vector
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		part := make([]vector, group.NumRows())
		for i := range group.NumColumns() {
			c, err := group.Column(i)
			if err != nil {
				t.Fatal(err)
			}
			switch name := c.Descriptor().Path(); name {
			case "id", "row":
				for i, v := range values[int64](t, c, len(part)) {
					if name == "id" {
						part[i].ID = &v
					} else {
						part[i].Row = v
					}
				}
			case "windows":
				for i, v := range values[int32](t, c, len(part)) {
					part[i].Windows = v
				}
			case "cut":
				for i, v := range values[bool](t, c, len(part)) {
					part[i].Cut = v
				}
			case "embedding.list.element":
				chunk, err := group.MetaData().ColumnChunk(i)
				if err != nil {
					t.Fatal(err)
				}
				all := values[float32](t, c, int(chunk.NumValues()))
				for i := range part {
					each := len(all) / len(part)
					part[i].Embedding = all[i*each : (i+1)*each]
				}
			}
		}
		rows = append(rows, part...)
	}
	return rows
}

// values reads n values of a column without nulls.
func values[T any](t testing.TB, c file.ColumnChunkReader, n int) []T {
	t.Helper()
	out, levels := make([]T, n), make([]int16, n)
	_, got, err := c.(interface {
		ReadBatch(n int64, values []T, levels, repeats []int16) (int64, int, error)
	}).ReadBatch(int64(n), out, levels, make([]int16, n))
	if err != nil || got != n {
		t.Fatalf("%d values of %d, %v", got, n, err)
	}
	return out
}
