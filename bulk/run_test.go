package bulk_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/avoformer/avoformer/bulk"
)

// TestEnd: a run ends as soon as its last file is made, whichever of its workers has nothing left to do before.
func TestEnd(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in/a.txt"), []byte("short\n"))
	write(t, filepath.Join(dir, "in/b.txt"), []byte("slow\n"))
	const slow = 100 * time.Millisecond
	task := bulk.Task{Name: "none", Compute: func(_ context.Context, texts []string) ([]bulk.Result, error) {
		if strings.HasPrefix(texts[0], "slow") {
			time.Sleep(slow)
		}
		return make([]bulk.Result, len(texts)), nil
	}}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		report, err := bulk.Run(t.Context(), task, bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: filepath.Join(dir, "out"), Format: "jsonl"})
		if err != nil || report.Made != 2 || report.Written != 2 {
			t.Errorf("%+v, %v", report, err)
		}
		if took := time.Since(began); took != slow {
			t.Errorf("it took %v, want %v", took, slow)
		}
	})
}

// TestPassedTypes: moments and dates are passed on as text, smaller integers as larger ones.
func TestPassedTypes(t *testing.T) {
	type typed struct {
		Text   string    `parquet:"text"`
		UTC    time.Time `parquet:"utc,timestamp(nanosecond)"`
		Milli  int64     `parquet:"milli,timestamp(millisecond:local)"`
		Day    int32     `parquet:"day,date"`
		Small  int8      `parquet:"small"`
		Byte   uint8     `parquet:"byte"`
		Unsig  uint32    `parquet:"unsigned"`
		Absent *int16    `parquet:"absent,optional"`
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "a.parquet")
	rows := []typed{
		{Text: "cat", UTC: time.Date(1969, 12, 31, 23, 59, 59, 5, time.UTC), Milli: -1, Day: -1, Small: -128, Byte: 255, Unsig: 1<<32 - 1},
		{Text: "cat", UTC: time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC), Milli: 1700000000120, Day: 19782},
	}
	if err := parquet.WriteFile(in, rows); err != nil {
		t.Fatal(err)
	}
	report, err := bulk.Run(t.Context(), embedding(t, bulk.Float32Vectors), bulk.Options{Inputs: []string{in}, Out: dir + "/out", Format: "jsonl", Pass: []string{"*"}})
	if err != nil || report.Made != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "out/a.parquet.out.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"utc":"1969-12-31T23:59:59.000000005Z","milli":"1969-12-31T23:59:59.999","day":"1969-12-31","small":-128,"byte":255,"unsigned":4294967295,"absent":null,"row":0,`,
		`{"utc":"2024-02-29T01:02:03Z","milli":"2023-11-14T22:13:20.12","day":"2024-02-29","small":0,"byte":0,"unsigned":0,"absent":null,"row":1,`,
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("%.200s, want %s", line, want[i])
		}
	}
}
