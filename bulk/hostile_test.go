package bulk

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestHostile verifies that Parquet files with a few changed bytes are read or are errors, without
// a panic, and without allocating more than a multiple of their length. Most changes are in the
// footer and the headers of pages, where a file states sizes.
func TestHostile(t *testing.T) {
	files, err := filepath.Glob("testdata/parquet/*.parquet")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	n := 40
	if testing.Short() {
		n = 4
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(len(data)), 1))
		var names []string
		in, err := newParquetReader(bytes.NewReader(data), int64(len(data)), &Options{Text: "text"})
		if err != nil {
			t.Fatal(err)
		}
		fields := in.file.MetaData().Schema.Root()
		for i := range fields.NumFields() {
			if name := fields.Field(i).Name(); name != "text" && name != "nested" {
				names = append(names, name)
			}
		}
		for range n {
			changed := append([]byte(nil), data...)
			for range 1 + r.IntN(4) {
				at := r.IntN(len(changed))
				if r.IntN(2) == 0 {
					at = len(changed) - 8 - r.IntN(min(len(changed)-8, 6000))
				}
				switch r.IntN(3) {
				case 0:
					changed[at] = byte(r.IntN(256))
				case 1:
					changed[at] ^= 1 << r.IntN(8)
				default: // a long integer
					for i := at; i < min(at+4, len(changed)); i++ {
						changed[i] = 0xff
					}
				}
			}
			readAll(t, "x.parquet", Options{Pass: names}, changed)
		}
	}
}
