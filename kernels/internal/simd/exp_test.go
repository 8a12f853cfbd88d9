package simd

import (
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/checkasm"
	"github.com/avoformer/avoformer/internal/testenv"
)

// TestExpEveryFloat compares ExpVec with math.Exp for each of the 2^32 float32 numbers, on every
// tier: the error is at most 1.5 ULP, including denormal results. It tests every 31st of the
// numbers that are so small that the result is 1, or so large that it is 0 or infinite. With
// -short, and in slow environments, it tests a sample.
func TestExpEveryFloat(t *testing.T) {
	stride := uint64(1)
	switch {
	case testenv.Emulated():
		stride = 1 << 20
	case testing.Short() || runtime.GOARCH != "amd64":
		stride = 4093
	}
	tiers := Supported()
	const block = 1 << 14
	type result struct {
		ulp float64
		at  float32
	}
	worst := make([]result, len(tiers))
	var mu sync.Mutex
	// The oracle, which takes most of the time, is computed once for all tiers.
	check := func(first uint64) {
		x, want, got := make([]float32, 0, block), make([]float64, block), make([]float32, block)
		step := stride
		if e := first >> 23 & 255; step == 1 && (e < 127-25 || e > 127+7) {
			step = 31
		}
		for b := first; b < min(first+block*stride, 1<<32); b += step {
			x = append(x, math.Float32frombits(uint32(b)))
		}
		for i, v := range x {
			want[i] = math.Exp(float64(v))
		}
		for k, isa := range tiers {
			ExpVec(isa, got[:len(x)], x)
			var w result
			for i := range x {
				if got[i] == float32(want[i]) {
					continue // differs by at most half an ULP
				}
				if e := checkasm.ULP(got[i], want[i]); e > w.ulp {
					w = result{e, x[i]}
				}
			}
			mu.Lock()
			if w.ulp > worst[k].ulp {
				worst[k] = w
			}
			mu.Unlock()
		}
	}
	var wg sync.WaitGroup
	next := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for first := range next {
				check(first)
			}
		})
	}
	for first := uint64(0); first < 1<<32; first += block * stride {
		next <- first
	}
	close(next)
	wg.Wait()
	for k, isa := range tiers {
		t.Logf("%v: %.3f ULP, at %v", isa, worst[k].ulp, worst[k].at)
		if worst[k].ulp > 1.5 {
			t.Errorf("%v: exp(%v) is off by %.3f ULP, want at most 1.5", isa, worst[k].at, worst[k].ulp)
		}
	}
}
