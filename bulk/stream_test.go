package bulk_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text"
)

// batchOf returns a record batch of ids from first, and texts; "null" stands for a null.
func batchOf(schema *arrow.Schema, first int64, texts []string) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, s := range texts {
		b.Field(0).(*array.Int64Builder).Append(first + int64(i))
		appendText(b.Field(1), s)
	}
	return b.NewRecordBatch()
}

func appendText(to array.Builder, s string) {
	if runs, ok := to.(*array.RunEndEncodedBuilder); ok {
		runs.Append(1)
		to = runs.ValueBuilder()
	}
	switch to := to.(type) {
	case array.StringLikeBuilder:
		if s != "null" {
			to.Append(s)
			return
		}
	case array.BinaryLikeBuilder:
		if s != "null" {
			to.Append([]byte(s))
			return
		}
	case *array.BinaryDictionaryBuilder:
		if s != "null" {
			_ = to.AppendString(s) // the dictionary's index type is large enough
			return
		}
	}
	to.AppendNull()
}

// TestStream verifies that each batch is answered before the next is sent, with its own columns and
// Embed's vectors. Rows without a vector have the reason.
func TestStream(t *testing.T) {
	all := texts(40)
	all[3], all[20] = "null", "\xff"
	e := open(t, text.Options{Long: text.LongRefuse}) // refuses all[7]
	task, err := bulk.Embed(e, "", bulk.Float32Vectors)
	if err != nil {
		t.Fatal(err)
	}
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
	for _, kind := range []arrow.DataType{
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView, arrow.BinaryTypes.Binary, arrow.BinaryTypes.BinaryView,
		dictionary, arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String),
	} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "words", Type: kind, Nullable: true}}, nil)
		inRead, inWrite := io.Pipe()
		outRead, outWrite := io.Pipe()
		go func() {
			buffered := bufio.NewWriterSize(outWrite, 1<<16) // larger than an answer
			err := bulk.Stream(t.Context(), task, "words", inRead, buffered)
			outWrite.CloseWithError(errors.Join(err, buffered.Flush(), io.EOF))
		}()
		w := ipc.NewWriter(inWrite, ipc.WithSchema(schema))
		var r *ipc.Reader
		for at := 0; at < len(all); at += 10 {
			if err := w.Write(batchOf(schema, int64(at), all[at:at+10])); err != nil {
				t.Fatal(err)
			}
			if r == nil {
				if r, err = ipc.NewReader(outRead); err != nil {
					t.Fatal(err)
				}
			}
			answer, err := r.Read()
			if err != nil {
				t.Fatal(err)
			}
			column := func(name string) arrow.Array { return answer.Column(answer.Schema().FieldIndices(name)[0]) }
			for i, s := range all[at : at+10] {
				if got := column("id").(*array.Int64).Value(i); got != int64(at+i) {
					t.Fatalf("row %d has id %d", at+i, got)
				}
				reason := map[int]string{3: "null", 7: "too many tokens", 20: "not UTF-8"}[at+i]
				if reason != "" {
					if got := column("error").(*array.String).Value(i); !strings.Contains(got, reason) || !column("embedding").IsNull(i) {
						t.Errorf("row %d: error %q, want %q", at+i, got, reason)
					}
					continue
				}
				want, err := outputs(e.Embed(t.Context(), text.Texts(s), text.EmbedOptions{}))
				if err != nil {
					t.Fatal(err)
				}
				list := column("embedding").(*array.FixedSizeList)
				from, to := list.ValueOffsets(i)
				if !column("error").IsNull(i) || !slices.Equal(list.ListValues().(*array.Float32).Float32Values()[from:to], want[0]) {
					t.Fatalf("row %d differs", at+i)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		inWrite.Close()
		if _, err := r.Read(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last batch: %v", err)
		}
	}
}

// TestStreamWrong verifies that data that is not a stream, and unsuitable columns, are errors.
func TestStreamWrong(t *testing.T) {
	task := embedding(t, bulk.Float32Vectors, text.Options{})
	stream := func(names ...string) []byte {
		var b bytes.Buffer
		fields := []arrow.Field{{Name: names[0], Type: arrow.PrimitiveTypes.Int64}, {Name: names[1], Type: arrow.BinaryTypes.String, Nullable: true}}
		schema := arrow.NewSchema(fields, nil)
		w := ipc.NewWriter(&b, ipc.WithSchema(schema))
		if err := w.Write(batchOf(schema, 0, []string{"the cat"})); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	good := stream("id", "text")
	for _, c := range []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing", nil, fault.ErrInput},
		{"text", []byte("the cat reads"), fault.ErrInput},
		{"no column", stream("id", "words"), fault.ErrInput},
		{"numbers", stream("text", "words"), fault.ErrInput},
		{"a column that is made", stream("tokens", "text"), fault.ErrOption},
		{"cut", good[:len(good)-100], fault.ErrInput},
	} {
		if err := bulk.Stream(t.Context(), task, "", bytes.NewReader(c.in), io.Discard); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if err := bulk.Stream(t.Context(), task, "", bytes.NewReader(good), io.Discard); err != nil {
		t.Error(err)
	}
}

// TestSplitCounted verifies that split texts are marked and counted.
func TestSplitCounted(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.txt", []byte(strings.Join(texts(20), "\n")+"\n"))
	o := bulk.Options{Inputs: []string{dir + "/a.txt"}, Out: dir + "/out", Format: "parquet"}
	report, err := bulk.Run(t.Context(), embedding(t, bulk.Float32Vectors, text.Options{Long: text.LongSplit, Stride: 2}), o)
	if err != nil || report.Split != 1 || report.Cut != 0 || report.Written != 20 {
		t.Fatalf("%+v, %v", report, err)
	}
	for i, row := range vectors(t, dir+"/out/a.txt.parquet") {
		if (row.Windows > 1) != (i == 7) {
			t.Errorf("row %d has %d windows", i, row.Windows)
		}
	}
}
