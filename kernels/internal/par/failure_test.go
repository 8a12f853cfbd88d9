package par

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// onWorker runs a task on two goroutines, and the worker ends as end does. It returns the value
// that the caller recovers, and whether Run returned, or began all its own parts. It stays inside
// the first part until the worker has ended.
func onWorker(end func()) (recovered any, returned, all bool) {
	var caller sync.WaitGroup
	caller.Go(func() {
		defer func() { recovered = recover() }()
		var ended atomic.Bool
		var begun int
		defer func() { all = begun == 32 }()
		Run(2, 64, each(func(i int) {
			if i >= 32 { // the worker begins with the second half
				if !ended.Swap(true) {
					end()
				}
				return
			}
			begun++
			for start := time.Now(); !ended.Load() && time.Since(start) < 10*time.Second; {
				runtime.Gosched()
			}
			if begun == 1 {
				time.Sleep(10 * time.Millisecond) // the worker is about to end
			}
		}))
		returned = true
	})
	caller.Wait()
	return recovered, returned, all
}

// TestPanicOnWorker recovers, on the caller, the value with which a part panicked on a worker.
// Later calls have workers as before.
func TestPanicOnWorker(t *testing.T) {
	withProcs(t, 2)
	t.Cleanup(Stop)
	for _, value := range []any{"a text", io.ErrUnexpectedEOF, 7} {
		t.Run(fmt.Sprint(value), func(t *testing.T) {
			recovered, returned, all := onWorker(func() { panic(value) })
			for range 10 { // a busy machine may keep the worker from ending
				if all {
					recovered, returned, all = onWorker(func() { panic(value) })
				}
			}
			if all {
				t.Error("all parts were begun after the panic")
			}
			p, ok := recovered.(*WorkerPanic)
			if !ok || returned || p.Value != value {
				t.Fatalf("recovered %v, returned %t", recovered, returned)
			}
			if text := p.Error(); !strings.HasPrefix(text, fmt.Sprint(value)) || !bytes.Contains(p.Stack, []byte("TestPanicOnWorker")) {
				t.Errorf("without the value or the worker's stack: %s", text)
			}
			if err, is := value.(error); errors.Is(p, io.ErrUnexpectedEOF) != is || p.Unwrap() != err {
				t.Errorf("errors.Is finds %v", p.Unwrap())
			}
			checkUsable(t)
		})
	}
}

// TestRuntimeErrorOnWorker has a part with an index out of range.
func TestRuntimeErrorOnWorker(t *testing.T) {
	withProcs(t, 2)
	t.Cleanup(Stop)
	var none []int
	recovered, _, _ := onWorker(func() { none[len(none)]++ })
	var err runtime.Error
	if e, ok := recovered.(error); !ok || !errors.As(e, &err) {
		t.Errorf("recovered %v, want a runtime.Error", recovered)
	}
	checkUsable(t)
}

// TestGoexitOnWorker ends the caller's goroutine in the same way as the worker's goroutine, which
// another one replaces.
func TestGoexitOnWorker(t *testing.T) {
	withProcs(t, 2)
	t.Cleanup(Stop)
	for range 20 {
		if recovered, returned, _ := onWorker(runtime.Goexit); recovered != nil || returned {
			t.Fatalf("recovered %v, returned %t", recovered, returned)
		}
		checkUsable(t)
	}
}

// TestPanicsEverywhere has every part panic, on all goroutines, repeatedly.
func TestPanicsEverywhere(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(Stop)
	for round := range 500 {
		func() {
			defer func() {
				if recover() == nil {
					t.Fatal("Run returned")
				}
			}()
			Run(4, 16, each(func(i int) { panic(i) }))
		}()
		var ran atomic.Int32
		if Run(4, 16, each(func(int) { ran.Add(1) })); ran.Load() != 16 {
			t.Fatalf("round %d: the next call did %d parts of 16", round, ran.Load())
		}
	}
}

// checkUsable expects one worker, which takes part in the next call.
func checkUsable(t *testing.T) {
	t.Helper()
	var both sync.WaitGroup
	both.Add(2)
	done := make(chan struct{})
	go func() {
		Run(2, 2, each(func(int) { both.Done(); both.Wait() }))
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("no worker takes part in the next call")
	}
	if n := Workers(); n != 1 {
		t.Errorf("%d workers, want 1", n)
	}
}
