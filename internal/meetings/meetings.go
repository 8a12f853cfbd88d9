// Package meetings lets tests count how often threads meet: the calls that hand parts of their work to other threads and wait
// for them. Many threads lose most of their time in a pass at meetings, and the number of meetings does not depend on the machine.
package meetings

import "sync/atomic"

var observer atomic.Pointer[func(threads, parts int)]

// Observe has f called at each meeting until stop is called. Concurrent meetings call it concurrently.
func Observe(f func(threads, parts int)) (stop func()) {
	observer.Store(&f)
	return func() { observer.Store(nil) }
}

// Begin reports a meeting of threads that share some parts, whether or not the machine has as many processors.
func Begin(threads, parts int) {
	if f := observer.Load(); f != nil {
		(*f)(threads, parts)
	}
}
