package sound

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// TestLogMel compares with what transformers' WhisperFeatureExtractor computes in numpy.
// Its float32 in torch is up to 3e-5 away from that.
func TestLogMel(t *testing.T) {
	f, err := safetensors.Open("../../testdata/folders/log-mel/expected.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tensor := func(name string) ([]float32, []int) {
		info, _ := f.Info(name)
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		return x, info.Shape
	}
	near := func(what string, got, want []float32) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
		}
		worst := 0.0
		for i := range got {
			worst = max(worst, math.Abs(float64(got[i]-want[i])))
		}
		t.Logf("%s: largest difference %.2g", what, worst)
		if !(worst <= 1e-6) {
			t.Errorf("%s: largest difference %g, want at most 1e-6", what, worst)
		}
	}
	for i := range 3 {
		samples, _ := tensor(fmt.Sprintf("samples_%d", i))
		want, shape := tensor(fmt.Sprintf("mel_%d", i))
		got, err := LogMel(samples, shape[0])
		if err != nil {
			t.Fatal(err)
		}
		near(fmt.Sprintf("sound %d", i), got, want)
	}
	samples, _ := tensor("samples_0")
	want, shape := tensor("mel_padded")
	got, err := LogMel(append(samples, make([]float32, 30*SampleRate-len(samples))...), shape[0])
	if err != nil {
		t.Fatal(err)
	}
	var first []float32
	for b := range shape[0] {
		first = append(first, got[b*3000:b*3000+shape[1]]...)
	}
	near("sound of 30 seconds", first, want)

	if _, err := LogMel(samples[:200], 80); !errors.Is(err, fault.ErrShape) {
		t.Errorf("200 samples: %v", err)
	}
	if _, err := LogMel(samples, 0); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("no bins: %v", err)
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
