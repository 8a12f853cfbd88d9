package audio

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// close32 fails unless got is want within tolerance times the largest of want, or 1.
func close32(t testing.TB, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	scale := 1.0
	for _, x := range want {
		scale = max(scale, math.Abs(float64(x)))
	}
	for i, x := range got {
		if d := math.Abs(float64(x - want[i])); !(d <= tolerance*scale) {
			t.Fatalf("%s[%d]: %v, want %v", what, i, x, want[i])
		}
	}
}

// TestResample compares with torchaudio.
func TestResample(t *testing.T) {
	data, err := os.ReadFile("testdata/resample.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Samples []float32
		Cases   []struct {
			From, To, N int
			Samples     []float32
		}
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for _, c := range want.Cases {
		got, err := Resample(want.Samples, c.From, c.To)
		if err != nil || len(got) != c.N {
			t.Fatal(len(got), c.N, err)
		}
		close32(t, "samples", got[:len(c.Samples)], c.Samples, 2e-6)
	}
}

// wave returns a sine of a frequency as a share of half of the lower rate.
func wave(n, rate, lower int, share float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(math.Pi * share * float64(lower) * float64(i) / float64(rate)))
	}
	return x
}

// TestResampleWaves: a sine stays, with its phase, and one that the lower rate cannot have is gone.
func TestResampleWaves(t *testing.T) {
	for _, c := range [][2]int{{44100, 16000}, {8000, 16000}, {48000, 16000}, {44101, 16000}, {16001, 15999}, {96000, 1000}} {
		from, to := c[0], c[1]
		lower := min(from, to)
		seconds := 400 / float64(lower)
		n := int(seconds * float64(from))
		for _, share := range []float64{0, 0.1, 0.5, 0.87, 1.03, 1.4} {
			if share*float64(lower) > float64(from) {
				continue // there is no such input
			}
			x := wave(n, from, lower, share)
			if share == 0 {
				for i := range x {
					x[i] = 1
				}
			}
			y, err := Resample(x, from, to)
			if err != nil {
				t.Fatal(err)
			}
			want := wave(len(y), to, lower, share)
			for i := len(y) * 2 / 5; i < len(y)*3/5; i++ { // far from the ends
				w := float64(want[i])
				switch {
				case share == 0:
					w = 1
				case share > 1:
					w = 0
				}
				if d := math.Abs(float64(y[i]) - w); d > 1e-4 {
					t.Fatalf("%d to %d Hz, %g of half: sample %d is off by %g", from, to, share, i, d)
				}
			}
		}
	}
}

func TestResampleEdges(t *testing.T) {
	for _, c := range [][2]int{{0, 16000}, {16000, 999}, {16000, -1}, {mostRate + 1, 16000}} {
		if _, err := Resample([]float32{1}, c[0], c[1]); !errors.Is(err, fault.ErrSound) {
			t.Errorf("%v: %v", c, err)
		}
	}
	for n := range 5 {
		for _, c := range [][2]int{{16000, 16000}, {44100, 16000}, {1000, 16000}, {mostRate, leastRate}} {
			y, err := Resample(make([]float32, n), c[0], c[1])
			if want := (n*c[1] + c[0] - 1) / c[0]; err != nil || len(y) != want {
				t.Errorf("%d samples, %v: %d, want %d; %v", n, c, len(y), want, err)
			}
		}
	}
	x := []float32{1, 2}
	if y, _ := Resample(x, 16000, 16000); &y[0] == &x[0] {
		t.Error("the same memory")
	}
}

// wavOf returns a file of 16-bit PCM in mono.
func wavOf(rate uint32, samples []float32) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = append(binary.LittleEndian.AppendUint32(b, 2*rate), 2, 0, 16, 0)
	b = binary.LittleEndian.AppendUint32(append(b, "data"...), uint32(2*len(samples)))
	for _, x := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(math.Round(float64(x*32767)))))
	}
	return b
}

// TestReadWAVRates reads files of other rates.
func TestReadWAVRates(t *testing.T) {
	x := wave(8820, 44100, 16000, 0.3)
	got, err := ReadWAV(bytes.NewReader(wavOf(44100, x)))
	if err != nil || len(got) != 3200 {
		t.Fatal(len(got), err)
	}
	close32(t, "samples", got[1000:2000], wave(3200, 16000, 16000, 0.3)[1000:2000], 2e-4)
	for _, rate := range []uint32{0, 999, 1 << 31, math.MaxUint32} {
		if _, err := ReadWAV(bytes.NewReader(wavOf(rate, x))); !errors.Is(err, fault.ErrSound) {
			t.Errorf("%d Hz: %v", rate, err)
		}
	}
}
