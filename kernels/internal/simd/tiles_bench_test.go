package simd

import (
	"fmt"
	"testing"
)

// BenchmarkInt8Tiles measures products of int8 by tiles, with float32 results, of rows that are
// integers.
func BenchmarkInt8Tiles(b *testing.B) {
	if KernelInt8Tiles.On(active).ISA == Generic || !KernelInt8Tiles.Permitted(active) {
		b.Skip("no tiles")
	}
	_, nr := GemmTile(active)
	for _, s := range [][3]int{{512, 2048, 512}, {128, 768, 768}, {16, 256, 768}, {8, 256, 768}} {
		m, n, k := s[0], s[1], s[2]
		a, w, sums := make([]int8, m*(k+64)), make([]uint8, k*n), make([]int32, TileSums)
		scale, start, weight, c := make([]float32, m), make([]int32, m), make([]float32, n), make([]float32, m*n)
		multiply := func(b *testing.B, lda, ldb int) {
			for b.Loop() {
				Int8Tiles(active, m, k, nr, n/nr, a, lda, scale, start, w, ldb, weight, nil, sums, c, n)
			}
			b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
		}
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) { multiply(b, k+64, k*nr) })
		// All rows of A are the same, and all panels of B. This measures the speed of the unit when
		// it does not wait for memory.
		b.Run(fmt.Sprintf("%dx%dx%d/near", m, n, k), func(b *testing.B) { multiply(b, 0, 0) })
	}
}
