package transformer_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestReorderOfWindowCache moves sequences of different lengths, of which the cache has forgotten
// different numbers of rows.
func TestReorderOfWindowCache(t *testing.T) {
	s := newStack(t, twinLayers()["rotary halves"])
	ws, in := new(tf.Workspace), tf.LayerInput{Mask: tf.SlidingWindow(6)}
	feed := func(cache *tf.Cache, lengths ...int) []float32 {
		in.Batch = tf.Ragged(lengths...)
		in.X = nil
		for _, n := range lengths {
			in.X = append(in.X, tftest.Normal(uint64(n), n*s.Dim)...)
		}
		y := make([]float32, len(in.X))
		tftest.NoError(t, s.Forward(ws, y, in, cache))
		return y
	}
	cache, moved := tf.NewCache(2, 6), tf.NewCache(2, 6)
	for _, n := range [][2]int{{15, 3}, {15, 2}, {7, 2}} {
		feed(cache, n[0], n[1])
		feed(moved, n[0], n[1])
	}
	tftest.NoError(t, moved.Reorder([]int{1, 0}))
	if moved.Len(0) != 7 || moved.Len(1) != 37 {
		t.Errorf("lengths %d and %d after reordering", moved.Len(0), moved.Len(1))
	}
	want, got := feed(cache, 1, 1), feed(moved, 1, 1)
	if !slices.Equal(got[:s.Dim], want[s.Dim:]) || !slices.Equal(got[s.Dim:], want[:s.Dim]) {
		t.Error("sequences that changed places go on differently")
	}
}

// TestWindowCacheGrows fills caches of windows between the powers of two, with pieces of sizes
// around them, and compares their memory with what is promised.
func TestWindowCacheGrows(t *testing.T) {
	s := newStack(t, twinLayers()["pre-norm GELU"])
	ws := new(tf.Workspace)
	for _, window := range []int{1, 7, 16, 20, 33} {
		for _, piece := range []int{1, 5, 16, 50} {
			const rounds = 12
			length := piece * rounds
			in := tf.LayerInput{X: tftest.Normal(1, length*s.Dim), Batch: tf.Uniform(1, length), Mask: tf.SlidingWindow(window)}
			want := stackForward(t, s, in)
			cache := tf.NewCache(1, window)
			for i := range rounds {
				rows := in.X[i*piece*s.Dim : (i+1)*piece*s.Dim]
				got := make([]float32, len(rows))
				tftest.NoError(t, s.Forward(ws, got, tf.LayerInput{X: rows, Batch: tf.Uniform(1, piece), Mask: in.Mask}, cache))
				if text := tftest.Mismatch(got, want[i*piece*s.Dim:][:len(got)], func(int, float64) float64 { return 1e-4 }); text != "" {
					t.Fatalf("window %d, piece %d of %d rows: %s", window, i, piece, text)
				}
				if held := len(cache.Keys(0, 0)) / s.Dim; held > window-1+piece+2*64 {
					t.Fatalf("window %d, pieces of %d rows: the cache holds %d", window, piece, held)
				}
			}
		}
	}
}

// TestMemoryOfLongSequences: what attention over a long sequence allocates does not depend on its
// length. The scores of the longer one alone would take 64 MB.
func TestMemoryOfLongSequences(t *testing.T) {
	if testenv.Emulated() || race.Enabled {
		t.Skip("too much for an emulator, and the race detector allocates")
	}
	const dim = 8
	a := tf.Attention{Heads: 1, HeadDim: dim}
	for name, mask := range map[string]*tf.Mask{"no mask": nil, "causal": tf.Causal(), "window": tf.SlidingWindow(16)} {
		for _, length := range []int{256, 4096} {
			x := tftest.Normal(1, length*dim)
			y := make([]float32, len(x))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tftest.NoError(t, a.Forward(new(tf.Workspace), y, tf.AttentionInput{Query: x, Batch: tf.Uniform(1, length), Mask: mask}))
			runtime.ReadMemStats(&after)
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1<<20 {
				t.Errorf("%s, length %d: %d bytes allocated", name, length, bytes)
			}
		}
	}
}
