package peak

import "testing"

// BenchmarkMachine reports the figures themselves, for comparing the probe with another.
func BenchmarkMachine(b *testing.B) {
	for b.Loop() {
		b.Log(Measure(1, 1))
	}
}
