package bulk_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/avoformer/avoformer/bulk"
)

// echo is a task whose column "echo" is the text.
var echo = bulk.Task{Name: "echo", Columns: []bulk.Column{{Name: "echo", Kind: bulk.String}}, Compute: func(_ context.Context, texts []string) ([]bulk.Result, error) {
	results := make([]bulk.Result, len(texts))
	for i, s := range texts {
		results[i].Values = []any{s}
	}
	return results, nil
}}

// echoed runs the task on a file of texts, and returns the file of results and the counts.
func echoed(ctx context.Context, path, out, format, field string, pass []string) (string, bulk.Counts, error) {
	report, err := bulk.Run(ctx, echo, bulk.Options{Inputs: []string{path}, Out: out, Format: format, Text: field, Pass: pass, Pause: time.Millisecond})
	if err == nil && len(report.Failed) > 0 {
		err = report.Failed[0].Err
	}
	end := map[string]string{"parquet": ".parquet", "arrow": ".arrow", "jsonl": ".out.jsonl"}[format]
	return filepath.Join(out, filepath.Base(path)) + end, report.Counts, err
}

// TestCompare answers requests of scripts/configs/files_parquet.py.
func TestCompare(t *testing.T) {
	if os.Getenv("AVOFORMER_COMPARE") == "" {
		t.Skip("runs only for scripts/configs/files_parquet.py")
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var in struct {
			Path, Out, Format, Field string
			Pass                     []string
			Stream                   bool
		}
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			t.Fatal(err)
		}
		answer := map[string]any{"refused": ""}
		var err error
		if in.Stream {
			answer["result"] = in.Out
			err = streamed(t.Context(), in.Path, in.Out, in.Field)
		} else {
			var counts bulk.Counts
			answer["result"], counts, err = echoed(t.Context(), in.Path, in.Out, in.Format, in.Field, in.Pass)
			answer["rows"], answer["dead"] = counts.Rows, counts.Dead
		}
		if err != nil {
			answer["refused"] = err.Error()
		}
		said, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("@%s\n", said)
	}
}

// streamed computes the Arrow stream of a file and writes the answers to another file.
func streamed(ctx context.Context, path, out, field string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	to, err := os.Create(out)
	if err != nil {
		return err
	}
	return errors.Join(bulk.Stream(ctx, echo, field, in, to), to.Close())
}
