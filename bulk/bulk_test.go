package bulk_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/text"
)

const model = "../text/testdata/embed"

// texts returns n texts of a few words. One exceeds the model's limit, and some are empty.
func texts(n int) []string {
	words := strings.Fields("the cat reads a long letter and nobody forgets three numbers in French because it has to Paris attention Straße 東京 😀 unaffordable \"quoted\"")
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]string, n)
	for i := range out {
		var b strings.Builder
		for range r.IntN(14) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		out[i] = b.String()
	}
	if n > 7 {
		out[7] = strings.Repeat("attention letter ", 200)
	}
	return out
}

// open opens the tests' embedder.
func open(t testing.TB, o text.Options) *text.Embedder {
	t.Helper()
	e, err := text.OpenEmbedder(model, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// embedding returns the task of an embedder.
func embedding(t testing.TB, v bulk.Vectors, o text.Options) bulk.Task {
	t.Helper()
	task, err := bulk.Embed(open(t, o), "", v)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// record is a row of an input.
type record struct {
	ID   int64  `json:"id"`
	Text string `json:"text"`
}

// encoded returns the records as the content of a file, in the format and compression of its name.
func encoded(t testing.TB, name string, records []record) []byte {
	t.Helper()
	var b bytes.Buffer
	stem, isGzip := strings.CutSuffix(name, ".gz")
	stem, isZstd := strings.CutSuffix(stem, ".zst")
	switch filepath.Ext(stem) {
	case ".parquet":
		b.Write(parquetOf(t, slices.Collect(slices.Chunk(records, 50))...))
	case ".csv":
		b.WriteString("id,text\r\n")
		for _, r := range records {
			fmt.Fprintf(&b, "%d,\"%s\"\r\n", r.ID, strings.ReplaceAll(r.Text, `"`, `""`))
		}
	case ".jsonl":
		enc := json.NewEncoder(&b)
		for _, r := range records {
			_ = enc.Encode(r) // writing to a buffer never fails
		}
	default:
		for _, r := range records {
			b.WriteString(r.Text + "\n")
		}
	}
	switch {
	case isGzip:
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, _ = w.Write(b.Bytes())
		w.Close()
		return z.Bytes()
	case isZstd:
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(b.Bytes(), nil)
	}
	return b.Bytes()
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// vector is a row of the results.
type vector struct {
	ID        *int64    `json:"id"`
	Row       int64     `json:"row"`
	Embedding []float32 `json:"embedding"`
	Cut       bool      `json:"cut"`
	Windows   int32     `json:"windows"`
}

// vectors reads results in Parquet or JSONL.
func vectors(t testing.TB, path string) []vector {
	t.Helper()
	if strings.HasSuffix(path, ".parquet") {
		return parquetVectors(t, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rows []vector
	for line := range bytes.Lines(data) {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, v)
	}
	return rows
}

// TestSameBytes verifies that vectors have the bits of Embed for any format and compression of
// files, format of results, and number of threads and runs.
func TestSameBytes(t *testing.T) {
	names := []string{"a.parquet", "b.csv", "c.jsonl", "d.txt", "e.csv.gz", "f.jsonl.zst", "sub/g.jsonl.gz", "sub/empty.txt"}
	const n = 130
	all := texts(n * len(names))
	e := open(t, text.Options{Threads: 1})
	dir := t.TempDir()
	want := map[string][][]float32{}
	for i, name := range names {
		own := all[i*n : (i+1)*n]
		if strings.Contains(name, "empty") {
			own = nil
		}
		var records []record
		for j, s := range own {
			records = append(records, record{int64(j + 1000*i), s})
		}
		write(t, filepath.Join(dir, "in", name), encoded(t, name, records))
		var err error
		if want[name], err = outputs(e.Embed(t.Context(), text.Texts(own...), text.EmbedOptions{})); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"parquet", "jsonl"} {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprint(format, threads), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "out")
				task := embedding(t, bulk.Float32Vectors, text.Options{Threads: threads, BatchTokens: 100 * threads})
				var runs sync.WaitGroup
				for range threads {
					runs.Go(func() {
						report, err := bulk.Run(t.Context(), task, bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: out, Format: format, Stale: time.Second, Concurrent: threads})
						if err != nil || len(report.Failed) > 0 || report.Made+report.Found != len(names) || report.Rows != uint64(n*(len(names)-1)) || report.Written != report.Rows {
							t.Errorf("%+v, %v", report, err)
						}
					})
				}
				runs.Wait()
				end := map[string]string{"parquet": ".parquet", "jsonl": ".out.jsonl"}[format]
				cut := 0
				for _, name := range names {
					rows := vectors(t, filepath.Join(out, name)+end)
					if len(rows) != len(want[name]) {
						t.Fatalf("%s: %d rows, want %d", name, len(rows), len(want[name]))
					}
					for i, row := range rows {
						if row.Row != int64(i) || !slices.Equal(row.Embedding, want[name][i]) {
							t.Fatalf("%s: row %d differs", name, i)
						}
						if row.Cut {
							cut++
						}
					}
				}
				if cut != 1 {
					t.Errorf("%d texts are marked as cut, want 1", cut)
				}
				noneLeft(t, out)
			})
		}
	}
}

// noneLeft verifies that a folder has only results.
func noneLeft(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"*.part", "*.claim.*", "*/*.part", "*/*.claim.*"} {
		left, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(left) > 0 {
			t.Errorf("left: %q, %v", left, err)
		}
	}
}

// TestPassed verifies that named columns are passed on with their values.
func TestPassed(t *testing.T) {
	dir := t.TempDir()
	records := []record{{5, "the cat"}, {-6, "reads"}}
	task := embedding(t, bulk.Float32Vectors, text.Options{})
	for _, name := range []string{"a.parquet", "b.csv", "c.jsonl"} {
		write(t, filepath.Join(dir, name), encoded(t, name, records))
		pass := []string{"id:int64"}
		report, err := bulk.Run(t.Context(), task, bulk.Options{Inputs: []string{filepath.Join(dir, name)}, Out: filepath.Join(dir, "out"), Format: "parquet", Pass: pass})
		if err != nil || report.Made != 1 {
			t.Fatalf("%s: %+v, %v", name, report, err)
		}
		for i, row := range vectors(t, filepath.Join(dir, "out", name)+".parquet") {
			if row.ID == nil || *row.ID != records[i].ID {
				t.Errorf("%s: row %d has another id", name, i)
			}
		}
	}
}

// TestDead verifies that every row is in the results or, with a reason, in the dead letters, and
// that an unreadable file does not affect other files.
func TestDead(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("attention ", 300)
	write(t, filepath.Join(dir, "in/a.jsonl"), []byte("{\"text\":\"good\"}\n{\"text\":\"\xff\"}\n{\"text\":7}\nno JSON\n{\"text\":\"\"}\n\x00\n{\"text\":\""+long+"\"}\n"))
	write(t, filepath.Join(dir, "in/b.csv"), []byte("text,x\na,1\nb\n\xfe,2\nc,3\n"))
	whole := encoded(t, "x.jsonl.gz", []record{{1, "the cat"}, {2, strings.Join(texts(100), "")}})
	write(t, filepath.Join(dir, "in/cut.jsonl.gz"), whole[:len(whole)/2])
	damaged := encoded(t, "x.parquet", []record{{1, "the cat"}})
	write(t, filepath.Join(dir, "in/damaged.parquet"), damaged[:len(damaged)-9])
	task := embedding(t, bulk.Float32Vectors, text.Options{Long: text.LongRefuse})
	o := bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: filepath.Join(dir, "out"), Format: "jsonl", Pause: time.Millisecond}
	report, err := bulk.Run(t.Context(), task, o)
	if err != nil {
		t.Fatal(err)
	}
	want := bulk.Counts{Rows: 7 + 4, Written: 2 + 2, Dead: 5 + 2}
	report.Tokens, report.Cut = 0, 0
	if report.Counts != want || report.Made != 2 || len(report.Failed) != 2 {
		t.Errorf("%+v, want %+v", report, want)
	}
	for name, rows := range map[string][]int64{"a.jsonl": {0, 4}, "b.csv": {0, 3}} {
		var found []int64
		for _, row := range vectors(t, filepath.Join(dir, "out", name)+".out.jsonl") {
			found = append(found, row.Row)
		}
		if !slices.Equal(found, rows) {
			t.Errorf("%s: rows %d, want %d", name, found, rows)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "out/a.jsonl.dead.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i, reason := range []string{"not UTF-8", `no string \"text\"`, "not a JSON object", "not a JSON object", "too many tokens"} {
		if line := strings.Split(string(data), "\n")[i]; !strings.Contains(line, reason) || !strings.Contains(line, `"input":"`+filepath.Join(dir, "in/a.jsonl")+`"`) {
			t.Errorf("dead letter %s, want %s", line, reason)
		}
	}
	for _, name := range []string{"cut.jsonl.gz", "damaged.parquet"} {
		if _, err := os.Stat(filepath.Join(dir, "out", name+".failed.json")); err != nil {
			t.Error(err)
		}
	}
	noneLeft(t, o.Out)
	// After the file is repaired, the same run computes it.
	write(t, filepath.Join(dir, "in/cut.jsonl.gz"), whole)
	report, err = bulk.Run(t.Context(), task, o)
	if err != nil || report.Made != 1 || report.Found != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}
