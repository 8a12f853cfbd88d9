package par

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Pools of threads that are bound to some CPUs. A goroutine that Bind has bound has the workers of a pool
// of its own, which are bound to the same CPUs: so what its calls touch stays in the caches, and on the NUMA node, of these
// CPUs.

// bound are the pools of sets of CPUs, and the threads that are bound to these.
var bound struct {
	mu      sync.Mutex
	pools   []*pool
	threads sync.Map     // of *pool by the number of a thread
	count   atomic.Int32 // of threads
}

// Bind binds the calling goroutine to a thread, and that to CPUs, until release is called by the same goroutine. Until
// then Run shares its parts with workers that are bound to the same CPUs, however many goroutines are bound to them. ok
// is false where the system has no such binding, or does not permit it: then nothing has changed, and release does nothing.
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

// poolOf returns the pool of a set of CPUs, the same one for the same set.
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

// PretendProcessors has all pools take the machine for one of n processors, whatever their CPUs, until it is called with 0.
// It is meant for tests of more goroutines than run at a time.
func PretendProcessors(n int) {
	pretended.Store(int32(n))
	for _, p := range everyPool() {
		p.asked.Store(long)
	}
}

// Bound returns the CPUs that the calling goroutine is bound to, nil if Bind has not bound it.
func Bound() []int { return slices.Clone(current().cpus) }

// everyPool returns the pool of goroutines that are not bound, and the pools of bound goroutines.
func everyPool() []*pool {
	bound.mu.Lock()
	defer bound.mu.Unlock()
	return append([]*pool{workers}, bound.pools...)
}
