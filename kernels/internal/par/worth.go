package par

import "math"

// The cost of handing work to further threads, in nanoseconds. doc/measurements/threads.md has the model.
const (
	// A worker that sleeps takes some 10 µs to begin: as much work on each thread pays for waking it.
	wakeWork = 20_000
	// One that is awake takes a microsecond or two.
	readyWork = 5_000
	// Every worker adds to the time of the call: its lines of memory move to it and back, and more threads wait longer for
	// the slowest. Estimates of work are those of a slow processor. Where work takes half as long, this cost is half, too.
	threadCost = 500
)

// Worth is on how many of t threads work ends soonest that takes one thread so many nanoseconds.
func Worth(t, nanoseconds int) int {
	if t <= 1 || nanoseconds < readyWork || nanoseconds < wakeWork && !Ready() {
		return min(t, 1)
	}
	return Most(t, nanoseconds)
}

// Most is Worth of work that is known to be worth a second thread, if t is more than one.
func Most(t, nanoseconds int) int {
	// nanoseconds/n + threadCost*n is least at n = the root of their quotient.
	return min(t, max(2, int(math.Sqrt(float64(nanoseconds)/threadCost))))
}
