package peak

import (
	"runtime"
	"time"

	"github.com/avoformer/avoformer/kernels"
)

// Cores returns how many cores some threads have: by how many times more multiply-adds they make in
// loops that share nothing than one thread makes alone. It is 0 for one thread, and for more
// threads than run at a time.
//
// The host of a virtual machine may run two of its processors on one core at any time, for minutes.
// Each then has half of the speed, whatever it computes.
func Cores(threads int) float64 {
	if threads < 2 || min(runtime.GOMAXPROCS(0), runtime.NumCPU()) < threads {
		return 0
	}
	const each = time.Millisecond
	tiers := kernels.Supported()
	isa := tiers[len(tiers)-1]
	return FMA(isa, threads, each) / FMA(isa, 1, each)
}
