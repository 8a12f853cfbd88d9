package par

import (
	"runtime"
	"sync/atomic"
)

// Linux may wake a worker on the CPU of the goroutine that wants its help and
// leave the two there for some 10 ms while another CPU idles: where all CPUs
// that share a cache were busy of late, it does not search them for an idle one
// (select_idle_cpu in kernel/sched/fair.c). A small virtual machine that has
// just computed on all its CPUs is such a place. If the program allows it, a worker
// that wakes to find itself on its caller's CPU goes elsewhere.

var affinity atomic.Bool

// AllowAffinityChanges sets whether workers may change the affinity of their threads
// for a moment, and returns the earlier setting. By default they may not.
func AllowAffinityChanges(allow bool) (before bool) { return affinity.Swap(allow) }

// callerCPU returns the CPU that the caller runs on, or -1 if it cannot be told, or if
// no worker would leave it.
func callerCPU() int {
	if !affinity.Load() {
		return -1
	}
	return currentCPU()
}

// letWorkersMove lets a worker that was woken on the caller's CPU run for as long
// as it takes to leave. It costs a fraction of a microsecond if there is no such worker.
func letWorkersMove() {
	if affinity.Load() {
		yieldThread()
	}
}

// boundTo binds the calling goroutine to a thread, and that to CPUs, until release is called. A thread that cannot be bound again
// as it was ends with its goroutine. release is nil, and nothing has changed, where the system does not permit it.
func boundTo(cpus []int) (release func()) {
	runtime.LockOSThread()
	restore, ok := bindThread(cpus)
	if !ok {
		runtime.UnlockOSThread()
		return nil
	}
	return func() {
		if restore() {
			runtime.UnlockOSThread()
		}
	}
}

// pretended is how many processors tests have, or 0.
var pretended atomic.Int32

// processors is how many goroutines can compute at a time with the pool, GOMAXPROCS aside, which may be higher: further
// goroutines would hold parts of a call while they wait for a processor. The number may grow while the
// program runs; runtime.NumCPU is that of its start.
func (p *pool) processors() int {
	if n := int(pretended.Load()); n > 0 {
		return n
	}
	if p.cpus != nil {
		return len(p.cpus)
	}
	return max(runtime.NumCPU(), allowedCPUs())
}
