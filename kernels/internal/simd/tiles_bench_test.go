package simd

import (
	"fmt"
	"testing"
)

// BenchmarkInt8Tiles measures products of int8 by tiles, with float32 results, from rows that are integers already.
func BenchmarkInt8Tiles(b *testing.B) {
	if KernelInt8Tiles.On(active).ISA == Generic || !KernelInt8Tiles.Permitted(active) {
		b.Skip("no tiles")
	}
	_, nr := GemmTile(active)
	for _, s := range [][3]int{{128, 256, 512}, {128, 256, 768}, {16, 256, 768}, {8, 256, 768}} {
		m, n, k := s[0], s[1], s[2]
		a, w, sums := make([]int8, m*(k+64)), make([]uint8, k*n), make([]int32, TileSums)
		scale, start, weight, c := make([]float32, m), make([]int32, m), make([]float32, n), make([]float32, m*n)
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			for b.Loop() {
				Int8Tiles(active, m, k, nr, n/nr, a, k+64, scale, start, w, k*nr, weight, nil, sums, c, n)
			}
			b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
		})
	}
}
