package par

import (
	"slices"
	"sync"
	"sync/atomic"
)

// This file has pools of threads that are bound to CPUs. A goroutine bound by Bind has its own pool
// of workers, which are bound to the same CPUs: the data of its calls stays in the caches, and on
// the NUMA node, of these CPUs.

// bound holds the pools of sets of CPUs, and the threads that are bound to these sets.
var bound struct {
	mu      sync.Mutex
	pools   []*pool
	threads sync.Map     // *pool by the number of a thread
	count   atomic.Int32 // number of threads
}

// Bind binds the calling goroutine to a thread, and the thread to CPUs, until the same goroutine
// calls release. Until then Run shares its parts with workers that are bound to the same CPUs; all
// goroutines bound to them share the workers. If the system has no such binding, or does not permit
// it, ok is false, nothing has changed, and release does nothing.
func Bind(cpus []int) (release func(), ok bool) {
	if len(cpus) == 0 || slices.Min(cpus) < 0 {
		return func() {}, false
	}
	unbind := boundTo(cpus)
	if unbind == nil {
		return func() {}, false
	}
	p := poolOf(cpus)
	thread := threadID()
	before, again := bound.threads.Swap(thread, p)
	bound.count.Add(1)
	return func() {
		if bound.count.Add(-1); again {
			bound.threads.Store(thread, before)
		} else {
			bound.threads.Delete(thread)
		}
		unbind()
	}, true
}

// poolOf returns the pool of a set of CPUs. It is the same pool for the same set.
func poolOf(cpus []int) *pool {
	cpus = slices.Clone(cpus)
	slices.Sort(cpus)
	cpus = slices.Compact(cpus)
	bound.mu.Lock()
	defer bound.mu.Unlock()
	for _, p := range bound.pools {
		if slices.Equal(p.cpus, cpus) {
			return p
		}
	}
	p := newPool()
	p.cpus = cpus
	bound.pools = append(bound.pools, p)
	return p
}

// current returns the pool whose workers help the calling goroutine.
func current() *pool {
	if bound.count.Load() == 0 {
		return workers
	}
	if p, ok := bound.threads.Load(threadID()); ok {
		return p.(*pool)
	}
	return workers
}

// PretendProcessors makes all pools assume a machine of n processors, for any CPUs, until a call
// with 0. It is for tests with more goroutines than can run at the same time.
func PretendProcessors(n int) {
	pretended.Store(int32(n))
	for _, p := range everyPool() {
		p.asked.Store(long)
	}
}

// Bound returns the CPUs to which Bind has bound the calling goroutine, or nil.
func Bound() []int { return slices.Clone(current().cpus) }

// everyPool returns the pool of goroutines that are not bound, and the pools of bound goroutines.
func everyPool() []*pool {
	bound.mu.Lock()
	defer bound.mu.Unlock()
	return append([]*pool{workers}, bound.pools...)
}
