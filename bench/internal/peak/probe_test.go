package peak

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkMachine reports the figures themselves, for comparing the probe with another.
func BenchmarkMachine(b *testing.B) {
	for threads := 1; threads <= runtime.NumCPU(); threads *= 2 {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				b.Log(Measure(threads, 1))
			}
		})
	}
}
