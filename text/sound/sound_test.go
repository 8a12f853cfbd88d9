package sound

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/audio"
)

// frequency is that of the tone of the files in testdata, in Hz.
const frequency = 440

func file(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// forms are files of the tone in every kind that is decoded.
var forms = []string{"tone.flac", "mono24.flac", "flac.ogg", "tone.mp3", "mpeg2.mp3", "tone.opus", "speech.opus", "vorbis.ogg", "tone.webm"}

// TestForms: the tone comes out of every kind of file: its length, its size and its frequency.
func TestForms(t *testing.T) {
	for _, name := range forms {
		samples, err := Read(t.Context(), bytes.NewReader(file(t, name)), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		seconds := 0.4
		if name == "mpeg2.mp3" { // its frames are too short for a tag: it has all of its 18, as for ffmpeg
			seconds = 18 * 576 / 22050.0
		}
		if s := float64(len(samples)) / Rate; math.Abs(s-seconds) > 0.001 {
			t.Errorf("%s: %g seconds, want %g", name, s, seconds)
		}
		size, share := tone(samples[Rate/8 : Rate/4])
		if math.Abs(size-0.5) > 0.03 || share < 0.98 {
			t.Errorf("%s: a tone of size %g with %g of the power, want 0.5 and all", name, size, share)
		}
	}
}

// tone returns the amplitude of the tone in samples, and its share of their power.
func tone(samples []float32) (size, share float64) {
	var re, im, power float64
	for i, x := range samples {
		a := 2 * math.Pi * frequency * float64(i) / Rate
		re, im, power = re+float64(x)*math.Cos(a), im+float64(x)*math.Sin(a), power+float64(x)*float64(x)
	}
	n := float64(len(samples))
	size = 2 * math.Hypot(re, im) / n
	return size, size * size / 2 / (power / n)
}

// TestRefused: kinds that are not decoded are named, with what to convert them to.
func TestRefused(t *testing.T) {
	for name, want := range map[string]string{"tone.m4a": "MP4 or M4A", "tone.aac": "AAC is not"} {
		_, err := Read(t.Context(), bytes.NewReader(file(t, name)), Options{})
		if !errors.Is(err, fault.ErrSound) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "ffmpeg") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for in, want := range map[string]string{"": "empty", "hello, world": "no sound file", "FORM\x00\x00\x00\x00AIFF": "AIFF", "ID3\x04\x00\x00\x7f\x7f\x7f\x7f": "tags"} {
		if _, err := Read(t.Context(), strings.NewReader(in), Options{}); !errors.Is(err, fault.ErrSound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// TestTags: an ID3 tag before the sound is skipped.
func TestTags(t *testing.T) {
	for _, name := range []string{"tone.mp3", "tone.flac"} {
		tagged := append([]byte("ID3\x04\x00\x00\x00\x00\x02\x00"), make([]byte, 256)...)
		if samples, err := Read(t.Context(), bytes.NewReader(append(tagged, file(t, name)...)), Options{}); err != nil || len(samples) < Rate*2/5 {
			t.Errorf("%s: %d samples, %v", name, len(samples), err)
		}
	}
}

// TestBetween: bytes before and after the sound, and recordings after each other, change nothing
// else.
func TestBetween(t *testing.T) {
	read := func(data []byte) []float32 {
		samples, err := Read(t.Context(), bytes.NewReader(data), Options{})
		if err != nil {
			t.Error(err)
		}
		return samples
	}
	zeros, id3 := make([]byte, 5000), append([]byte("TAG"), make([]byte, 125)...)
	ape := append([]byte("APETAGEX\xd0\x07\x00\x00\x20\x00\x00\x00"), make([]byte, 16)...)
	for _, name := range []string{"tone.mp3", "mpeg2.mp3"} {
		whole := file(t, name)
		want := read(whole)
		for i, data := range [][]byte{slices.Concat(zeros, whole), slices.Concat(whole, id3), slices.Concat(whole, ape, id3), slices.Concat(whole, zeros)} {
			if got := read(data); !slices.Equal(got, want) {
				t.Errorf("%s, form %d: %d samples, want %d", name, i, len(got), len(want))
			}
		}
	}
	if got, want := read(append(file(t, "tone.flac"), id3...)), read(file(t, "tone.flac")); !slices.Equal(got, want) {
		t.Errorf("FLAC before a tag: %d samples, want %d", len(got), len(want))
	}
	for _, names := range [][]string{{"tone.opus", "speech.opus"}, {"vorbis.ogg", "flac.ogg"}, {"flac.ogg", "tone.opus", "vorbis.ogg"}} {
		var data []byte
		want := 0
		for _, name := range names {
			data = append(data, file(t, name)...)
			want += len(read(file(t, name)))
		}
		if got := read(data); len(got) < want-2 || len(got) > want+2 {
			t.Errorf("%v after each other: %d samples, want %d", names, len(got), want)
		}
	}
}

// TestVorbisClaims: code books that claim memory, or that are cut off, are errors at once.
func TestVorbisClaims(t *testing.T) {
	for name, data := range map[string]string{
		"many values": "\x00BCV\xff\xff\xff\xff\x7f" + strings.Repeat("\x00", 40), "cut off in order": "\x00BCV\x01\x00\x00\x10\x00\x01", "no entries": "\x00BCV\x01\x00\x00\x00\x00", "no book": "\x00",
	} {
		if err := checkVorbisSetup([]byte(data)); !errors.Is(err, fault.ErrSound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHostile: damaged files are errors or sound, never a panic, and take bounded time and memory.
func TestHostile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range forms {
		whole := file(t, name)
		for range 60 {
			data := bytes.Clone(whole)
			if rng.IntN(3) == 0 {
				data = data[:rng.IntN(len(data))]
			}
			for range rng.IntN(20) {
				if len(data) > 0 {
					data[rng.IntN(len(data))] = byte(rng.Uint32())
				}
			}
			samples, err := Read(t.Context(), bytes.NewReader(data), Options{Longest: time.Minute})
			if err != nil && !errors.Is(err, fault.ErrSound) {
				t.Errorf("%s: %v", name, err)
			}
			for _, x := range samples {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Fatalf("%s: a sample is %v", name, x)
				}
			}
		}
	}
}

// TestPieces: sound that is resampled piece by piece is what it is at once.
func TestPieces(t *testing.T) {
	for _, rate := range []int{8000, 11025, 16000, 44100, 48000} {
		rng := rand.New(rand.NewPCG(1, uint64(rate)))
		samples := make([]float32, 7*rate+rng.IntN(1000))
		for i := range samples {
			samples[i] = rng.Float32() - 0.5
		}
		want, err := audio.Resample(samples, rate, Rate)
		if err != nil {
			t.Fatal(err)
		}
		s := &sink{ctx: t.Context(), options: Options{Longest: time.Hour, Memory: 1 << 30}, seconds: 2}
		if err := s.begin(rate, 1); err != nil {
			t.Fatal(err)
		}
		for _, x := range samples {
			if err := s.add(float64(x)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.finish()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d Hz: %d samples, want %d; %v", rate, len(got), len(want), err)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%d Hz: sample %d is %g, want %g", rate, i, got[i], want[i])
			}
		}
	}
}

// TestBounds: the longest sound, memory that is refused and a call that is cancelled end reading.
func TestBounds(t *testing.T) {
	data := file(t, "tone.flac")
	if _, err := Read(t.Context(), bytes.NewReader(data), Options{Longest: 300 * time.Millisecond}); !errors.Is(err, fault.ErrSound) || !strings.Contains(err.Error(), "longer than 300ms") {
		t.Errorf("%v, want that it is too long", err)
	}
	full := errors.New("full")
	if _, err := Read(t.Context(), bytes.NewReader(data), Options{Grow: func(int) error { return full }}); err != full {
		t.Errorf("%v, want the error of Grow", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(full)
	if _, err := Read(ctx, bytes.NewReader(data), Options{}); err != full {
		t.Errorf("%v, want the cause of the context's end", err)
	}
}

// FuzzRead: whatever a file holds, it is sound or an ErrSound.
func FuzzRead(f *testing.F) {
	for _, name := range forms {
		f.Add(file(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Read(t.Context(), bytes.NewReader(data), Options{Longest: time.Minute}); err != nil && !errors.Is(err, fault.ErrSound) {
			t.Fatal(err)
		}
	})
}

// TestBoundsOfWAV: a file of a low rate, whose samples at 16 kHz take 64 times its bytes, ends at
// the bounds before they are made.
func TestBoundsOfWAV(t *testing.T) {
	const rate, seconds = 1000, 600
	head := "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\xe8\x03\x00\x00\xe8\x03\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00"
	data := append([]byte(head), bytes.Repeat([]byte{100, 150}, rate*seconds/2)...)
	samples, err := Read(t.Context(), bytes.NewReader(data), Options{})
	if err != nil || len(samples) != seconds*Rate {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for want, o := range map[string]Options{
		"longer than 1m0s": {Longest: time.Minute},
		"sound of more than 1m0s takes more than 3840000 bytes": {Memory: 4 * 60 * Rate},
		"full": {Grow: func(n int) error {
			if n > 4*70*Rate {
				t.Errorf("%d bytes at once", n)
			}
			return errors.New("full")
		}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(t.Context(), bytes.NewReader(data), o)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, fault.ErrMemory) != (o.Memory > 0) {
			t.Errorf("error %v, want %s", err, want)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 24<<20 {
			t.Errorf("%s: %d bytes taken, where all samples are %d", want, taken, 4*seconds*Rate)
		}
	}
}
