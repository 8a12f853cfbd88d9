package bulk

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// readAll reads the rows of a file with a name and data. Each row must have the next number, and be
// a text or dead. A damaged file may only be an error. The memory that is allocated may not exceed
// a constant plus a multiple of the file's length.
func readAll(t *testing.T, name string, o Options, data []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer func() {
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+1000*len(data)); got > most {
			t.Errorf("%d bytes were allocated for %d", got, len(data))
		}
	}()
	o.Text = "text"
	var err error
	if o.pass, err = parsePass(o.Pass); err != nil {
		t.Fatal(err)
	}
	s, err := open(path, &o)
	if err != nil {
		return
	}
	defer s.Close()
	for n := range int64(10000) {
		x, err := s.next()
		if errors.Is(err, io.EOF) {
			_, err = s.digest()
			if err != nil {
				t.Error(err)
			}
			return
		} else if err != nil {
			return
		}
		if x.number != n {
			t.Fatalf("row %d has the number %d", n, x.number)
		}
		if x.err == nil && len(x.passed) != len(s.columns()) {
			t.Fatalf("row %d has %d columns, want %d", n, len(x.passed), len(s.columns()))
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\nb", "\ufeffa\r\n\xff\n\x00", "\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, "x.txt", Options{}, data) })
}

func FuzzJSONL(f *testing.F) {
	for _, s := range []string{"{\"text\":\"a\",\"id\":5}\n", "{\"text\":7}\n[]\n{", "{\"text\":\"\\ud800\",\"id\":1e400}", "{\"text\":\"a\",\"f\":1e39}"} {
		f.Add([]byte(s))
	}
	pass := []string{"id:int64", "n:int32", "f:float32", "d:float64", "b:bool", "s:string", "j"}
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, "x.jsonl", Options{Pass: pass}, data) })
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"text,id\na,1\n", "text\n\"a", "\ufefftext,text\n", "id,text\n\xff,\n1\n", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, "x.csv", Options{Pass: []string{"*"}}, data) })
}

func FuzzGzip(f *testing.F) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte("{\"text\":\"a\"}\n"))
	z.Close()
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-5])
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, "x.jsonl.gz", Options{}, data) })
}

func FuzzZstd(f *testing.F) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	data := w.EncodeAll([]byte("text\na\n"), nil)
	f.Add(data)
	f.Add(data[:len(data)-2])
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, "x.csv.zst", Options{}, data) })
}

func FuzzParquet(f *testing.F) {
	var b bytes.Buffer
	columns := []Column{{Name: "text", Kind: String}, {Name: "id", Kind: Int64}, {Name: "ok", Kind: Bool}}
	if err := WriteParquet(&b, columns, slices.Values([][]any{{"a", int64(1), true}, {nil, int64(2), false}})); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-9])
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, "x.parquet", Options{Pass: []string{"*"}}, data) })
}
