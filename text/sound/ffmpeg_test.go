package sound

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/text/audio"
)

// TestBesideFFmpeg compares the samples of the files that text/scripts/sound.py wrote into the
// folder AVOFORMER_SOUND with those that ffmpeg decodes.
func TestBesideFFmpeg(t *testing.T) {
	folder := os.Getenv("AVOFORMER_SOUND")
	if folder == "" {
		t.Skip("AVOFORMER_SOUND names no folder; make compare WHAT=sound")
	}
	data, err := os.ReadFile(filepath.Join(folder, "files.json"))
	if err != nil {
		t.Fatal(err)
	}
	var files []struct {
		File  string
		Rate  int
		Least float64
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
		raw, err := os.ReadFile(filepath.Join(folder, f.File+".f32"))
		if err != nil {
			t.Fatal(err)
		}
		native := make([]float32, len(raw)/4)
		if err := binary.Read(bytes.NewReader(raw), binary.LittleEndian, native); err != nil {
			t.Fatal(err)
		}
		want, err := audio.Resample(native, f.Rate, Rate)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(t.Context(), bytes.NewReader(data), Options{})
		near := math.Inf(-1)
		if err == nil && len(got) == len(want) {
			near = decibels(got, want)
		}
		if !(near >= f.Least) {
			differ++
			t.Errorf("%s: %d samples, want %d; %.1f dB, want %g; %v", f.File, len(got), len(want), near, f.Least, err)
		}
	}
	t.Logf("%d files, %d differ", len(files), differ)
}

// decibels returns how far the difference of got is below want.
func decibels(got, want []float32) float64 {
	var power, off float64
	for i, w := range want {
		power += float64(w) * float64(w)
		off += (float64(got[i]) - float64(w)) * (float64(got[i]) - float64(w))
	}
	return 10 * math.Log10(power/(off+1e-30))
}
