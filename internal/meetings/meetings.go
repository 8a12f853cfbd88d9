// Package meetings lets tests count how often threads meet: the calls that hand parts of their work
// to other threads and wait for them. Many threads lose most of their time in a pass at meetings,
// and the number of meetings does not depend on the machine.
package meetings

import (
	"sync/atomic"
	"time"
)

var observer atomic.Pointer[func(threads, parts int)]

// Observe has f called at each meeting until stop is called. Concurrent meetings call it
// concurrently. Meanwhile threads meet wherever they may: short calls meet as if a thread was
// awake, since whether one is depends on the time that passed.
func Observe(f func(threads, parts int)) (stop func()) {
	observer.Store(&f)
	return func() { observer.Store(nil) }
}

// Observed reports whether Observe is in effect.
func Observed() bool { return observer.Load() != nil }

// Begin reports a meeting of threads that share some parts, whether or not the machine has as many
// processors.
func Begin(threads, parts int) {
	if f := observer.Load(); f != nil {
		(*f)(threads, parts)
	}
}

// Replayer replays meetings: the calling goroutine does the shares of all threads one after the
// other.
type Replayer struct {
	// Clock returns a time that goes on while a share is computed.
	Clock func() time.Duration
	// Report gets the time at which a meeting began, and how long each thread is busy with its
	// share.
	Report func(began time.Duration, busy []time.Duration)
}

var replayer atomic.Pointer[Replayer]

// Replay has r replay each meeting until stop is called. Only one goroutine may compute meanwhile.
// The longest share is what a meeting takes on a machine with as many processors, without the time
// to hand out and collect the shares, and with caches and memory as fast as for one thread.
func Replay(r *Replayer) (stop func()) {
	replayer.Store(r)
	return func() { replayer.Store(nil) }
}

// Replaying returns what replays meetings, or nil.
func Replaying() *Replayer { return replayer.Load() }
