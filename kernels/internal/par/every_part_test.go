package par

import (
	"sync/atomic"
	"testing"
)

// TestNoPartIsLeft has many goroutines look for parts while other goroutines take them. If the
// largest share has just been emptied, other shares may still have parts.
func TestNoPartIsLeft(t *testing.T) {
	withProcs(t, 16)
	t.Cleanup(Stop)
	const parts = 24
	var sink atomic.Int64
	for round := range 3000 {
		var ran atomic.Int32
		Run(16, parts, each(func(part int) {
			for i := range 200 * (1 + (part*7+round)%5) {
				sink.Add(int64(i))
			}
			ran.Add(1)
		}))
		if got := ran.Load(); got != parts {
			t.Fatalf("round %d: %d parts ran, want %d", round, got, parts)
		}
	}
}
