package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkAttentionStreams is a step of many texts at a depth of 512: one query each, with 16
// heads of 64 on 8 heads of keys and values, in pages of several layers, together larger than the
// caches.
func BenchmarkAttentionStreams(b *testing.B) {
	const heads, kv, dim, depth, rows = 16, 8, 64, 512, 64
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range []Format{FormatF16, FormatInt8, FormatBF16, FormatF32} {
		for _, streams := range []int{8, 32} {
			layers := 256 / streams
			p := AttentionParams{Batch: streams, Heads: heads, KVHeads: kv, HeadDim: dim, Mask: []MaskTerm{CausalMask()}}
			p.Q, p.Dst = randomSlice(r, streams*heads*dim), make([]float32, streams*heads*dim)
			numbers := make([]int32, streams*depth/rows)
			for i := range numbers {
				numbers[i] = int32(i)
			}
			r.Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
			for i := range streams {
				p.Sequences = append(p.Sequences, AttentionSequence{LenQ: 1, LenK: depth, Past: depth - 1, Query: i, Pages: numbers[i*depth/rows:][:depth/rows]})
			}
			var pages [][2]*Pages
			row := randomSlice(r, kv*dim)
			for range layers {
				of := [2]*Pages{NewKeyPages(f, kv, rows, dim), NewPages(f, kv, rows, dim)}
				for _, x := range of {
					x.Grow(len(numbers))
					for i := range len(numbers) * rows {
						x.Set(i/rows, i%rows, row)
					}
				}
				pages = append(pages, of)
			}
			bytes := 2 * pages[0][0].Bytes() * len(numbers) * layers
			for _, threads := range []Threads{1, 2} {
				b.Run(fmt.Sprintf("%s/streams=%d/threads=%d", f, streams, threads), func(b *testing.B) {
					for b.Loop() {
						for _, of := range pages {
							p.KPages, p.VPages = of[0], of[1]
							threads.Attention(p)
						}
					}
					b.ReportMetric(float64(bytes)/(b.Elapsed().Seconds()/float64(b.N))/1e9, "GB/s")
				})
			}
		}
	}
}
