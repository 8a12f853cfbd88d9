package peak

import (
	"runtime"
	"time"

	"github.com/avoformer/avoformer/kernels"
)

// Cores returns the number of cores that some threads have: their multiply-adds per second in loops
// without shared data, divided by those of a single thread. It is 0 for one thread, and for more
// threads than can run at a time.
//
// The host of a virtual machine may run two of its processors on one core at any time, for minutes.
// Each processor then has half of its speed for any computation.
func Cores(threads int) float64 {
	if threads < 2 || min(runtime.GOMAXPROCS(0), runtime.NumCPU()) < threads {
		return 0
	}
	const each = time.Millisecond
	tiers := kernels.Supported()
	isa := tiers[len(tiers)-1]
	return FMA(isa, threads, each) / FMA(isa, 1, each)
}
