package main

import (
	"testing"
	"time"
)

// TestTimeLeft: if steps need a second beyond their share, the remaining shares become shorter. If
// that is not enough, the time left is longer than the time that was asked for.
func TestTimeLeft(t *testing.T) {
	for _, c := range []struct{ total, share, left, took time.Duration }{
		{400 * time.Second, 3 * time.Second, 200 * time.Second, 400 * time.Second},
		{100 * time.Second, 200 * time.Millisecond, 60 * time.Second, 120 * time.Second},
	} {
		now := time.Unix(0, 0)
		p := &progress{total: c.total, steps: 100, start: now, now: func() time.Time { return now }}
		for i := range p.steps {
			p.step("step")
			left, share := p.left(), p.share()
			if i == 50 && (!near(share, c.share) || !near(left, c.left)) {
				t.Errorf("%v for 100 steps: at the 51st %v left and a share of %v, want %v and %v", c.total, left, share, c.left, c.share)
			}
			now = now.Add(share + time.Second)
			p.done()
		}
		if took := now.Sub(p.start); !near(took, c.took) {
			t.Errorf("%v for 100 steps took %v, want %v", c.total, took, c.took)
		}
	}
}

func near(a, b time.Duration) bool { return a > b*95/100 && a < b*105/100 }
