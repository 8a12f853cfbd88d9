package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/bulk/beam/embed"
	"github.com/avoformer/avoformer/text"
)

const testModel = "../../../../text/testdata/embed"

// These flags are for TestSameBytes. Beam's own flags choose another runner than prism.
var (
	rows  = flag.Int("rows", 2000, "texts")
	model = flag.String("embedder", testModel, "folder of the model")
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	m.Run()
}

// texts returns n texts in several scripts: empty, short, long, and longer than the model's limit.
func texts(n int) []string {
	words := strings.Fields("the cat reads a long letter and nobody forgets three numbers in French because it has to Paris attention Straße 東京 😀 unaffordable \"quoted\" naïve")
	r := rand.New(rand.NewPCG(8, 9))
	out := make([]string, n)
	for i := range out {
		length := r.IntN(16)
		if r.IntN(100) == 0 {
			length *= 40
		}
		var b strings.Builder
		for range length {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		out[i] = b.String()
	}
	return out
}

// record is a row of the inputs.
type record struct {
	ID   int64
	Text *string
}

// vector is a row of the results.
type vector struct {
	Row       int64
	Embedding []float32
	Tokens    int32
	Cut       bool
}

// shards writes texts to files of different lengths, some of them in a second folder, and returns
// their names in the order of the texts. The files also have one invalid row and one null, and one
// file has no rows; texts does not have these.
func shards(t *testing.T, dir string, all []string) (names []string, sizes []int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	for i := 0; len(all) > 0 || i < 3; i++ {
		n := min(len(all), 1+r.IntN(*rows/3))
		if i == 2 {
			n = 0
		}
		var records []record
		for j, s := range all[:n] {
			records = append(records, record{int64(j), &s})
		}
		if i == 0 {
			wrong := "no UTF-8: \xff"
			records = append(records, record{int64(n), &wrong}, record{ID: int64(n + 1)})
		}
		name := fmt.Sprintf("%c/%02d.parquet", 'a'+i%2, i)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		writeRecords(t, filepath.Join(dir, name), "text", records)
		names, sizes, all = append(names, name), append(sizes, n), all[n:]
	}
	return names, sizes
}

// writeRecords writes records to a file, with texts in the column name.
func writeRecords(t *testing.T, path, name string, records []record) {
	t.Helper()
	var b bytes.Buffer
	err := bulk.WriteParquet(&b, []bulk.Column{{Name: "id", Kind: bulk.Int64}, {Name: name, Kind: bulk.String}}, func(yield func([]any) bool) {
		for _, r := range records {
			row := []any{r.ID, nil}
			if r.Text != nil {
				row[1] = *r.Text
			}
			if !yield(row) {
				return
			}
		}
	})
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read reads the results of a file.
func read(t *testing.T, name string) []vector {
	t.Helper()
	r, err := file.OpenParquetFile(name, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var found []vector
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		part := make([]vector, group.NumRows())
		for i := range group.NumColumns() {
			c, err := group.Column(i)
			if err != nil {
				t.Fatal(err)
			}
			switch c.Descriptor().Path() {
			case "row":
				for i, v := range values[int64](t, c, len(part)) {
					part[i].Row = v
				}
			case "tokens":
				for i, v := range values[int32](t, c, len(part)) {
					part[i].Tokens = v
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
		found = append(found, part...)
	}
	return found
}

// values reads n values of a column without nulls.
func values[T any](t *testing.T, c file.ColumnChunkReader, n int) []T {
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

// TestSameBytes verifies that Beam on prism, bulk and text.Embedder compute the same bits for texts
// of files, for any order of shards and number of threads. With -rows 100000 it takes half a minute
// of processor time.
func TestSameBytes(t *testing.T) {
	dir := t.TempDir()
	all := texts(*rows)
	names, sizes := shards(t, filepath.Join(dir, "in"), all)
	e, err := text.OpenEmbedder(*model, text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := e.Embed(t.Context(), text.Texts(all...), text.EmbedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what, out string) {
		t.Helper()
		at := 0
		for i, name := range names {
			path := filepath.Join(out, name+".parquet")
			var found []vector
			if _, err := os.Stat(path); sizes[i] > 0 || err == nil { // Beam writes no file without rows
				found = read(t, path)
			}
			if len(found) != sizes[i] {
				t.Fatalf("%s: %s has %d rows, want %d", what, name, len(found), sizes[i])
			}
			for j, v := range found {
				if v.Row != int64(j) || !slices.Equal(v.Embedding, want.Outputs[at+j]) {
					t.Fatalf("%s: row %d of %s differs", what, j, name)
				}
			}
			at += sizes[i]
		}
		if at != len(all) {
			t.Fatalf("%s: %d rows, want %d", what, at, len(all))
		}
		lines, err := os.ReadFile(filepath.Join(out, names[0]+".dead.jsonl"))
		if err != nil || strings.Count(string(lines), "\n") != 2 {
			t.Errorf("%s: dead letters %s, %v", what, lines, err)
		}
	}
	for _, threads := range []int{1, 2, 3} {
		one, err := text.OpenEmbedder(*model, text.Options{Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		task, err := bulk.Embed(one, "", bulk.Float32Vectors)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, fmt.Sprint("bulk", threads))
		report, err := bulk.Run(t.Context(), task, bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: out, Format: "parquet", Concurrent: threads})
		if err != nil || len(report.Failed) > 0 || report.Rows != uint64(len(all)+2) || report.Dead != 2 {
			t.Fatalf("%+v, %v", report, err)
		}
		check(fmt.Sprintf("bulk, %d threads", threads), out)
	}
	for _, threads := range []int{1, 2} {
		out := filepath.Join(dir, fmt.Sprint("beam", threads))
		if err := run(t.Context(), flags{model: embed.Model{Dir: *model, Threads: threads}, input: filepath.Join(dir, "in/*/*.parquet"), output: out, column: "text"}); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("Beam, %d threads", threads), out)
	}
}

// TestUnreadable verifies that a damaged file, a file without the column and one without read
// permission are one dead letter each, and that all other files have results.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	one := "one"
	good := filepath.Join(dir, "good.parquet")
	writeRecords(t, good, "text", []record{{1, &one}})
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cut.parquet"), data[:len(data)-5], 0o666); err != nil {
		t.Fatal(err)
	}
	writeRecords(t, filepath.Join(dir, "other.parquet"), "Line", []record{{1, &one}})
	bad := []string{"cut", "other"}
	if os.Getuid() != 0 { // root may read everything
		bad = append(bad, "locked")
		if err := os.WriteFile(filepath.Join(dir, "locked.parquet"), data, 0); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	if err := run(t.Context(), flags{model: embed.Model{Dir: testModel}, input: filepath.Join(dir, "*.parquet"), output: out, column: "text"}); err != nil {
		t.Fatal(err)
	}
	if found := read(t, filepath.Join(out, "good.parquet.parquet")); len(found) != 1 {
		t.Errorf("%d rows, want 1", len(found))
	}
	for _, name := range bad {
		var l letter
		line, err := os.ReadFile(filepath.Join(out, name+".parquet.dead.jsonl"))
		if err == nil {
			err = json.Unmarshal(line, &l)
		}
		if err != nil || l.Row != -1 || l.Reason == "" || !strings.HasSuffix(l.Input, name+".parquet") {
			t.Errorf("%s: %s, %v", name, line, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(out, "*.part")); err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct{ input, file, want string }{
		{"in/*.parquet", "in/a.parquet", "out/a.parquet.parquet"},
		{"*.parquet", "a.parquet", "out/a.parquet.parquet"},
		{"/in/*/*.parquet", "/in/x/a.parquet", "out/x/a.parquet.parquet"},
		{"/in/a.parquet", "/in/a.parquet", "out/a.parquet.parquet"},
		{"gs://b/in/x*/a?.parquet", "gs://b/in/x1/a2.parquet", "out/x1/a2.parquet.parquet"},
		{"in/*.parquet", "/elsewhere/a.parquet", "out/a.parquet.parquet"},
	} {
		if got := (place{c.input, "out/"}).path(c.file, ".parquet"); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.input, c.file, got, c.want)
		}
	}
}
