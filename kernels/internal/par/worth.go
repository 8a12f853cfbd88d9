package par

import "math"

// What it costs to hand work to further threads, in nanoseconds. doc/measurements/threads.md has the model.
const (
	// A worker that sleeps takes some 10 µs to begin: as much work on each thread pays for waking it.
	wakeWork = 20_000
	// One that is awake takes a microsecond or two.
	readyWork = 5_000
	// Every worker adds to the time of the call, since its caller hands a cache line to one after the other and waits for
	// the last to give one back.
	threadCost = 150
)

// Worth is on how many of t threads work ends soonest that takes one thread so many nanoseconds.
func Worth(t, nanoseconds int) int {
	if t <= 1 || nanoseconds < readyWork || nanoseconds < wakeWork && !Ready() {
		return min(t, 1)
	}
	// work/n + threadCost*n is least at its root.
	return max(2, min(t, int(math.Sqrt(float64(nanoseconds)/threadCost))))
}
