package hub

import "time"

// SetPause replaces how long to wait before another attempt, until the function it returns is
// called.
func SetPause(f func(n int) time.Duration) (restore func()) {
	before := pause
	pause = f
	return func() { pause = before }
}
