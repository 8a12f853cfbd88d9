package product

import (
	"runtime"
	"testing"
	"time"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// TestShortCalls expects a product that is not worth waking a worker to be serial, unless such
// products follow one another closely.
func TestShortCalls(t *testing.T) {
	before := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { par.Stop(); runtime.GOMAXPROCS(before) })
	par.Stop()
	for range 5 {
		time.Sleep(time.Millisecond)
		if worthThreads(2, tune.Used.Threads.ReadyWork) {
			t.Fatal("a short call by itself is worth a second thread")
		}
	}
	for start := time.Now(); !worthThreads(2, tune.Used.Threads.ReadyWork); { // a busy machine may let it wait
		if time.Since(start) > 30*time.Second {
			t.Fatal("one short call follows another, and it is not worth a second thread")
		}
	}
	if worthThreads(2, tune.Used.Threads.ReadyWork-1) || worthThreads(1, tune.Used.Threads.ReadyWork) {
		t.Error("a call with less work, or on one thread, is worth a second thread")
	}
}
