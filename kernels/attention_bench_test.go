package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkAttention has the shapes batch x heads x queries x keys x dim of
// doc/measurements/attention.md, contiguous, on the active tier, and one query on pages of 64 rows
// in every format.
func BenchmarkAttention(b *testing.B) {
	bench := func(name string, s [5]int, paged bool, f Format, threads Threads, mask ...MaskTerm) {
		b.Run(fmt.Sprintf("%s=%dx%dx%dx%dx%d/threads=%d", name, s[0], s[1], s[2], s[3], s[4], threads), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			p := AttentionParams{Batch: s[0], Heads: s[1], LenQ: s[2], LenK: s[3], HeadDim: s[4], Past: s[3] - s[2], Mask: mask}
			q, kv := s[0]*s[1]*s[2]*s[4], s[0]*s[1]*s[3]*s[4]
			p.Q, p.K, p.V, p.Dst = randomSlice(r, q), randomSlice(r, kv), randomSlice(r, kv), make([]float32, q)
			if paged {
				one := Strides{Batch: s[1] * s[3] * s[4], Head: s[3] * s[4], Row: s[4]}
				keys := inPagesOf(r, f, 64, s[0], s[1], s[3], s[4], p.K, &one)
				p.KPages, p.VPages = keys.pages, keys.alike(s[4], p.V, &one).pages
				for i, table := range keys.tables {
					p.Sequences = append(p.Sequences, AttentionSequence{LenQ: s[2], LenK: s[3], Past: p.Past, Query: i * s[2], Pages: table})
				}
				p.K, p.V, p.LenQ, p.LenK, p.Past = nil, nil, 0, 0, 0
			}
			b.ReportAllocs()
			for b.Loop() {
				threads.Attention(p)
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			if s[2] == 1 {
				b.ReportMetric(8*float64(kv)/seconds/1e9, "GB/s")
			} else {
				b.ReportMetric(4*float64(q)*float64(s[3])/seconds/1e9, "GFLOP/s")
			}
		})
	}
	for _, threads := range []Threads{1, 2} {
		for _, s := range [][5]int{{1, 12, 128, 128, 64}, {1, 12, 512, 512, 64}, {1, 8, 2048, 2048, 64}, {64, 8, 10, 10, 64}, {1, 12, 1, 1024, 64}, {1, 12, 1, 4096, 64}} {
			bench("full", s, false, FormatF32, threads)
		}
		bench("causal", [5]int{1, 8, 2048, 2048, 64}, false, FormatF32, threads, CausalMask())
		for _, f := range []Format{FormatF32, FormatBF16, FormatF16, FormatInt8} {
			for _, s := range [][5]int{{1, 12, 1, 1024, 64}, {8, 12, 1, 512, 64}, {1, 12, 128, 1024, 64}} {
				bench("pages/"+f.String(), s, true, f, threads)
			}
		}
	}
}
