package vision

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestBesidePillow compares the pixels of the files that text/scripts/drawn_images.py wrote into
// the folder AVOFORMER_IMAGES with those that Pillow reads.
func TestBesidePillow(t *testing.T) {
	folder := os.Getenv("AVOFORMER_IMAGES")
	if folder == "" {
		t.Skip("AVOFORMER_IMAGES names no folder; make compare WHAT=images")
	}
	data, err := os.ReadFile(filepath.Join(folder, "files.json"))
	if err != nil {
		t.Fatal(err)
	}
	var files []struct {
		File          string
		Width, Height int
	}
	if err := json.Unmarshal(data, &files); err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("files.json names no file")
	}
	differ := 0
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(folder, f.File))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(folder, f.File+".rgb"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data, MaxPixels)
		switch {
		case err != nil:
			t.Errorf("%s: %v", f.File, err)
		case got.W != f.Width || got.H != f.Height || len(want) != len(got.Pix):
			t.Errorf("%s: %d x %d pixels, want %d x %d", f.File, got.W, got.H, f.Width, f.Height)
		case difference(got.Pix, want) > 0:
			t.Errorf("%s: pixels differ by %d", f.File, difference(got.Pix, want))
		default:
			continue
		}
		differ++
	}
	t.Logf("%d files, %d differ", len(files), differ)
}
