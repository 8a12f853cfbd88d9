package par

import (
	"slices"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/meetings"
)

// TestReplay replays calls with a clock that counts parts: each part is done once, and each
// goroutine has its share.
func TestReplay(t *testing.T) {
	parts, calls := 0, 0
	var got []time.Duration
	defer meetings.Replay(&meetings.Replayer{
		Clock: func() time.Duration { return time.Duration(parts) },
		Report: func(began time.Duration, busy []time.Duration) {
			calls++
			if began != 0 {
				t.Errorf("a call begins at %d, want 0", began)
			}
			got = busy
		},
	})()
	for _, c := range []struct {
		threads, n int
		want       []time.Duration
	}{{3, 10, []time.Duration{3, 3, 4}}, {16, 5, []time.Duration{1, 1, 1, 1, 1}}, {2, 64, []time.Duration{32, 32}}} {
		parts = 0
		var order []int
		Run(c.threads, c.n, each(func(i int) { order = append(order, i); parts++ }))
		if !slices.Equal(got, c.want) {
			t.Errorf("%d parts on %d threads: %d, want %d", c.n, c.threads, got, c.want)
		}
		slices.Sort(order)
		for i, part := range order {
			if i != part || len(order) != c.n {
				t.Fatalf("parts %v, want each of %d once", order, c.n)
			}
		}
	}
	parts = 0
	Run(1, 7, each(func(int) { parts++ }))
	if calls != 3 || parts != 7 {
		t.Errorf("%d calls and %d parts, want 3, since one thread meets nobody, and 7", calls, parts)
	}
}
