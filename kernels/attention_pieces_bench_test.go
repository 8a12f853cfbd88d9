package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkAttentionPieces has a piece of a prompt on the keys before it, with heads of 64 in
// groups that share one head of keys and values, in pages of several layers, together larger than
// the caches.
func BenchmarkAttentionPieces(b *testing.B) {
	const dim, rows, layers = 64, 64, 4
	r := rand.New(rand.NewPCG(1, 2))
	for _, heads := range [][2]int{{16, 16}, {16, 8}, {16, 2}, {32, 8}} {
		for _, depth := range []int{512, 2048, 4096} {
			for _, f := range []Format{FormatF16, FormatF32} {
				b.Run(fmt.Sprintf("heads=%dx%d/depth=%d/%s", heads[0], heads[1], depth, f), func(b *testing.B) {
					numbers := make([]int32, (depth+512)/rows)
					for i := range numbers {
						numbers[i] = int32(i)
					}
					r.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
					var pages [][2]*Pages
					row := randomSlice(r, heads[1]*dim)
					for range layers {
						of := [2]*Pages{NewPages(f, heads[1], rows, dim), NewPages(f, heads[1], rows, dim)}
						for _, x := range of {
							x.Grow(len(numbers))
							for i := range len(numbers) * rows {
								x.Set(i/rows, i%rows, row)
							}
						}
						pages = append(pages, of)
					}
					for _, n := range []int{2, 4, 8, 10, 12, 16, 32, 128} {
						p := AttentionParams{Batch: 1, Heads: heads[0], KVHeads: heads[1], HeadDim: dim, Mask: []MaskTerm{CausalMask()}}
						p.Q, p.Dst = randomSlice(r, n*heads[0]*dim), make([]float32, n*heads[0]*dim)
						p.Sequences = []AttentionSequence{{LenQ: n, LenK: depth + n, Past: depth, Pages: numbers}}
						b.Run(fmt.Sprintf("queries=%d", n), func(b *testing.B) {
							for b.Loop() {
								for _, of := range pages {
									p.KPages, p.VPages = of[0], of[1]
									Threads(2).Attention(p)
								}
							}
							b.ReportMetric(b.Elapsed().Seconds()/float64(b.N*layers*n)*1e6, "us/query")
						})
					}
				})
			}
		}
	}
}
