package replica

import (
	"sync"
	"time"

	"github.com/avoformer/avoformer/internal/topology"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
)

// Machine returns the machine that the process runs on. If the system says that two CPUs are
// hardware threads of one core, Machine measures once, in some milliseconds, whether that is true.
var Machine = sync.OnceValue(func() topology.Machine {
	m := topology.Here()
	if a, b, ok := m.Siblings(); ok {
		m.Separate = separate(func(cpus ...int) time.Duration { return timed(cpus) }, a, b)
	}
	return m
})

// separate reports whether two CPUs together compute at least one and a half times as much as one
// CPU. Hardware threads of a core share its multipliers, and compute 1.0 to 1.3 times as much;
// cores compute twice as much. The shortest of several times counts, since other processes may use
// the CPUs too.
func separate(timed func(cpus ...int) time.Duration, a, b int) bool {
	one, two := timed(a), timed(a, b)
	for range 4 {
		one, two = min(one, timed(a)), min(two, timed(a, b))
	}
	return 4*one >= 3*two // 2*one/two, the gain, is at least 1.5
}

// timed returns the time in which CPUs compute some products. Each CPU computes all of them.
func timed(cpus []int) time.Duration {
	const n, times = 64, 20 // about 0.2 ms; the matrices stay in the first-level caches
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
