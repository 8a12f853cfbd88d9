package kernels

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// rotated is how much memory is read between two uses of a matrix that must come from memory: four
// times a last-level cache of 260 MiB.
const rotated = 1040 << 20

// BenchmarkGemmFormats multiplies by one matrix in every format, in turn: a round has a call for
// each format, and a reader that only reads as much memory as the float32 matrix takes. Formats are
// therefore compared under the same conditions. Up to 16 rows, matrices of at least 64 MiB in
// float32 come from memory: each has enough copies that over a gigabyte is read between two uses of
// one. Smaller matrices come from a shared cache: those of 768x3072 take 28 MiB in total. For each
// format it reports the median time and the speed relative to float32. For one row it also reports
// the bytes per time of the matrix relative to the reader, or to float32 if that is faster because
// it fetches ahead.
func BenchmarkGemmFormats(b *testing.B) {
	for _, s := range []struct{ m, n, k int }{{1, 4096, 4096}, {1, 11008, 4096}, {1, 768, 3072},
		{2, 4096, 4096}, {4, 4096, 4096}, {8, 4096, 4096}, {16, 4096, 4096}, {4, 768, 3072}, {16, 768, 3072},
		{128, 768, 768}, {128, 3072, 768}, {512, 2048, 512}} {
		var sets []formatSet
		for _, t := range []Threads{1, 2} {
			b.Run(fmt.Sprintf("%dx%dx%d/threads=%d", s.m, s.n, s.k, t), func(b *testing.B) {
				if sets == nil {
					sets = append(sets, packEveryFormat(s.n, s.k))
					for all := sets[0]; s.m <= 16 && len(all.memory) >= 64<<20 && len(sets)*all.bytes() < rotated; {
						sets = append(sets, all.clone())
					}
				}
				x, c := make([]float32, s.m*s.k), make([]float32, s.m*s.n)
				for i := range x {
					x[i] = float32(i%255) - 127
				}
				times := make([][]float64, len(weights.Names)+1)
				for i := 0; b.Loop(); i++ {
					set := sets[i%len(sets)]
					for f, packed := range set.packed {
						start := time.Now()
						t.GemmPacked(s.m, 1, x, s.k, packed, 0, c, s.n, Epilogue{})
						times[f] = append(times[f], time.Since(start).Seconds())
					}
					start := time.Now()
					readAll(int(t), set.memory)
					times[len(set.packed)] = append(times[len(set.packed)], time.Since(start).Seconds())
				}
				b.ReportMetric(0, "ns/op")
				median := func(f int) float64 { slices.Sort(times[f]); return times[f][len(times[f])/2] }
				read := float64(len(sets[0].memory)) / median(len(weights.Names))
				if s.m == 1 {
					read = max(read, float64(sets[0].packed[FormatF32].Bytes())/median(int(FormatF32)))
				}
				b.ReportMetric(read/1e9, "read-GB/s")
				for f, packed := range sets[0].packed {
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

// formatSet is a matrix in every format, and as much memory as it takes in float32.
type formatSet struct {
	packed []*PackedB
	memory []byte
}

func packEveryFormat(n, k int) (s formatSet) {
	for f := range Format(len(weights.Names)) {
		s.packed = append(s.packed, PackBRows(f, n, k, func(j int, dst []float32) {
			for p := range dst {
				dst[p] = float32((j*31+p*7)%255) - 127
			}
		}))
	}
	s.memory = bytes.Repeat([]byte{1}, s.packed[0].Bytes()) // written, so that the memory is mapped
	return s
}

func (s formatSet) bytes() int {
	n := len(s.memory)
	for _, p := range s.packed {
		n += p.Bytes()
	}
	return n
}

// clone returns a copy at another place in memory.
func (s formatSet) clone() (c formatSet) {
	for _, p := range s.packed {
		q := *p
		q.matrix.Data = bytes.Clone(p.matrix.Data)
		c.packed = append(c.packed, &q)
	}
	c.memory = bytes.Clone(s.memory)
	return c
}

// readAll reads all of memory, in parts that run concurrently.
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
