package kernels

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkGemmFormats multiplies with one matrix in every format, in turn: a round has a call of
// each, and one that reads as much memory as the float32 matrix takes and does nothing else. So
// formats are compared at the same time, and between two uses of a matrix all the others have been
// read: more than four times 32 MiB of a last-level cache for the large shapes, and for 768x3072
// no more than it, but ten times a core's own. For each format it reports the median time, how many
// times float32's speed that is, and for one row the bytes of the matrix by the time, by those read.
func BenchmarkGemmFormats(b *testing.B) {
	for _, s := range []struct{ m, n, k int }{{1, 4096, 4096}, {1, 11008, 4096}, {1, 768, 3072},
		{2, 4096, 4096}, {4, 4096, 4096}, {8, 4096, 4096}, {16, 4096, 4096}, {4, 768, 3072}, {16, 768, 3072},
		{128, 768, 768}, {128, 3072, 768}, {512, 2048, 512}} {
		var all []*PackedB
		for _, t := range []Threads{1, 2} {
			b.Run(fmt.Sprintf("%dx%dx%d/threads=%d", s.m, s.n, s.k, t), func(b *testing.B) {
				if all == nil {
					all = packEveryFormat(s.n, s.k)
				}
				x, c, memory := make([]float32, s.m*s.k), make([]float32, s.m*s.n), make([]byte, all[0].Bytes())
				for i := range x {
					x[i] = float32(i%255) - 127
				}
				for i := range memory {
					memory[i] = 1 // so that there is memory
				}
				times := make([][]float64, len(all)+1)
				for b.Loop() {
					for f, packed := range all {
						start := time.Now()
						t.GemmPacked(s.m, 1, x, s.k, packed, 0, c, s.n, Epilogue{})
						times[f] = append(times[f], time.Since(start).Seconds())
					}
					start := time.Now()
					readAll(int(t), memory)
					times[len(all)] = append(times[len(all)], time.Since(start).Seconds())
				}
				b.ReportMetric(0, "ns/op")
				median := func(f int) float64 { slices.Sort(times[f]); return times[f][len(times[f])/2] }
				read := float64(len(memory)) / median(len(all))
				b.ReportMetric(read/1e9, "read-GB/s")
				for f, packed := range all {
					name := Format(f).String()
					b.ReportMetric(median(f)*1e6, name+"-us")
					b.ReportMetric(median(0)/median(f), name+"/f32")
					if s.m == 1 {
						b.ReportMetric(float64(packed.Bytes())/median(f)/read, name+"/read")
					}
				}
			})
		}
	}
}

func packEveryFormat(n, k int) (all []*PackedB) {
	for f := range Format(len(formatNames)) {
		all = append(all, PackBRows(f, n, k, func(j int, dst []float32) {
			for p := range dst {
				dst[p] = float32((j*31+p*7)%255) - 127
			}
		}))
	}
	return all
}

// readAll reads all of memory, in parts that run at once.
func readAll(parts int, memory []byte) {
	var group sync.WaitGroup
	for i := range parts {
		group.Go(func() {
			if bytes.IndexByte(memory[i*len(memory)/parts:(i+1)*len(memory)/parts], 0) >= 0 {
				panic("a byte is 0")
			}
		})
	}
	group.Wait()
}
