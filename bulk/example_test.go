package bulk_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/text"
)

const tiny = "../text/examples/models/"

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// This example converts a file of lines to a file of vectors. A second run finds the results.
func ExampleRun() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	lines := filepath.Join(dir, "lines.txt")
	must(os.WriteFile(lines, []byte("My bread did not rise.\nThe train was late.\n"), 0o666))

	e, err := text.OpenEmbedder(tiny+"embed", text.Options{})
	must(err)
	task, err := bulk.Embed(e, "", bulk.Float32Vectors)
	must(err)
	for range 2 {
		report, err := bulk.Run(ctx, task, bulk.Options{Inputs: []string{lines}, Out: filepath.Join(dir, "vectors"), Format: "jsonl"})
		must(err)
		fmt.Println(report.Made, "made,", report.Found, "found;", report.Written, "rows of", report.Rows)
	}
	manifest, err := bulk.ReadManifest(filepath.Join(dir, "vectors", "lines.txt.json"))
	must(err)
	fmt.Println(manifest.Outputs[0].Name)
	// Output:
	// 1 made, 0 found; 2 rows of 2
	// 0 made, 1 found; 2 rows of 2
	// lines.txt.out.jsonl
}

// This example prints the columns of two tasks: scores for a query, and labels.
func ExampleRank() {
	r, err := text.OpenReranker(tiny+"rerank", text.Options{})
	must(err)
	c, err := text.OpenClassifier(tiny+"spam", text.Options{})
	must(err)
	for _, task := range []bulk.Task{bulk.Rank(r, "how long does a soup boil?"), bulk.Classify(c)} {
		results, err := task.Each(context.Background(), []string{"You have won a free phone, click this link now!"})
		must(err)
		for i, column := range task.Columns {
			if column.Kind == bulk.String {
				fmt.Println(column.Name, results[0].Values[i])
			} else {
				fmt.Println(column.Name)
			}
		}
	}
	// Output:
	// score
	// label spam
	// score
	// labels
}

// This example computes vectors for Arrow record batches, as workers of Spark and Ray send them.
func ExampleStream() {
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.StringBuilder).AppendValues([]string{"bread", "trains"}, nil)
	var in, out bytes.Buffer
	w := ipc.NewWriter(&in, ipc.WithSchema(schema))
	must(w.Write(b.NewRecordBatch()))
	must(w.Close())

	e, err := text.OpenEmbedder(tiny+"embed", text.Options{})
	must(err)
	task, err := bulk.Embed(e, "", bulk.Float32Vectors)
	must(err)
	must(bulk.Stream(context.Background(), task, "text", &in, &out))
	r, err := ipc.NewReader(&out)
	must(err)
	for r.Next() {
		fmt.Println(r.RecordBatch().NumRows(), "rows")
		for _, f := range r.Schema().Fields() {
			fmt.Println(f.Name)
		}
	}
	// Output:
	// 2 rows
	// text
	// embedding
	// tokens
	// cut
	// windows
	// error
}

// This example writes rows to a Parquet file, and reads the texts of a column.
func ExampleWriteParquet() {
	var file bytes.Buffer
	must(bulk.WriteParquet(&file, []bulk.Column{{Name: "id", Kind: bulk.Int64}, {Name: "text", Kind: bulk.String}},
		slices.Values([][]any{{int64(1), "bread"}, {int64(2), "trains"}})))
	must(bulk.ParquetTexts(bytes.NewReader(file.Bytes()), int64(file.Len()), "text", func(text []byte, dead error) error {
		fmt.Println(string(text), dead)
		return nil
	}))
	// Output:
	// bread <nil>
	// trains <nil>
}
