package mp3

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// TestBegins: a header that says no length makes nothing an MP3 of free format by itself, neither
// among random bytes nor before frames; three of them at equal distances do.
func TestBegins(t *testing.T) {
	free := append([]byte{0xff, 0xfb, 0, 0}, make([]byte, 413)...)
	padded := append([]byte{0xff, 0xfb, 2, 0}, make([]byte, 414)...)
	for name, frames := range map[string][]byte{"equal": slices.Concat(free, free, free), "padding": slices.Concat(free, free, padded, free), "later": slices.Concat([]byte("junk"), free, padded, free, free)} {
		if Begins(frames) || !FreeFormat(frames) {
			t.Errorf("%s: %v, %v; want free format", name, Begins(frames), FreeFormat(frames))
		}
	}
	other := append([]byte{0xff, 0xf3, 0, 0}, make([]byte, 413)...)
	for name, frames := range map[string][]byte{"two": slices.Concat(free, free), "other distances": slices.Concat(free, free[:200], free, free), "other rates": slices.Concat(free, other, free)} {
		if FreeFormat(frames) {
			t.Errorf("%s: free format", name)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		data := make([]byte, 1<<16)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if Begins(data) || FreeFormat(data) {
			t.Fatal("random bytes are MP3")
		}
	}

	data, err := os.ReadFile("testdata/drawn.json")
	if err != nil {
		t.Fatal(err)
	}
	var streams []struct {
		Count int
		Data  []byte
	}
	if err := json.Unmarshal(data, &streams); err != nil {
		t.Fatal(err)
	}
	if len(streams) == 0 {
		t.Fatal("no streams")
	}
	for i, s := range streams {
		n := 0
		err := Read(bufio.NewReader(bytes.NewReader(slices.Concat(free, s.Data))), func(int, int) error { return nil }, func(float64) error {
			n++
			return nil
		})
		if !Begins(slices.Concat(free, s.Data)) || err != nil || n != s.Count {
			t.Errorf("stream %d after such a header: %d samples, %v; want %d", i, n, err, s.Count)
		}
	}
}
