package hub

import "time"

// SetPause replaces the pause between attempts. The returned function restores it.
func SetPause(f func(n int) time.Duration) (restore func()) {
	before := pause
	pause = f
	return func() { pause = before }
}
