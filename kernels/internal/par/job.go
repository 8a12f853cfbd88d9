package par

import (
	"sync"
	"sync/atomic"
)

// Task is work that consists of parts, which may run in any order and concurrently. Do does the
// parts in [from, to). The value of a Task should be a pointer to an object of a sync.Pool, so that
// a call of Run allocates nothing. A closure would escape to the heap in every call.
type Task interface{ Do(from, to int) }

// Func is a Task from a function, for callers that may allocate.
type Func func(from, to int)

// Do calls f.
func (f Func) Do(from, to int) { f(from, to) }

// job is one running call of Run.
type job struct {
	task    Task
	shares  []share
	team    []*worker     // workers for which it is on the board; nil: it is not on the board
	size    atomic.Int32  // the size of the last team; workers outside the team may read it
	offered []*worker     // workers to which the job was handed directly
	queued  bool          // it is in the queue
	wanted  int           // further workers that may join from the queue; guarded by the pool's mutex
	cpu     int           // the CPU that the caller ran on when it woke workers, or -1
	done    chan struct{} // the last worker's message to a sleeping caller
	failed  atomic.Pointer[failure]
	_       [cacheLine]byte
	// active is the number of workers that run the job or were handed it, plus callerSleeps once
	// the caller sleeps until the last of them leaves. Leaving workers write it while other workers
	// read the fields above.
	active atomic.Int64
	_      [cacheLine]byte
}

const callerSleeps = 1 << 32

var jobs = sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }}

// share holds the parts [from, to) that have not been taken from a goroutine's share, as from<<32 |
// to, on a cache line of its own.
type share struct {
	parts uint64
	_     [56]byte
}

// left returns the number of parts that no goroutine has taken.
func (s *share) left() int {
	v := atomic.LoadUint64(&s.parts)
	return int(uint32(v)) - int(v>>32)
}

// take takes half of the parts, at least one, from the front or from the back.
func (s *share) take(back bool) (from, to int) {
	for {
		v := atomic.LoadUint64(&s.parts)
		from, to = int(v>>32), int(uint32(v))
		if from >= to {
			return 0, 0
		}
		half := max(1, (to-from)/2)
		rest := uint64(from+half)<<32 | uint64(to)
		if back {
			rest = uint64(from)<<32 | uint64(to-half)
		}
		if !atomic.CompareAndSwapUint64(&s.parts, v, rest) {
			continue
		}
		if back {
			return to - half, to
		}
		return from, from + half
	}
}

// divide gives each goroutine its share of n parts. No worker reads the shares before submit.
// Therefore plain stores are enough, which need not wait for each other, unlike atomic stores: the
// lines are in the caches of the threads that had the shares before.
func (j *job) divide(n, goroutines int) {
	if cap(j.shares) < goroutines {
		j.shares = make([]share, goroutines)
	}
	j.shares = j.shares[:goroutines]
	end := func(i int) uint64 { return uint64(n) * uint64(i) / uint64(goroutines) }
	for i := range j.shares {
		j.shares[i].parts = end(i)<<32 | end(i+1)
	}
}

// run does parts until all are taken: first from the goroutine's own share, then from the share
// with the most parts left.
func (j *job) run(own int) {
	victim := &j.shares[own]
	for back := false; ; back = true {
		for from, to := victim.take(back); from < to; from, to = victim.take(back) {
			j.task.Do(from, to)
		}
		most := 0
		for i := range j.shares {
			if left := j.shares[i].left(); left > most {
				victim, most = &j.shares[i], left
			}
		}
		if most == 0 { // shares only shrink, so all are empty by now
			return
		}
	}
}

// empty takes all parts that no goroutine has taken, so that none of them begins if run has not
// returned. After run has returned, there are no such parts.
func (j *job) empty() {
	for i := range j.shares {
		atomic.StoreUint64(&j.shares[i].parts, 0)
	}
}

// leave ends a worker's part in the job. Right after it j may belong to another call.
func (j *job) leave() {
	if j.active.Add(-1) == callerSleeps {
		j.active.Store(0)
		j.done <- struct{}{}
	}
}

// wait returns when no worker runs the job. It is called when no worker can join any more.
func (j *job) wait() {
	if spin(func() bool { return j.active.Load() == 0 }) {
		return
	}
	if j.active.Add(callerSleeps) == callerSleeps {
		j.active.Store(0) // the last worker left in between
		return
	}
	<-j.done
}
