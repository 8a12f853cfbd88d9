package kernels

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// BenchmarkOversubscribed computes with 4, 8 and 16 threads on the available processors, in turn
// with as many threads as processors. For each it reports the median over the rounds of its time
// relative to the latter; at most 1.1 is a loss of less than 10%.
func BenchmarkOversubscribed(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	product := func(f Format, m, n, k int) func(Threads) {
		w := randomSlice(r, n*k)
		packed := PackBRows(f, n, k, func(j int, dst []float32) { copy(dst, w[j*k:]) })
		x, c := randomSlice(r, m*k), make([]float32, m*n)
		return func(t Threads) { t.GemmPacked(m, 1, x, k, packed, 0, c, n, Epilogue{}) }
	}
	const rows, dim, hidden = 128, 768, 3072
	query, output := product(FormatF32, rows, 3*dim, dim), product(FormatF32, rows, dim, dim)
	up, down := product(FormatF32, rows, hidden, dim), product(FormatF32, rows, dim, hidden)
	q, x, gain := randomSlice(r, rows*dim), randomSlice(r, rows*dim), randomSlice(r, dim)
	attention := func(t Threads) {
		t.Attention(AttentionParams{Batch: 1, Heads: 12, LenQ: rows, LenK: rows, HeadDim: 64, Q: q, K: q, V: q, Dst: x})
	}
	norm := func(t Threads) { t.LayerNorm(x, q, rows, dim, gain, gain, 1e-5) }
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	for _, c := range []struct {
		name string
		call func(t Threads)
	}{
		{"packed=128x768x768", output},
		{"packed=512x3072x768", product(FormatF32, 512, hidden, dim)},
		{"int8=128x768x768", product(FormatInt8, rows, dim, dim)},
		{"attention=12x128x128x64", attention},
		{"layer=128x768x12x3072", func(t Threads) {
			for _, part := range []func(Threads){query, attention, output, norm, up, down, norm} {
				part(t)
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			counts := []int{procs, 4, 8, 16}
			quotients := make([][]float64, len(counts))
			for b.Loop() {
				alone := 0.0
				for i, n := range counts {
					runtime.GOMAXPROCS(n)
					time.Sleep(12 * time.Millisecond) // until the pool updates the number of processors
					var times []float64
					for start := time.Now(); time.Since(start) < 40*time.Millisecond || len(times) < 3; {
						began := time.Now()
						c.call(Threads(n))
						times = append(times, time.Since(began).Seconds())
					}
					mean := 0.0
					for _, t := range times {
						mean += t / float64(len(times))
					}
					if i == 0 {
						alone = mean
					}
					quotients[i] = append(quotients[i], mean/alone)
				}
			}
			b.ReportMetric(0, "ns/op")
			for i, n := range counts {
				slices.Sort(quotients[i])
				b.ReportMetric(quotients[i][len(quotients[i])/2], fmt.Sprintf("x%d/x%d", n, procs))
			}
		})
	}
}
