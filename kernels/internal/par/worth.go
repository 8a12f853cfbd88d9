package par

import "math"

// These are costs of handing work to further threads, in nanoseconds. doc/measurements/threads.md
// has the model.
const (
	// A sleeping worker takes about 10 µs to begin. Waking it is worth it if each thread has that
	// much work.
	wakeWork = 20_000
	// A worker that is awake takes a microsecond or two.
	readyWork = 5_000
	// Every worker adds to the time of the call: its lines of memory move to it and back, and with
	// more threads the slowest one takes longer. Estimates of work are for a slow processor. On a
	// processor that needs half the time for the work, this cost is half, too.
	threadCost = 500
)

// Worth returns the number of threads, at most t, with which the work ends soonest. One thread
// needs the given number of nanoseconds for it.
func Worth(t, nanoseconds int) int {
	if t <= 1 || nanoseconds < readyWork || nanoseconds < wakeWork && !Ready() {
		return min(t, 1)
	}
	return Most(t, nanoseconds)
}

// Most is Worth for work that is known to be worth a second thread, if t is more than one.
func Most(t, nanoseconds int) int {
	// nanoseconds/n + threadCost*n is least at n = the square root of their quotient.
	return min(t, max(2, int(math.Sqrt(float64(nanoseconds)/threadCost))))
}
