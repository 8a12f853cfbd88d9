package par

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// withProcs runs the rest of the test with another GOMAXPROCS and the same number of processors.
func withProcs(t testing.TB, n int) {
	old := runtime.GOMAXPROCS(n)
	workers.limit.Store(0) // as if GOMAXPROCS had been 1 until now
	PretendProcessors(n)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(old)
		PretendProcessors(0)
	})
}

// each returns a task that calls f for one part after another.
func each(f func(part int)) Task {
	return Func(func(from, to int) {
		for i := from; i < to; i++ {
			f(i)
		}
	})
}

func TestRunRunsEachPartOnce(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(Stop)
	for _, threads := range []int{-1, 0, 1, 2, 3, 4, 100} {
		for _, n := range []int{0, 1, 2, 3, 7, 100} {
			t.Run(fmt.Sprintf("threads=%d/n=%d", threads, n), func(t *testing.T) {
				for range 20 {
					count := make([]atomic.Int32, n)
					Run(threads, n, each(func(i int) { count[i].Add(1) }))
					for i := range count {
						if got := count[i].Load(); got != 1 {
							t.Fatalf("part %d ran %d times", i, got)
						}
					}
				}
			})
		}
	}
}

// TestRunAlone expects a single call of Do with all parts on one thread, and no call if there are
// no parts.
func TestRunAlone(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(Stop)
	for _, c := range []struct {
		threads, n int
		want       string
	}{{1, 100, "[0 100]"}, {0, 100, "[0 100]"}, {4, 1, "[0 1]"}, {1, 0, ""}, {4, 0, ""}, {4, -1, ""}} {
		var got string
		Run(c.threads, c.n, Func(func(from, to int) { got += fmt.Sprint([]int{from, to}) }))
		if got != c.want {
			t.Errorf("%d parts on %d threads: %q, want %q", c.n, c.threads, got, c.want)
		}
	}
}

// TestRunConcurrentCalls has more callers than processors, each with more threads than processors,
// and calls within calls.
func TestRunConcurrentCalls(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(Stop)
	var total atomic.Int64
	var wg sync.WaitGroup
	const callers, calls, parts, inner = 16, 50, 9, 5
	for range callers {
		wg.Go(func() {
			for range calls {
				Run(8, parts, each(func(int) {
					Run(3, inner, each(func(int) { total.Add(1) }))
				}))
			}
		})
	}
	wg.Wait()
	if got, want := total.Load(), int64(callers*calls*parts*inner); got != want {
		t.Errorf("%d parts ran, want %d", got, want)
	}
	if got := Workers(); got > 3 {
		t.Errorf("%d workers, want at most GOMAXPROCS-1 = 3", got)
	}
}

// TestRunUsesWorkers needs two parts to run concurrently.
func TestRunUsesWorkers(t *testing.T) {
	withProcs(t, 2)
	t.Cleanup(Stop)
	var barrier sync.WaitGroup
	barrier.Add(2)
	done := make(chan struct{})
	go func() {
		Run(2, 2, each(func(int) { barrier.Done(); barrier.Wait() }))
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the second part did not start while the first one ran")
	}
}

// TestRunDoesNotWaitForWorkers keeps the only worker busy with another call.
func TestRunDoesNotWaitForWorkers(t *testing.T) {
	withProcs(t, 2)
	t.Cleanup(Stop)
	var inside sync.WaitGroup
	inside.Add(2)
	release := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		Run(2, 2, each(func(int) { inside.Done(); <-release }))
		close(finished)
	}()
	inside.Wait()
	n := 0
	Run(2, 10, each(func(int) { n++ })) // serial; otherwise the race detector reports it
	if n != 10 {
		t.Errorf("%d parts ran, want 10", n)
	}
	close(release)
	<-finished
}

func TestStop(t *testing.T) {
	withProcs(t, 4)
	Stop()
	before := runtime.NumGoroutine()
	for range 3 {
		Run(4, 100, each(func(int) { time.Sleep(10 * time.Microsecond) }))
		if Workers() == 0 {
			t.Fatal("no worker was started")
		}
		Stop()
		if got := Workers(); got != 0 {
			t.Fatalf("%d workers after Stop", got)
		}
	}
	for range 10_000 { // a goroutine counts until its exit is complete
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestRunKeepsToItsThreads makes a call's job wait while all workers are busy with another one.
// Then more workers become free than the call asked for.
func TestRunKeepsToItsThreads(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(Stop)
	for range 20 {
		var other sync.WaitGroup
		var begun atomic.Int32
		other.Go(func() {
			Run(4, 4, each(func(int) { begun.Add(1); time.Sleep(2 * time.Millisecond) }))
		})
		for begun.Load() < 4 {
			runtime.Gosched()
		}
		var now, most atomic.Int32
		Run(2, 16, each(func(int) {
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
		}))
		other.Wait()
		if got := most.Load(); got > 2 {
			t.Fatalf("%d goroutines for 2 threads", got)
		}
	}
}

// TestStopTwice has two goroutines stop the workers while other calls start new ones. A goroutine
// that waits for workers that were not told to end hangs.
func TestStopTwice(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(Stop)
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for range rounds {
		var stopping, calls sync.WaitGroup
		var stopped atomic.Bool
		for range 2 {
			calls.Go(func() {
				for !stopped.Load() {
					Run(4, 8, each(func(int) {}))
				}
			})
			stopping.Go(Stop)
		}
		stopping.Wait()
		stopped.Store(true)
		calls.Wait()
	}
}

// TestIdleWorkersSleep expects every worker to sleep soon after the last call.
func TestIdleWorkersSleep(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(Stop)
	Run(4, 100, each(func(int) { time.Sleep(10 * time.Microsecond) }))
	for range 10_000 {
		if int(workers.sleeping.Load()) == Workers() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("workers still awake ten seconds after the last call")
}

// TestReady: a single short call is not worth a worker, unless such calls follow one another
// closely, or a worker is awake.
func TestReady(t *testing.T) {
	withProcs(t, 2)
	Stop()
	t.Cleanup(Stop)
	for range 5 {
		time.Sleep(10 * spinTime)
		if Ready() {
			t.Fatal("a short call by itself is worth a worker")
		}
	}
	eventually := func(what string, before func()) { // a busy machine may let it wait
		for start := time.Now(); time.Since(start) < 30*time.Second; {
			if before(); Ready() {
				return
			}
		}
		t.Errorf("%s, and it is worth no worker", what)
	}
	eventually("one short call follows another", func() {})
	eventually("a worker is awake", func() {
		time.Sleep(10 * spinTime)
		var both sync.WaitGroup
		both.Add(2)
		Run(2, 2, each(func(int) { both.Done(); both.Wait() }))
	})
}

type countTask struct{ n atomic.Int64 }

func (c *countTask) Do(from, to int) { c.n.Add(int64(to - from)) }

func TestRunDoesNotAllocate(t *testing.T) {
	withProcs(t, 2)
	t.Cleanup(Stop)
	var c countTask
	if got := testing.AllocsPerRun(200, func() { Run(2, 8, &c) }); got != 0 {
		t.Errorf("%v allocations a call", got)
	}
}

// BenchmarkRun measures the cost of a call whose parts do nothing, one call after another and with
// a pause that lets the workers fall asleep.
func BenchmarkRun(b *testing.B) {
	b.Cleanup(Stop)
	var c countTask
	for _, pause := range []time.Duration{0, 200 * time.Microsecond} {
		b.Run(fmt.Sprintf("pause=%v", pause), func(b *testing.B) {
			var busy time.Duration
			for b.Loop() {
				if pause > 0 {
					time.Sleep(pause)
				}
				start := time.Now()
				Run(2, 2, &c)
				busy += time.Since(start)
			}
			b.ReportMetric(float64(busy.Nanoseconds())/float64(b.N), "ns/call")
		})
	}
}
