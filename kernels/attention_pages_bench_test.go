package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkAttentionPages has a sequence whose keys and values are in pages: steps of one query, a
// few queries, and a prompt, with 8 query heads on 8, 4 and 2 heads of keys and values.
func BenchmarkAttentionPages(b *testing.B) {
	const heads, rows = 8, 64
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range []Format{FormatF32, FormatBF16, FormatF16, FormatInt8} {
		for _, dim := range []int{64, 128} {
			for _, c := range []struct{ queries, keys, group int }{{1, 40, 1}, {1, 512, 1}, {1, 8192, 1}, {1, 512, 2}, {1, 512, 4}, {4, 512, 1}, {128, 512, 1}} {
				kv, numbers := heads/c.group, make([]int32, (c.keys+rows-1)/rows)
				for i := range numbers {
					numbers[i] = int32(i)
				}
				p := AttentionParams{Batch: 1, Heads: heads, KVHeads: kv, HeadDim: dim, Mask: []MaskTerm{CausalMask()},
					Q: randomSlice(r, c.queries*heads*dim), Dst: make([]float32, c.queries*heads*dim),
					Sequences: []AttentionSequence{{LenQ: c.queries, LenK: c.keys, Past: c.keys - c.queries, Pages: numbers}},
					KPages:    NewKeyPages(f, kv, rows, dim), VPages: NewPages(f, kv, rows, dim)}
				for _, pages := range []*Pages{p.KPages, p.VPages} {
					pages.Grow(len(numbers))
					for i := range c.keys {
						pages.Set(i/rows, i%rows, randomSlice(r, kv*dim))
					}
				}
				b.Run(fmt.Sprintf("%s/dim=%d/queries=%d/keys=%d/group=%d", f, dim, c.queries, c.keys, c.group), func(b *testing.B) {
					for b.Loop() {
						Threads(1).Attention(p)
					}
				})
			}
		}
	}
}
