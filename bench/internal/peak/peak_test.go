package peak

import (
	"testing"
	"time"

	"github.com/avoformer/avoformer/kernels"
)

func TestCopyAndReadCoverTheirSlices(t *testing.T) {
	for _, isa := range kernels.Supported() {
		t.Run(isa.String(), func(t *testing.T) {
			l := loopsOf(isa)
			for _, n := range []int{128, 256, 1024} {
				src, dst := make([]float32, n), make([]float32, n+1)
				for i := range src {
					src[i] = float32(i)
				}
				l.copyFloats(dst[:n], src)
				for i := range src {
					if dst[i] != src[i] {
						t.Fatalf("n=%d: dst[%d] = %g", n, i, dst[i])
					}
				}
				if dst[n] != 0 {
					t.Fatalf("n=%d: wrote past the end", n)
				}
				l.read(src)
			}
		})
	}
}

// A wider tier must not measure less than scalar code, nor any tier nothing.
func TestFMAIsPlausible(t *testing.T) {
	scalar := FMA(kernels.Generic, 1, time.Millisecond)
	if scalar <= 0 {
		t.Fatalf("scalar peak %g", scalar)
	}
	for _, isa := range kernels.Supported()[1:] {
		if v := FMA(isa, 1, time.Millisecond); v < 2*scalar {
			t.Errorf("%s: %g GFLOP/s, scalar code %g", isa, v, scalar)
		}
	}
}

func TestLevels(t *testing.T) {
	for bytes, want := range map[int]string{4: "warm", 512 << 10: "warm", 1 << 20: "shared", 16 << 20: "shared", 17 << 20: "cold"} {
		if got := Warmth(bytes); got != want {
			t.Errorf("Warmth(%d) = %s, want %s", bytes, got, want)
		}
	}
}
