package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
)

// most holds the largest allowed size of each module's zip in bytes, which programs download.
var most = map[string]int64{".": 3_000_000, "text": 1_000_000, "text/sound": 200_000, "serve": 500_000, "bulk": 300_000, "cmd/avoformer": 300_000}

// TestSizes checks the sizes of the modules' archives. Fixtures and models of examples are modules
// of their own.
func TestSizes(t *testing.T) {
	dir := t.TempDir()
	for m, limit := range most {
		if err := publish(dir, "v0.1.0", filepath.Join("../..", m)); err != nil {
			t.Fatalf("%s: %v", m, err)
		}
		path := filepath.Join(dir, "github.com/avoformer/avoformer", m, "@v/v0.1.0.zip")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		archive, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d files, %d bytes", m, len(archive.File), info.Size())
		archive.Close()
		if info.Size() > limit {
			t.Errorf("%s: %d bytes zipped, want at most %d", m, info.Size(), limit)
		}
	}
}
