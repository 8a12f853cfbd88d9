package mp3

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// TestDrawn decodes streams that text/scripts/mp3_frames.py drew, of blocks and stereo that
// encoders seldom write, and compares some samples with those of ffmpeg, which computes in float32.
func TestDrawn(t *testing.T) {
	data, err := os.ReadFile("testdata/drawn.json")
	if err != nil {
		t.Fatal(err)
	}
	var streams []struct {
		Rate, Channels, Extension, Count int
		Data                             []byte
		Samples                          []float64
	}
	if err := json.Unmarshal(data, &streams); err != nil {
		t.Fatal(err)
	}
	kinds := map[[4]int]bool{}
	for _, s := range streams {
		var got []float64
		err := Read(bufio.NewReader(bytes.NewReader(s.Data)), func(rate, channels int) error {
			if rate != s.Rate || channels != s.Channels {
				t.Errorf("%d Hz and %d channels, want %d and %d", rate, channels, s.Rate, s.Channels)
			}
			return nil
		}, func(x float64) error {
			got = append(got, x)
			return nil
		})
		if err != nil || len(got) != s.Count {
			t.Errorf("%d Hz, %d channels, extension %d: %d samples, %v; want %d", s.Rate, s.Channels, s.Extension, len(got), err, s.Count)
			continue
		}
		most, off := 0.0, 0.0
		for i, want := range s.Samples {
			most, off = max(most, math.Abs(want)), max(off, math.Abs(got[7+67*i]-want))
		}
		if off > 2e-5*most {
			t.Errorf("%d Hz, %d channels, extension %d: samples up to %.3g off, of sizes up to %.3g", s.Rate, s.Channels, s.Extension, off, most)
		}
		note(kinds, s.Data)
	}
	for _, kind := range [][4]int{{0, 1, 1, 0}, {0, 3, 1, 0}, {0, 2, 1, 1}, {0, 2, 1, 3}, {0, 2, 0, 1}, {0, 0, 0, 1}, {1, 2, 1, 1}, {1, 2, 0, 1}, {1, 3, 1, 3}, {2, 2, 1, 1}, {2, 2, 0, 3}} {
		if !kinds[kind] {
			t.Errorf("no granule of low, kind, mixed, joint %v among the streams", kind)
		}
	}
}

// note adds the kinds of granules in a stream.
func note(kinds map[[4]int]bool, data []byte) {
	for len(data) > 0 {
		h, ok := parse(data)
		if !ok || len(data) < h.size {
			return
		}
		_, _, all := side(h, data[headBytes:headBytes+h.sideBytes])
		for _, channels := range all[:h.granules] {
			for _, r := range channels[:h.channels] {
				mixed := 0
				if r.mixed {
					mixed = 1
				}
				kinds[[4]int{h.low, r.kind, mixed, h.joint}] = true
			}
		}
		data = data[h.size:]
	}
}
