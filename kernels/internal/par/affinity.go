package par

import (
	"runtime"
	"sync/atomic"
)

// Linux may wake a worker on the CPU of the goroutine that needs its help and leave both there for
// about 10 ms while another CPU idles: if all CPUs that share a cache were busy recently, it does
// not search them for an idle one (select_idle_cpu in kernel/sched/fair.c). This happens on a small
// virtual machine that has just computed on all its CPUs. If the program allows it, a worker that
// wakes on its caller's CPU moves to another CPU.

var affinity atomic.Bool

// AllowAffinityChanges sets whether workers may briefly change the affinity of their threads, and
// returns the earlier setting. By default they may not.
func AllowAffinityChanges(allow bool) (before bool) { return affinity.Swap(allow) }

// callerCPU returns the CPU that the caller runs on. It returns -1 if the CPU is not known, or if
// no worker would leave it.
func callerCPU() int {
	if !affinity.Load() {
		return -1
	}
	return currentCPU()
}

// letWorkersMove gives a worker that woke on the caller's CPU time to leave the CPU. It costs a
// fraction of a microsecond if there is no such worker.
func letWorkersMove() {
	if affinity.Load() {
		yieldThread()
	}
}

// boundTo binds the calling goroutine to a thread, and the thread to CPUs, until release is called.
// A thread whose earlier binding cannot be restored ends with its goroutine. If the system does not
// permit binding, release is nil, and nothing has changed.
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

// pretended is the number of processors that tests pretend to have, or 0.
var pretended atomic.Int32

// processors returns the number of goroutines of the pool that can compute at the same time.
// GOMAXPROCS may be higher, but further goroutines would hold parts of a call while they wait for a
// processor. The number may grow while the program runs; runtime.NumCPU is the number at its start.
func (p *pool) processors() int {
	if n := int(pretended.Load()); n > 0 {
		return n
	}
	if p.cpus != nil {
		return len(p.cpus)
	}
	return max(runtime.NumCPU(), allowedCPUs())
}
