package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels"
)

// parts is a task whose parts each take some time.
type parts time.Duration

func (p *parts) Do(from, to int) {
	for ; from < to && *p > 0; from++ {
		for begin := time.Now(); time.Since(begin) < time.Duration(*p); {
		}
	}
}

// BenchmarkMeetings runs as many parts as threads, on 1, 2, 4 and more threads in turn. It reports
// the microseconds of a call without work, of a call whose parts take 10 µs each, and of such a
// call after a pause of 1 ms, in which workers fall asleep.
func BenchmarkMeetings(b *testing.B) {
	samples := testenv.Samples{}
	var none, some parts = 0, parts(10 * time.Microsecond)
	for b.Loop() {
		for _, n := range testenv.ThreadCounts() {
			call := func(p *parts) { kernels.Threads(n).Run(n, 1<<30, p) }
			average := func(p *parts, unit string) {
				const calls = 200
				call(p)
				begin := time.Now()
				for range calls {
					call(p)
				}
				samples.Add(float64(time.Since(begin).Nanoseconds())/calls/1e3, "%02d-"+unit, n)
			}
			average(&none, "empty-us")
			average(&some, "work-us")
			for range 10 {
				time.Sleep(time.Millisecond)
				begin := time.Now()
				call(&some)
				samples.Add(float64(time.Since(begin).Nanoseconds())/1e3, "%02d-wake-us", n)
			}
		}
	}
	samples.Report(b)
}

// BenchmarkProductThreads multiplies on 1, 2, 4 and more threads in turn, and reports microseconds.
func BenchmarkProductThreads(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = random.Float32() - 0.5
		}
		return x
	}
	for _, c := range []struct {
		format  kernels.Format
		m, n, k int
	}{
		{kernels.FormatInt8, 8, 384, 384}, {kernels.FormatInt8, 16, 1536, 384}, {kernels.FormatInt8, 64, 384, 384},
		{kernels.FormatInt8, 256, 384, 384}, {kernels.FormatInt8, 256, 1536, 384}, {kernels.FormatInt8, 256, 384, 1536},
		{kernels.FormatF32, 8, 384, 384}, {kernels.FormatF32, 16, 1536, 384}, {kernels.FormatF32, 64, 384, 384},
		{kernels.FormatF32, 256, 384, 384}, {kernels.FormatF32, 256, 1536, 384}, {kernels.FormatF32, 256, 384, 1536},
		{kernels.FormatQ4_0, 1, 8192, 2048}, {kernels.FormatQ4_0, 16, 8192, 2048}, {kernels.FormatQ4_0, 1, 2048, 8192},
		{kernels.FormatQ4_0, 16, 2048, 8192}, {kernels.FormatQ4_0, 1, 512, 2048}, {kernels.FormatQ4_0, 512, 2048, 2048},
	} {
		b.Run(fmt.Sprintf("%v/%dx%dx%d", c.format, c.m, c.n, c.k), func(b *testing.B) {
			w := numbers(c.n * c.k)
			packed := kernels.PackBRows(c.format, c.n, c.k, func(j int, dst []float32) { copy(dst, w[j*c.k:]) })
			x, y := numbers(c.m*c.k), make([]float32, c.m*c.n)
			samples := testenv.Samples{}
			for b.Loop() {
				for _, t := range testenv.ThreadCounts() {
					calls := 0
					begin := time.Now()
					for ; calls < 3 || time.Since(begin) < 4*time.Millisecond; calls++ {
						kernels.Threads(t).GemmPacked(c.m, 1, x, c.k, packed, 0, y, c.n, kernels.Epilogue{})
					}
					samples.Add(float64(time.Since(begin).Nanoseconds())/float64(calls)/1e3, "%02d-us", t)
				}
			}
			samples.Report(b)
		})
	}
}
