package kernels

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/kernels/internal/par"
)

// withProcs runs the rest of the test with another GOMAXPROCS and the same number of processors.
func withProcs(t testing.TB, n int) {
	old := runtime.GOMAXPROCS(n)
	par.PretendProcessors(n)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(old)
		par.PretendProcessors(0)
	})
}

// TestConcurrentCallsHaveWorkers has eight goroutines make products on two threads, for which the
// pool must have eight workers.
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

// TestRowsOfCalls multiplies other rows in each call, on several goroutines, which keep the
// converted rows of the call before: each call has the bits of a single goroutine.
func TestRowsOfCalls(t *testing.T) {
	withProcs(t, 4)
	r := rand.New(rand.NewPCG(5, 6))
	for _, f := range []Format{FormatInt8, FormatBF16Fast, FormatQ8_0} {
		for _, s := range []struct{ m, n, k int }{{130, 192, 64}, {300, 96, 128}, {16, 512, 96}} {
			of := randomSlice(r, s.n*s.k)
			b := PackBRows(f, s.n, s.k, func(j int, dst []float32) { copy(dst, of[j*s.k:]) })
			for call := range 20 {
				m := s.m - call%2*s.m/3
				a, want, got := randomSlice(r, 2*m*s.k), make([]float32, 2*m*s.n), make([]float32, 2*m*s.n)
				Threads(1).GemmPacked(m, 1, a, s.k, b, 0, want, s.n, Epilogue{})
				Threads(1).GemmPacked(m, 1, a[m*s.k:], s.k, b, 0, want[m*s.n:], s.n, Epilogue{})
				for i := range 2 {
					Threads(4).GemmPacked(m, 1, a[i*m*s.k:], s.k, b, 0, got[i*m*s.n:], s.n, Epilogue{})
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%v: %dx%dx%d, call %d: other bits than with one goroutine", f, m, s.n, s.k, call)
				}
				clear(got)
				Threads(4).GemmGrouped(GemmGroupedParams{A: a, LdA: s.k, B: []*PackedB{b, b}, Ends: []int{m, 2 * m}, C: got, LdC: s.n})
				if !slices.Equal(got, want) {
					t.Fatalf("%v: groups of %dx%dx%d, call %d: other bits than with one goroutine", f, m, s.n, s.k, call)
				}
			}
		}
	}
}
