package par

import (
	"sync/atomic"
	"time"
)

// Spinning for longer than a sleeping goroutine takes to wake is never worth it, and most calls are
// followed by the next one within this time.
const (
	spinTime   = 50 * time.Microsecond
	spinRounds = 50 // number of tries between two readings of the clock
)

// patience is spinTime, except in tests of more goroutines than the machine runs at a time.
var patience atomic.Int64

func init() { patience.Store(int64(spinTime)) }

// spin calls ready repeatedly for spinTime, and reports whether it returned true. It keeps its
// processor for that time: runtime.Gosched would wake further threads to run the goroutine that
// yielded, and these would compete with the caller's thread.
func spin(ready func() bool) bool {
	var end int64
	for {
		for range spinRounds {
			if ready() {
				return true
			}
			pause()
		}
		t := now()
		switch {
		case end == 0:
			end = t + patience.Load()
		case t > end:
			return false
		}
	}
}

// epoch is the origin of times, on the monotonic clock.
var epoch = time.Now()

func now() int64 { return int64(time.Since(epoch)) }
