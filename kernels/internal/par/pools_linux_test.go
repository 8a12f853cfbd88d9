package par

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mask returns the affinity of the calling thread.
func mask(t *testing.T) (m unix.CPUSet) {
	t.Helper()
	if err := unix.SchedGetaffinity(0, &m); err != nil {
		t.Error(err)
	}
	return m
}

// twoCPUs returns CPUs that the test may run on.
func twoCPUs(t *testing.T) (a, b int) {
	t.Helper()
	allowed := mask(t)
	if allowed.Count() < 2 {
		t.Skip("one CPU")
	}
	a = -1
	for cpu := 0; ; cpu++ {
		switch {
		case !allowed.IsSet(cpu):
		case a < 0:
			a = cpu
		default:
			return a, cpu
		}
	}
}

// TestBind binds two goroutines to one CPU each. They call Run concurrently with a goroutine that
// is not bound: each bound call's parts run on its CPU, and the parts of the third call on any CPU.
func TestBind(t *testing.T) {
	a, b := twoCPUs(t)
	withProcs(t, 8)
	t.Cleanup(Stop)
	before := mask(t)
	var all sync.WaitGroup
	var strays [3]atomic.Int32
	for i, cpus := range [][]int{{a}, {b}, nil} {
		all.Go(func() {
			if cpus != nil {
				release, ok := Bind(cpus)
				if !ok {
					t.Errorf("CPU %d: not bound", cpus[0])
					return
				}
				defer release()
			}
			for range 50 {
				Run(4, 8, each(func(int) {
					if m := mask(t); cpus == nil && m.Count() != before.Count() || cpus != nil && (m.Count() != 1 || !m.IsSet(cpus[0])) {
						strays[i].Add(1)
					}
				}))
			}
		})
	}
	all.Wait()
	for i := range strays {
		if n := strays[i].Load(); n > 0 {
			t.Errorf("%d parts of call %d ran on a thread that is bound otherwise", n, i)
		}
	}
}

// TestBoundWorkers makes a call of two threads that are bound to the same two CPUs. Its worker is
// bound to them too, and a second goroutine that is bound to them has the same worker.
func TestBoundWorkers(t *testing.T) {
	a, b := twoCPUs(t)
	withProcs(t, 8)
	Stop()
	t.Cleanup(Stop)
	for range 2 {
		var all sync.WaitGroup
		all.Go(func() {
			release, ok := Bind([]int{b, a, b})
			defer release()
			var begun atomic.Int32
			end := time.Now().Add(10 * time.Second)
			Run(2, 2, each(func(int) {
				for begun.Add(1); begun.Load() < 2 && time.Now().Before(end); {
					time.Sleep(time.Millisecond)
				}
				if m := mask(t); m.Count() != 2 || !m.IsSet(a) || !m.IsSet(b) {
					t.Error("a part runs on other CPUs")
				}
			}))
			if begun.Load() < 2 || !ok {
				t.Errorf("bound: %t; %d of 2 parts at once", ok, begun.Load())
			}
		})
		all.Wait()
	}
	if n, bound := len(*workers.all.Load()), len(*poolOf([]int{a, b}).all.Load()); n != 0 || bound != 1 {
		t.Errorf("%d workers that are not bound and %d that are, want 0 and 1", n, bound)
	}
	if n := Workers(); n != 1 {
		t.Errorf("%d workers", n)
	}
	Stop()
	if n := Workers(); n != 0 {
		t.Errorf("%d workers after Stop", n)
	}
}

// TestRelease expects a thread's earlier affinity after release, nested bindings to end in turn,
// and threads that Go starts meanwhile not to be bound.
func TestRelease(t *testing.T) {
	a, b := twoCPUs(t)
	withProcs(t, 8)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := mask(t)
	release, ok := Bind([]int{a})
	inner, ok2 := Bind([]int{b})
	if !ok || !ok2 || current() != poolOf([]int{b}) {
		t.Errorf("bound %t and %t", ok, ok2)
	}
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			runtime.LockOSThread() // two goroutines then have different threads
			defer runtime.UnlockOSThread()
			time.Sleep(10 * time.Millisecond)
			if m := mask(t); m.Count() != before.Count() || current() != workers {
				t.Errorf("a goroutine next to a bound one may run on %d CPUs, want %d", m.Count(), before.Count())
			}
		})
	}
	all.Wait()
	inner()
	if m := mask(t); m.Count() != 1 || !m.IsSet(a) || current() != poolOf([]int{a}) {
		t.Error("the inner binding did not end")
	}
	release()
	if m := mask(t); m != before || current() != workers {
		t.Error("the outer binding did not end")
	}
	for _, cpus := range [][]int{nil, {}, {-1}, {1 << 20}} {
		release, ok := Bind(cpus)
		if ok || mask(t) != before || current() != workers {
			t.Errorf("bound to %v", cpus)
		}
		release()
	}
}
