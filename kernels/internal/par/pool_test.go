package par

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPoolGrowsToAllCalls has several calls of two threads in progress, each of whose parts waits
// until all parts of all calls have begun.
func TestPoolGrowsToAllCalls(t *testing.T) {
	const calls = 8
	withProcs(t, 2*calls)
	Stop()
	t.Cleanup(Stop)
	var begun atomic.Int32
	var all sync.WaitGroup
	end := time.Now().Add(10 * time.Second)
	for range calls {
		all.Go(func() {
			Run(2, 2, each(func(int) {
				for begun.Add(1); begun.Load() < 2*calls && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
			}))
		})
	}
	all.Wait()
	if time.Now().After(end) {
		t.Error("some parts did not begin while the others ran")
	}
	if got := Workers(); got != calls {
		t.Errorf("%d workers for %d concurrent calls of two threads", got, calls)
	}
}

// TestPoolKeepsToDemand makes calls of two threads one after another. They need one worker, even if
// they find it busy, spinning or asleep.
func TestPoolKeepsToDemand(t *testing.T) {
	withProcs(t, 8)
	Stop()
	t.Cleanup(Stop)
	for i := range 3000 {
		Run(2, 4, each(func(int) {}))
		if i%100 == 0 {
			time.Sleep(2 * spinTime)
		}
	}
	if got := Workers(); got > 1 {
		t.Errorf("%d workers for calls of two threads one after the other", got)
	}
}

// TestPoolFollowsGOMAXPROCS lowers GOMAXPROCS while the pool sleeps: at the next call, which needs
// one worker, all surplus workers end.
func TestPoolFollowsGOMAXPROCS(t *testing.T) {
	withProcs(t, 16)
	t.Cleanup(Stop)
	var begun sync.WaitGroup
	begun.Add(16)
	Run(16, 16, each(func(int) { begun.Done(); begun.Wait() }))
	if got := Workers(); got != 15 {
		t.Fatalf("%d workers at GOMAXPROCS = 16", got)
	}
	for workers.looks() || int(workers.sleeping.Load()) < Workers() {
		time.Sleep(time.Millisecond)
	}
	runtime.GOMAXPROCS(4)
	time.Sleep(2 * askEvery)
	Run(2, 2, each(func(int) {})) // one call wakes all
	for start := time.Now(); Workers() > 3; time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d workers at GOMAXPROCS = 4", Workers())
		}
	}
	runtime.GOMAXPROCS(1)
	for start := time.Now(); Workers() > 0; {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d workers at GOMAXPROCS = 1", Workers())
		}
		Run(2, 2, each(func(int) {}))
	}
	runtime.GOMAXPROCS(3)
	for start := time.Now(); Workers() != 2; {
		if time.Since(start) > 10*time.Second {
			t.Fatalf("%d workers at GOMAXPROCS = 3", Workers())
		}
		Run(3, 3, each(func(int) { time.Sleep(10 * time.Microsecond) }))
	}
}

// TestPoolKeepsToProcessors sets GOMAXPROCS to twice the number of processors: further workers
// would only take processors from the goroutines that compute.
func TestPoolKeepsToProcessors(t *testing.T) {
	withProcs(t, 8)
	Stop()
	t.Cleanup(Stop)
	PretendProcessors(4)
	for range 100 {
		Run(8, 64, each(func(int) { time.Sleep(10 * time.Microsecond) }))
	}
	if got := Workers(); got != 3 {
		t.Errorf("%d workers on 4 processors, want 3", got)
	}
	PretendProcessors(0)
	if got, least := workers.processors(), runtime.NumCPU(); got < least {
		t.Errorf("%d processors, and NumCPU is %d", got, least)
	}
}

// TestPanicOnCaller recovers a panic of a part on the calling goroutine while workers run other
// parts. After that no part may run or begin.
func TestPanicOnCaller(t *testing.T) {
	withProcs(t, 4)
	t.Cleanup(Stop)
	for threads := 2; threads <= 4; threads++ {
		for _, by := range []string{"panic", "Goexit"} {
			t.Run(fmt.Sprintf("threads=%d/%s", threads, by), func(t *testing.T) {
				const parts = 64
				var inside, begun atomic.Int32
				callerIsIn := make(chan struct{})
				memory := make([]int, parts) // written without locks: a late part is also a race
				part := func(i int) {
					if i == 0 { // the first part of the caller's share; workers wait for it
						close(callerIsIn)
						for inside.Load() == 0 {
							runtime.Gosched()
						}
						if by == "Goexit" {
							runtime.Goexit()
						}
						panic("part 0")
					}
					inside.Add(1)
					begun.Add(1)
					<-callerIsIn
					for begin := time.Now(); workers.demand.Load() > 0 && time.Since(begin) < 10*time.Second; {
						runtime.Gosched() // until the remaining parts are withdrawn
					}
					time.Sleep(3 * time.Millisecond)
					memory[i]++
					inside.Add(-1)
				}
				var recovered any
				var caller sync.WaitGroup
				caller.Go(func() {
					defer func() {
						recovered = recover()
						if n := inside.Load(); n != 0 {
							t.Errorf("%d parts still run", n)
						}
						for i := range memory {
							memory[i]++
						}
					}()
					Run(threads, parts, each(part))
				})
				caller.Wait()
				if want := by == "panic"; (recovered != nil) != want {
					t.Errorf("recovered %v", recovered)
				}
				before := begun.Load()
				time.Sleep(10 * time.Millisecond)
				if after := begun.Load(); after != before || int(before) >= parts*(2*threads-1)/(2*threads) {
					t.Errorf("%d of %d parts had begun when the call ended, and %d later", before, parts, after)
				}
				n := atomic.Int32{}
				Run(threads, 10, each(func(int) { n.Add(1) }))
				if n.Load() != 10 {
					t.Errorf("the next call did %d parts of 10", n.Load())
				}
			})
		}
	}
}

// TestAffinityIsLeftAlone expects no worker to be told to leave a CPU, unless that is allowed.
func TestAffinityIsLeftAlone(t *testing.T) {
	if AllowAffinityChanges(false) {
		t.Fatal("affinity changes are allowed from the start")
	}
	w := new(worker)
	if callerCPU() >= 0 || w.avoidCallerCPU() || w.avoid.Load() != 0 {
		t.Error("a worker would leave the caller's CPU")
	}
	if AllowAffinityChanges(true) || !AllowAffinityChanges(false) {
		t.Error("AllowAffinityChanges does not return what it was before")
	}
}

// TestCrowdedWorkersSleep expects that no worker keeps spinning while more calls are in progress
// than there are processors.
func TestCrowdedWorkersSleep(t *testing.T) {
	withProcs(t, 2)
	Stop()
	t.Cleanup(Stop)
	Run(2, 100, each(func(int) { time.Sleep(10 * time.Microsecond) })) // starts the worker
	if workers.crowded() {
		t.Error("crowded without a call")
	}
	workers.demand.Add(3 * oneCall)
	defer workers.demand.Add(-3 * oneCall)
	if !workers.crowded() {
		t.Error("a worker continues to spin during three calls on two processors")
	}
}
