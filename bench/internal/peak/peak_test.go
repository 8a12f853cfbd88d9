package peak

import (
	"runtime"
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

// TestFMAIsPlausible: vectors must reach at least twice the speed of scalar code. Another process
// may use the processor for longer than a sample, so the best of several measurements counts.
func TestFMAIsPlausible(t *testing.T) {
	best := func(isa kernels.ISA) (v float64) {
		for range 8 {
			v = max(v, FMA(isa, 1, time.Millisecond))
		}
		return v
	}
	scalar := best(kernels.Generic)
	if scalar <= 0 {
		t.Fatalf("scalar peak %g", scalar)
	}
	for _, isa := range kernels.Supported()[1:] {
		if v := best(isa); v < 2*scalar {
			t.Errorf("%s: %g GFLOP/s, scalar code %g", isa, v, scalar)
		}
	}
}

// TestInt8IsPlausible: int8 is at least as fast as float32, where it is measured.
func TestInt8IsPlausible(t *testing.T) {
	for _, isa := range kernels.Supported()[1:] {
		if loopsOf(isa).int8 == nil {
			continue
		}
		var int8s, floats float64
		for range 8 {
			int8s, floats = max(int8s, Int8(isa, 1, time.Millisecond)), max(floats, FMA(isa, 1, time.Millisecond))
		}
		if int8s < floats {
			t.Errorf("%s: %g Gop/s of int8, %g GFLOP/s", isa, int8s, floats)
		}
	}
}

// TestTransferIsPlausible: two threads on two processors pass a line to each other in much less
// than 10 µs, unless the system keeps both on one processor.
func TestTransferIsPlausible(t *testing.T) {
	several := runtime.GOMAXPROCS(0) > 1 && runtime.NumCPU() > 1
	got := Transfer()
	for begin := time.Now(); several && got == 0 && time.Since(begin) < 20*time.Second; { // other programs may keep a processor busy
		got = Transfer()
	}
	if several && (got < 2 || got > 1e4) {
		t.Errorf("a cache line takes %g ns from one thread to another", got)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if got := Transfer(); got != 0 {
		t.Errorf("%g ns on one processor, want 0: there is nothing to measure", got)
	}
}

// TestCores: two threads have about one or two cores. The host may take a processor away while the
// single thread is timed, which then seems slow, so one plausible measurement of several is enough.
func TestCores(t *testing.T) {
	processors := min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
	if processors > 1 {
		got, tries := 0.0, 0
		for ; !(got > 0.5 && got < 2.5) && tries < 20; tries++ {
			got = Cores(2)
		}
		if tries == 20 {
			t.Errorf("two threads have %g cores", got)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * processors))
	for _, threads := range []int{1, processors + 1} {
		if got := Cores(threads); got != 0 {
			t.Errorf("%d threads have %g cores, want 0: there is nothing to measure", threads, got)
		}
	}
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		bytes, cache int
		want         string
	}{
		{4, 0, "warm"}, {512 << 10, 0, "warm"}, {1 << 20, 0, "shared"}, {16 << 20, 0, "shared"}, {17 << 20, 0, "cold"},
		{17 << 20, 32 << 20, "cold"}, {100 << 20, 256 << 20, "shared"}, {200 << 20, 256 << 20, "cold"},
	} {
		if got := Warmth(c.bytes, c.cache); got != c.want {
			t.Errorf("Warmth(%d, %d) = %s, want %s", c.bytes, c.cache, got, c.want)
		}
	}
}
