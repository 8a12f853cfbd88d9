package transformer_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/meetings"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
)

// BenchmarkReplay is a text in a layer of all-MiniLM-L6-v2's shape, of which one thread computes
// the shares of 1 to 64 threads one after the other: "us" is the longest share of each meeting and
// what one thread computes between meetings, each the least of many passes. A meeting's own cost
// comes on top. See doc/measurements/threads.md.
func BenchmarkReplay(b *testing.B) {
	for _, format := range []kernels.Format{kernels.FormatInt8, kernels.FormatF32} {
		loader := tf.NewLoader(tf.Random(1))
		loader.Pack(func(string, kernels.Format, bool) kernels.Format { return format })
		l := loader.Layer(tf.LayerConfig{
			Self:        tf.AttentionConfig{Dim: 384, Heads: 12, Bias: true},
			FeedForward: tf.FeedForwardConfig{Hidden: 1536, Activation: kernels.ActGELU, Bias: true},
			Norm:        tf.NormConfig{Eps: 1e-5},
		}, layerNames)
		tftest.NoError(b, loader.Finish())
		for _, length := range []int{8, 16, 32, 64, 128, 256, 512} {
			batch := tf.Uniform(1, length)
			x := tftest.Normal(2, batch.Rows()*l.Dim)
			one := time.Duration(0)
			for _, threads := range []int{1, 2, 4, 8, 16, 32, 64} {
				b.Run(fmt.Sprintf("%v/length=%d/threads=%d", format, length, threads), func(b *testing.B) {
					ws := &tf.Workspace{Threads: kernels.Threads(threads)}
					least, met := leastReplay(b, func() error { return l.Forward(ws, x, tf.LayerInput{X: x, Batch: batch}, nil) })
					if threads == 1 {
						one = least
					}
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(float64(least)/1e3, "us")
					b.ReportMetric(float64(met), "meetings")
					b.ReportMetric(float64(one)/float64(least), "speedup")
				})
			}
		}
	}
}

// leastReplay replays passes, and returns the least time of each meeting and of what lies between
// meetings, added up, and the number of meetings. That number depends on whether calls follow one
// another closely: passes with the number that most of them have count.
func leastReplay(b *testing.B, pass func() error) (least time.Duration, met int) {
	began := time.Now()
	clock := func() time.Duration { return time.Since(began) }
	ended, times := time.Duration(0), []time.Duration(nil) // between meetings, and at each of them
	defer meetings.Replay(&meetings.Replayer{Clock: clock, Report: func(began time.Duration, busy []time.Duration) {
		times = append(times, began-ended, slices.Max(busy))
		ended = clock()
	}})()
	passes := map[int][][]time.Duration{}
	for n := 0; n < 20 || b.Loop(); n++ {
		times, ended = nil, clock()
		tftest.NoError(b, pass())
		times = append(times, clock()-ended)
		passes[len(times)] = append(passes[len(times)], times)
	}
	var most [][]time.Duration
	for _, of := range passes {
		if len(of) > len(most) {
			most = of
		}
	}
	for i := range most[0] {
		least += slices.MinFunc(most, func(a, b []time.Duration) int { return cmp.Compare(a[i], b[i]) })[i]
	}
	return least, len(most[0]) / 2
}
