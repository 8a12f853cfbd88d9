package kernels

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/testenv"
)

// Assembly cannot be preempted, so the garbage collector waits for a call to
// end before it stops the world, and every goroutine waits with it
// (golang/go#64417).

// TestPauses keeps all Ps in the kernels, collects garbage again and again, and
// allows 99 of 100 stops of the world to take a millisecond at most.
func TestPauses(t *testing.T) {
	if testing.Short() || testenv.Emulated() {
		t.Skip("measures time")
	}
	const limit = time.Millisecond
	const n = 1024
	a, b := make([]float32, n*n), make([]float32, n*n)
	eachISA(t, func(t *testing.T) {
		if active == Generic {
			t.Skip("Go code is preemptible")
		}
		loads := []struct {
			name string
			call func() func()
		}{
			{"gemm", func() func() {
				c := make([]float32, n*n)
				return func() { Gemm(NoTrans, Trans, n, n, n, 1, a, n, b, n, 0, c, n) }
			}},
			{"softmax", func() func() {
				x := make([]float32, 1<<22)
				return func() { Softmax(x, x, 1, len(x)) }
			}},
			{"layernorm", func() func() {
				x := make([]float32, 1<<20)
				return func() { LayerNorm(x, x, 1<<10, 1<<10, nil, nil, 1e-5) }
			}},
			{"gelu", func() func() {
				x := make([]float32, 1<<20)
				return func() { GELU(x, x) }
			}},
		}
		for _, l := range loads {
			t.Run(l.name, func(t *testing.T) {
				// Where other programs want the processors, a thread may be
				// without one at any time, and the pause is theirs. Then Go code
				// pauses as long: such a moment says nothing.
				quiet := 0
				var p99 time.Duration
				for try := 0; try < 20 && quiet < 5; try++ {
					if p99 = pauses(l.call); p99 <= limit {
						t.Logf("99th percentile %v", p99)
						return
					}
					if pauses(spinning) <= limit {
						quiet++
					}
				}
				if quiet == 0 {
					t.Skipf("the machine is too busy to measure: a loop in Go pauses for more than %v", limit)
				}
				t.Errorf("99th percentile of the pauses is %v, want at most %v", p99, limit)
			})
		}
	})
}

// spinning is a load that can be preempted anywhere.
func spinning() func() {
	x := 1.0
	return func() {
		for range 1 << 20 {
			x += x * 1e-9
		}
	}
}

// TestPausesAreSeen shows that the measurement finds a kernel call that is too
// long: one over 1<<24 elements, which the package's functions would cut up.
func TestPausesAreSeen(t *testing.T) {
	if testing.Short() || testenv.Emulated() || active == Generic {
		t.Skip("measures time, of assembly")
	}
	x := make([]float32, 1<<24)
	p99 := pauses(func() func() { return func() { expVec(x[:len(x):len(x)], x) } })
	if p99 < time.Millisecond {
		t.Errorf("99th percentile of the pauses is %v with calls of several milliseconds", p99)
	}
}

// pauses runs a call made by load on each P, over and over, with a collection
// every 2 ms for 0.3 s, and returns the 99th percentile of the pauses.
func pauses(load func() func()) time.Duration {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		call := load()
		wg.Go(func() {
			for !stop.Load() {
				call()
			}
		})
	}
	before := pauseHistogram()
	for begin := time.Now(); time.Since(begin) < 300*time.Millisecond; time.Sleep(2 * time.Millisecond) {
		runtime.GC()
	}
	after := pauseHistogram()
	stop.Store(true)
	wg.Wait()

	total := uint64(0)
	for i := range after.Counts {
		after.Counts[i] -= before.Counts[i]
		total += after.Counts[i]
	}
	for i, seen := len(after.Counts)-1, uint64(0); i >= 0; i-- {
		if seen += after.Counts[i]; seen > total/100 {
			if upper := after.Buckets[i+1]; !math.IsInf(upper, 1) {
				return time.Duration(upper * float64(time.Second))
			}
			return time.Duration(math.MaxInt64)
		}
	}
	return 0
}

// pauseHistogram is a copy of the durations of all stops of the world so far.
func pauseHistogram() metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	h := s[0].Value.Float64Histogram()
	return metrics.Float64Histogram{Counts: append([]uint64(nil), h.Counts...), Buckets: append([]float64(nil), h.Buckets...)}
}
