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

// BenchmarkBlockTiles measures products with weights in blocks by tiles and by vectors, from rows
// that are integers already.
func BenchmarkBlockTiles(b *testing.B) {
	if KernelBlocks8Tiles.On(active).ISA == Generic || !KernelBlocks8Tiles.Permitted(active) {
		b.Skip("no tiles")
	}
	_, nr := GemmTile(active)
	const k, panels = 1024, 8
	n := panels * nr
	for _, m := range []int{8, 12, 16, 24, 32, 128} {
		a, scale, offset, start, c := make([]int8, m*(k+64)), make([]float32, m*k/WeightBlock), make([]float32, m*k/WeightBlock), make([]int32, m*k/WeightBlock), make([]float32, m*n)
		work := make([]int32, BlockTileWork)
		for _, of := range []struct {
			name   string
			layout *BlockLayout
			tiles  func(w []uint8, ldb int)
			panel  func(w []uint8, c []float32)
		}{
			{"blocks8", &Blocks8Layout, func(w []uint8, ldb int) {
				Blocks8Tiles(active, m, k, nr, panels, a, k+64, scale, m, w, ldb, work, c, n)
			}, func(w []uint8, c []float32) {
				Blocks8(active, m, k, nr, a, k+64, scale, start, m, w, 0, 0, c, n)
			}},
			{"blocks4", &Blocks4Layout, func(w []uint8, ldb int) {
				Blocks4Tiles(active, m, k, nr, panels, a, k+64, scale, m, w, ldb, work, c, n)
			}, func(w []uint8, c []float32) {
				Blocks4(active, m, k, nr, a, k+64, scale, start, m, w, 0, 0, c, n)
			}},
			{"blocks4Min", &Blocks4MinLayout, func(w []uint8, ldb int) {
				Blocks4MinTiles(active, m, k, nr, panels, a, k+64, scale, offset, m, w, ldb, work, c, n)
			}, func(w []uint8, c []float32) {
				Blocks4Min(active, m, k, nr, a, k+64, scale, offset, m, w, 0, 0, c, n)
			}},
			{"blocks4K", &Blocks4KLayout, func(w []uint8, ldb int) {
				Blocks4KTiles(active, m, k, nr, panels, a, k+64, scale, offset, m, w, ldb, work, c, n)
			}, func(w []uint8, c []float32) {
				Blocks4K(active, m, k, nr, a, k+64, scale, offset, m, w, 0, 0, c, n)
			}},
		} {
			bytes := k / of.layout.Elements * of.layout.Bytes * nr
			w := make([]uint8, panels*bytes)
			for _, tiles := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%dx%dx%d/tiles=%v", of.name, m, n, k, tiles), func(b *testing.B) {
					for b.Loop() {
						if tiles {
							of.tiles(w, bytes)
							continue
						}
						for q := range panels {
							of.panel(w[q*bytes:], c[q*nr:])
						}
					}
					b.ReportMetric(2*float64(m)*float64(n)*k*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
				})
			}
		}
	}
}
