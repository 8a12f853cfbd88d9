package replica

import (
	"sync"
	"time"

	"github.com/avoformer/avoformer/internal/topology"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
)

// Machine is the machine that the process runs on. Where it says that two CPUs are hardware threads
// of a core, it is measured once, in some milliseconds, whether they are.
var Machine = sync.OnceValue(func() topology.Machine {
	m := topology.Here()
	if a, b, ok := m.Siblings(); ok {
		m.Separate = separate(func(cpus ...int) time.Duration { return timed(cpus) }, a, b)
	}
	return m
})

// separate reports whether two CPUs together compute at least one and a half times as much as one
// does. Hardware threads of a core, which share its multipliers, compute 1.0 to 1.3 times as much,
// and cores twice as much. The shortest of several times counts, since other processes may use the
// CPUs too.
func separate(timed func(cpus ...int) time.Duration, a, b int) bool {
	one, two := timed(a), timed(a, b)
	for range 4 {
		one, two = min(one, timed(a)), min(two, timed(a, b))
	}
	return 4*one >= 3*two // 2*one/two, the gain, is at least 1.5
}

// timed is how long CPUs take for the same products, each for all of them.
func timed(cpus []int) time.Duration {
	const n, times = 64, 20 // some 0.2 ms, of matrices that stay in the first caches
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for _, cpu := range cpus {
		ready.Add(1)
		done.Go(func() {
			release, _ := machine.Bind([]int{cpu})
			defer release()
			a, c := make([]float32, n*n), make([]float32, n*n)
			ready.Done()
			<-begin
			for range times {
				kernels.Threads(1).Gemm(kernels.NoTrans, kernels.NoTrans, n, n, n, 1, a, n, a, n, 0, c, n)
			}
		})
	}
	ready.Wait()
	began := time.Now()
	close(begin)
	done.Wait()
	return time.Since(began)
}
