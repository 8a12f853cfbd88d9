package kernels

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/kernels/internal/par"
)

// withProcs runs the rest of the test with another GOMAXPROCS, and as many processors.
func withProcs(t testing.TB, n int) {
	old := runtime.GOMAXPROCS(n)
	par.PretendProcessors(n)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(old)
		par.PretendProcessors(0)
	})
}

// TestConcurrentCallsHaveWorkers has eight goroutines make products on two threads,
// for which the pool is to have eight workers.
func TestConcurrentCallsHaveWorkers(t *testing.T) {
	const callers, n = 8, 128
	withProcs(t, 16)
	par.Stop()
	t.Cleanup(par.Stop)
	var enough atomic.Bool
	var wg sync.WaitGroup
	most := 0
	for range callers {
		wg.Go(func() {
			a, b, c := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
			for !enough.Load() {
				Threads(2).Gemm(NoTrans, NoTrans, n, n, n, 1, a, n, b, n, 0, c, n)
			}
		})
	}
	for start := time.Now(); most < callers && time.Since(start) < 30*time.Second; time.Sleep(time.Millisecond) {
		most = max(most, par.Workers())
	}
	enough.Store(true)
	wg.Wait()
	if most = max(most, par.Workers()); most != callers {
		t.Errorf("%d workers for %d concurrent calls of two threads", most, callers)
	}
}
