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
	const k = 1024
	for _, of := range []struct {
		name   string
		layout *BlockLayout
		tiles  func(isa ISA, m, k, nr, panels int, a []int8, lda int, scale []float32, ldscale int, b []uint8, ldb int, work []int32, c []float32, ldc int)
		blocks func(isa ISA, m, k, nr int, a []int8, lda int, scale []float32, start []int32, ldscale int, b []uint8, ahead, add int, c []float32, ldc int)
	}{{"blocks8", &Blocks8Layout, Blocks8Tiles, Blocks8}, {"blocks4", &Blocks4Layout, Blocks4Tiles, Blocks4}} {
		for _, m := range []int{8, 16, 24, 32, 128} {
			n := 8 * nr
			bytes := k / of.layout.Elements * of.layout.Bytes * nr
			a, w, work := make([]int8, m*(k+64)), make([]uint8, n/nr*bytes), make([]int32, BlockTileWork)
			scale, start, c := make([]float32, m*k/32), make([]int32, m*k/32), make([]float32, m*n)
			for _, tiles := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%dx%dx%d/tiles=%v", of.name, m, n, k, tiles), func(b *testing.B) {
					for b.Loop() {
						if tiles {
							of.tiles(active, m, k, nr, n/nr, a, k+64, scale, m, w, bytes, work, c, n)
							continue
						}
						for j := 0; j < n; j += nr {
							of.blocks(active, m, k, nr, a, k+64, scale, start, m, w[j/nr*bytes:], 0, 0, c[j:], n)
						}
					}
					b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gop/s")
				})
			}
		}
	}
}
