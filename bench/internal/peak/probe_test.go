package peak

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkMachine reports the measured figures, to compare this package with another program.
func BenchmarkMachine(b *testing.B) {
	for threads := 1; threads <= runtime.NumCPU(); threads *= 2 {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			for b.Loop() {
				b.Log(Measure(threads, 1))
			}
		})
	}
}
