package kernels

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Threads is the number of threads that a kernel call may use, the calling
// goroutine included. 0 and 1 mean serial. Its methods are the package's
// functions; results do not depend on the number.
//
// All calls share one pool of at most GOMAXPROCS-1 workers, which starts with
// the first call that wants one. A call never waits for a worker: the caller
// does whatever the workers have not begun, so many concurrent calls on any
// number of threads keep at most GOMAXPROCS goroutines computing. A worker
// without work looks for more for some 50 microseconds and then sleeps at no
// cost. StopWorkers ends the workers.
type Threads int

// task is work that falls into parts, which may run in any order and at once;
// do does those in [from, to). Its value should be a pointer to an object of a
// sync.Pool, so that a parallel call allocates nothing; a closure would escape
// to the heap at every call.
type task interface{ do(from, to int) }

// taskFunc is a task from a function, for callers that may allocate.
type taskFunc func(from, to int)

func (f taskFunc) do(from, to int) { f(from, to) }

// parallel has w do all parts in [0, n), on at most t goroutines, and returns
// when all are done. Parts must not panic: one that does on a worker ends the
// program.
//
// Each goroutine has an equal share of the parts, the same from call to call,
// so that it meets again in its caches what it read and wrote before. It takes
// half of what is left of its share at a time, and when nothing is left, half
// of what is left of another's: parts are handed out many at a time as long as
// there are many, and one by one at the end, where they decide who waits.
func parallel(t Threads, n int, w task) {
	if n <= 0 {
		return
	}
	helpers := min(int(t), n) - 1
	if helpers > 0 {
		helpers = min(helpers, runtime.GOMAXPROCS(0)-1)
	}
	if helpers <= 0 {
		w.do(0, n)
		return
	}
	j := jobs.Get().(*job)
	j.work = w
	j.divide(n, helpers+1)
	if workers.submit(j, helpers) {
		letWorkersMove()
	}
	j.run(0)
	workers.withdraw(j)
	j.wait()
	j.work = nil
	jobs.Put(j)
}

// job is one running call of parallel.
type job struct {
	work    task
	shares  []share
	offered []*worker // to whom it was handed
	wanted  int       // further workers that may join; guarded by the pool's mutex
	cpu     int       // the CPU that the caller ran on when it woke workers, or -1
	// active is the number of workers inside or handed the job, plus waiting once
	// the caller sleeps until the last of them leaves.
	active atomic.Int64
	done   chan struct{} // the last worker's message to a sleeping caller
}

const waiting = 1 << 32

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

// share is the parts [from, to) that a goroutine has yet to take, as
// from<<32 | to, on a cache line of its own.
type share struct {
	parts atomic.Uint64
	_     [56]byte
}

// left is how many parts nobody has taken.
func (s *share) left() int {
	v := s.parts.Load()
	return int(uint32(v)) - int(v>>32)
}

// take takes half of the parts, at least one, from the front or from the back.
func (s *share) take(back bool) (from, to int) {
	for {
		v := s.parts.Load()
		from, to = int(v>>32), int(uint32(v))
		if from >= to {
			return 0, 0
		}
		half := max(1, (to-from)/2)
		rest := uint64(from+half)<<32 | uint64(to)
		if back {
			rest = uint64(from)<<32 | uint64(to-half)
		}
		if !s.parts.CompareAndSwap(v, rest) {
			continue
		}
		if back {
			return to - half, to
		}
		return from, from + half
	}
}

// divide gives each of several goroutines its share of n parts.
func (j *job) divide(n, goroutines int) {
	if cap(j.shares) < goroutines {
		j.shares = make([]share, goroutines)
	}
	j.shares = j.shares[:goroutines]
	end := func(i int) uint64 { return uint64(n) * uint64(i) / uint64(goroutines) }
	for i := range j.shares {
		j.shares[i].parts.Store(end(i)<<32 | end(i+1))
	}
}

// run does parts until all are taken, those of the share own first.
func (j *job) run(own int) {
	victim := &j.shares[own]
	for back := false; ; back = true {
		for from, to := victim.take(back); from < to; from, to = victim.take(back) {
			j.work.do(from, to)
		}
		victim = &j.shares[0]
		for i := range j.shares {
			if j.shares[i].left() > victim.left() {
				victim = &j.shares[i]
			}
		}
		if victim.left() <= 0 {
			return
		}
	}
}

// leave is a worker's farewell; j may belong to another call right after it.
func (j *job) leave() {
	if j.active.Add(-1) == waiting {
		j.active.Store(0)
		j.done <- struct{}{}
	}
}

// wait returns when no worker is inside any more. Nobody can join by now.
func (j *job) wait() {
	if spin(func() bool { return j.active.Load() == 0 }) {
		return
	}
	if j.active.Add(waiting) == waiting {
		j.active.Store(0) // the last one left in between
		return
	}
	<-j.done
}

// Spinning for longer than a sleeping goroutine takes to wake is never worth
// it, and most calls are followed by the next within this time.
const (
	spinTime   = 50 * time.Microsecond
	spinRounds = 200 // tries between two looks at the clock
)

// spin tries ready again and again for spinTime, and reports whether it came
// true. It keeps its processor: runtime.Gosched would wake further threads to
// run the goroutine that gave way, and these get into the way of the caller's.
func spin(ready func() bool) bool {
	var end time.Time
	for {
		for range spinRounds {
			if ready() {
				return true
			}
		}
		now := time.Now()
		switch {
		case end.IsZero():
			end = now.Add(spinTime)
		case now.After(end):
			return false
		}
	}
}
