package par

import "testing"

// TestWorth: little work stays on its thread, more work uses further threads, and no work uses more
// threads than given.
func TestWorth(t *testing.T) {
	withProcs(t, 2)
	Stop() // no worker is awake
	for _, c := range []struct{ threads, nanoseconds, want int }{
		{0, 1 << 30, 0}, {1, 1 << 30, 1}, {16, 0, 1}, {16, readyWork - 1, 1},
		{2, wakeWork, 2}, {16, wakeWork, 6}, {64, 100_000, 14}, {64, 1_000_000, 44}, {16, 1_000_000, 16},
	} {
		if got := Worth(c.threads, c.nanoseconds); got != c.want {
			t.Errorf("%d ns are worth %d of %d threads, want %d", c.nanoseconds, got, c.threads, c.want)
		}
	}
	last := 1
	for ns := wakeWork; ns < 1<<24; ns += ns / 3 {
		n := Worth(1000, ns)
		if n < last {
			t.Fatalf("%d ns are worth %d threads, fewer than less work is", ns, n)
		}
		// With one thread fewer, or one more, the time is the same or longer.
		cost := func(n int) float64 { return float64(ns)/float64(n) + threadCost*float64(n) }
		if cost(n-1) < cost(n) || n > 2 && cost(n+1)*1.02 < cost(n) {
			t.Errorf("%d ns on %d threads: %.0f, on one fewer %.0f, on one more %.0f", ns, n, cost(n), cost(n-1), cost(n+1))
		}
		last = n
	}
}
