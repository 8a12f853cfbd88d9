package kernels

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// TestInt8Concurrent multiplies on several goroutines while the garbage collector runs, which stops
// them with signals: the bits are those of a single call. With tiles, it would detect tiles of one
// thread used by another. AVOFORMER_LONG makes it a million calls of 16 goroutines.
func TestInt8Concurrent(t *testing.T) {
	goroutines, calls := 4, 64
	if testenv.Long() {
		goroutines, calls = 16, 1_000_000
	}
	x := int8Case{m: 33, n: 40, k: 96, alpha: 1, ep: "b"}.data()
	b := x.pack()
	want := checksum(x.reference())
	stop := make(chan struct{})
	var collector, callers sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	var wrong, left atomic.Int64
	left.Store(int64(calls))
	for range goroutines {
		callers.Go(func() {
			for left.Add(-1) >= 0 {
				if checksum(x.compute(1, b)) != want {
					wrong.Add(1)
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	collector.Wait()
	if wrong.Load() > 0 {
		t.Errorf("%d of %d calls are wrong, with %v", wrong.Load(), calls, simd.Configurations()[0])
	}
}
