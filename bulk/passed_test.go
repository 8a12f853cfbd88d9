package bulk_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/bulk"
)

// TestParquetFiles reads files that pyarrow, polars and DuckDB wrote: every codec, version of
// pages, encoding and type, with nulls, several row groups and pages, and a nested column between
// those that are read. The expected values are those that pyarrow reads
// (scripts/configs/files_parquet.py -small).
func TestParquetFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/parquet/*.parquet")
	if err != nil || len(files) < 10 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, path := range files {
		name := filepath.Base(path)
		t.Run(strings.TrimSuffix(name, ".parquet"), func(t *testing.T) {
			writer, _, _ := strings.Cut(name, "-")
			want := objects(t, "testdata/parquet/"+writer+".jsonl")
			var pass []string
			for column := range want[0] {
				if column != "text" {
					pass = append(pass, column)
				}
			}
			result, counts, err := echoed(t.Context(), path, t.TempDir(), "jsonl", "text", pass)
			if err != nil || counts.Rows != uint64(len(want)) || counts.Written != counts.Rows {
				t.Fatalf("%+v, %v", counts, err)
			}
			for i, got := range objects(t, result) {
				for column, v := range want[i] {
					if column == "text" {
						column = "echo"
					}
					if !equal(got[column], v) {
						t.Errorf("row %d: %s is %s, want %s", i, column, got[column], v)
					}
				}
			}
		})
	}
}

// TestBytesAsText verifies that a column of bytes without the UTF-8 annotation can have texts, and
// that a row that is not UTF-8 is a dead letter.
func TestBytesAsText(t *testing.T) {
	var b bytes.Buffer
	rows := [][]any{{[]byte("Straße"), []byte{0xff}}, {[]byte{'a', 0xff}, nil}, {nil, []byte{}}, {[]byte{}, []byte("x")}}
	if err := bulk.WriteParquet(&b, []bulk.Column{{Name: "text", Kind: bulk.Bytes}, {Name: "other", Kind: bulk.Bytes}}, slices.Values(rows)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, path, b.Bytes())
	result, counts, err := echoed(t.Context(), path, t.TempDir(), "jsonl", "text", []string{"other"})
	if err != nil || counts.Written != 2 || counts.Dead != 2 {
		t.Fatalf("%+v, %v", counts, err)
	}
	got := objects(t, result)
	if string(got[0]["echo"]) != `"Straße"` || string(got[0]["other"]) != `"/w=="` || string(got[1]["echo"]) != `""` {
		t.Errorf("%s", got)
	}
}

// objects reads the lines of a file.
func objects(t *testing.T, path string) []map[string]json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]json.RawMessage
	for line := range bytes.Lines(data) {
		var row map[string]json.RawMessage
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// equal reports whether two JSON values are equal. It compares the digits of integers, because
// float64 has too few.
func equal(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	if u, ok := x.(float64); ok {
		v, ok := y.(float64)
		return ok && bytes.ContainsAny(b, ".e") && math.Float64bits(u) == math.Float64bits(v)
	}
	return reflect.DeepEqual(x, y)
}
