package sound

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// expected is samples and spectrograms that transformers computes.
type expected struct {
	*testing.T
	file *safetensors.File
}

func openExpected(t *testing.T, folder string) expected {
	t.Helper()
	f, err := safetensors.Open("../../testdata/folders/" + folder + "/expected.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return expected{t, f}
}

func (e expected) tensor(name string) ([]float32, []int) {
	e.Helper()
	info, _ := e.file.Info(name)
	x, err := e.file.Float32(name)
	if err != nil {
		e.Fatal(err)
	}
	return x, info.Shape
}

func (e expected) near(what string, got, want []float32) {
	e.Helper()
	if len(got) != len(want) {
		e.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		worst = max(worst, math.Abs(float64(got[i]-want[i])))
	}
	e.Logf("%s: largest difference %.2g", what, worst)
	if !(worst <= 1e-6) {
		e.Errorf("%s: largest difference %g, want at most 1e-6", what, worst)
	}
}

// TestLogMel compares with what transformers' WhisperFeatureExtractor computes in numpy. Its
// float32 in torch is up to 3e-5 away from that.
func TestLogMel(t *testing.T) {
	t.Parallel()
	e := openExpected(t, "log-mel")
	for i := range 3 {
		samples, _ := e.tensor(fmt.Sprintf("samples_%d", i))
		want, shape := e.tensor(fmt.Sprintf("mel_%d", i))
		got, err := LogMel(samples, shape[0])
		if err != nil {
			t.Fatal(err)
		}
		e.near(fmt.Sprintf("sound %d", i), got, want)
	}
	samples, _ := e.tensor("samples_0")
	want, shape := e.tensor("mel_padded")
	got, err := LogMel(append(samples, make([]float32, 30*SampleRate-len(samples))...), shape[0])
	if err != nil {
		t.Fatal(err)
	}
	var first []float32
	for b := range shape[0] {
		first = append(first, got[b*3000:b*3000+shape[1]]...)
	}
	e.near("sound of 30 seconds", first, want)

	if _, err := LogMel(samples[:200], 80); !errors.Is(err, fault.ErrShape) {
		t.Errorf("200 samples: %v", err)
	}
	if _, err := LogMel(samples, 0); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("no bins: %v", err)
	}
}

// TestNormalizedLogMel compares with what transformers' ParakeetFeatureExtractor computes in
// float64. Its float32 is up to 4e-4 away from that.
func TestNormalizedLogMel(t *testing.T) {
	t.Parallel()
	e := openExpected(t, "log-mel-normalized")
	for i := range 3 {
		samples, _ := e.tensor(fmt.Sprintf("samples_%d", i))
		want, shape := e.tensor(fmt.Sprintf("mel_%d", i))
		got, err := NormalizedLogMel(samples, shape[0])
		if err != nil {
			t.Fatal(err)
		}
		e.near(fmt.Sprintf("sound %d", i), got, want)
	}
	for _, n := range []int{0, 1, 319} {
		if _, err := NormalizedLogMel(make([]float32, n), 80); !errors.Is(err, fault.ErrShape) {
			t.Errorf("%d samples: %v", n, err)
		}
	}
	for _, bins := range []int{-1, 0, math.MaxInt} {
		if _, err := NormalizedLogMel(make([]float32, 400), bins); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%d bins: %v", bins, err)
		}
	}
	silence, err := NormalizedLogMel(make([]float32, 400), 80)
	if err != nil || !slices.Equal(silence, make([]float32, len(silence))) {
		t.Errorf("silence: %v, %v, want zeros", silence[:4], err)
	}
}

// TestFFT compares with the sum that defines the transform.
func TestFFT(t *testing.T) {
	for _, n := range []int{1, 2, 3, 20, 60, 400} {
		x, got := make([]complex128, n), make([]complex128, n)
		for i := range x {
			x[i] = complex(math.Sin(float64(i*i)), math.Cos(float64(3*i)))
		}
		newFFT(n).transform(got, x, 1)
		for k := range n {
			var want complex128
			for i := range n {
				want += x[i] * cmplx.Rect(1, -2*math.Pi*float64(i*k%n)/float64(n))
			}
			if cmplx.Abs(got[k]-want) > 1e-12*float64(n) {
				t.Fatalf("size %d, frequency %d: %v, want %v", n, k, got[k], want)
			}
		}
	}
}

func BenchmarkLogMel(b *testing.B) {
	samples := make([]float32, 30*SampleRate)
	for i := range samples {
		samples[i] = float32(math.Sin(float64(i) / 7))
	}
	for b.Loop() {
		if _, err := LogMel(samples, 80); err != nil {
			b.Fatal(err)
		}
	}
}
