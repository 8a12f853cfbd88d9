package peak

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// ball is a cache line that two threads pass to each other.
type ball struct {
	_     [64]byte
	turns atomic.Int64
	_     [56]byte
}

// Transfer returns the time in nanoseconds in which a cache line gets from a thread that wrote it
// to another thread, as the median of several games. It is 20 to 40 if both threads have the same
// last-level cache, and 100 or more if each has its own. It is 0 if no game could be played, as on
// one processor.
//
// The host of a virtual machine may move the machine's processors between these two states at any
// time. Threads that read data of other threads then take some percent longer, and nothing else in
// the guest shows the reason.
func Transfer() float64 {
	if runtime.GOMAXPROCS(0) < 2 {
		return 0
	}
	var games []float64
	for range samples {
		if t, ok := play(1 << 10); ok {
			games = append(games, t.Seconds()*1e9)
		}
	}
	if len(games) == 0 {
		return 0
	}
	slices.Sort(games)
	return games[len(games)/2]
}

// play passes a line to and fro times/2 times, where times is a multiple of 8. It returns the time
// of one way in the last three quarters. It gives up if the system runs both threads on one
// processor.
func play(times int64) (oneWay time.Duration, ok bool) {
	const patience = 5 * time.Millisecond
	var b ball
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for i := int64(1); i < times; i += 2 {
			for t := b.turns.Load(); t != i; t = b.turns.Load() {
				if t < 0 {
					return
				}
			}
			b.turns.CompareAndSwap(i, i+1)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	for i := int64(0); i < times; i += 2 {
		if i == times/4 {
			start = time.Now()
		}
		b.turns.Store(i + 1)
		for spins := 1; b.turns.Load() != i+2; spins++ {
			if spins%1024 == 0 && time.Since(start) > patience {
				b.turns.Store(-1)
				<-done
				return 0, false
			}
		}
	}
	oneWay = time.Since(start) / time.Duration(times-times/4)
	<-done
	return oneWay, true
}
