package transformer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/naive"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/ref"
	tf "github.com/avoformer/avoformer/transformer"
)

// twinTolerance is the error allowed against the float64 twin, relative to the largest value: some
// 200 roundings, for layers of two hundred terms a sum.
const twinTolerance = 200 * 0x1p-24

// compareTwin compares with the twin's result.
func compareTwin(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	scale := 0.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	if text := tftest.Mismatch(got, ref.Narrow(want), func(int, float64) float64 { return twinTolerance * scale }); text != "" {
		t.Errorf("%s: %s", what, text)
	}
}

// twinLayers are configurations that differ in all that a layer can have.
func twinLayers() map[string]tf.LayerConfig {
	const dim = 36
	feed := func(a kernels.Activation) tf.FeedForwardConfig {
		return tf.FeedForwardConfig{Hidden: 50, Activation: a, Bias: true}
	}
	norm := tf.NormConfig{Eps: 1e-5}
	cross := &tf.AttentionConfig{Dim: dim, KeyWidth: 20, Heads: 3, Bias: true, OutBias: true}
	gated := feed(kernels.ActSiLU)
	gated.Gated, gated.Bias = true, false
	return map[string]tf.LayerConfig{
		"post-norm":          {Self: tf.AttentionConfig{Dim: dim, Heads: 4, Bias: true, OutBias: true}, FeedForward: feed(kernels.ActReLU), Norm: norm},
		"pre-norm GELU":      {Self: tf.AttentionConfig{Dim: dim, Heads: 2}, FeedForward: feed(kernels.ActGELU), Norm: norm, NormFirst: true},
		"chunked":            {Self: tf.AttentionConfig{Dim: dim, Heads: 1, Scale: 0.3}, FeedForward: tf.FeedForwardConfig{Hidden: 7, Activation: kernels.ActGELUTanh, Chunk: 2}, Norm: norm},
		"decoder":            {Self: tf.AttentionConfig{Dim: dim, Heads: 6, Bias: true}, Cross: cross, FeedForward: feed(kernels.ActReLU), Norm: norm},
		"pre-norm decoder":   {Self: tf.AttentionConfig{Dim: dim, Heads: 6, Bias: true}, Cross: cross, FeedForward: feed(kernels.ActGELU), Norm: norm, NormFirst: true},
		"relative key":       {Self: tf.AttentionConfig{Dim: dim, Heads: 3, Bias: true, Relative: tf.RelativeKey, MaxPositions: 80}, FeedForward: feed(kernels.ActGELU), Norm: norm},
		"relative key query": {Self: tf.AttentionConfig{Dim: dim, Heads: 3, Bias: true, Relative: tf.RelativeKeyQuery, MaxPositions: 80}, FeedForward: feed(kernels.ActGELU), Norm: norm},
		"tanh":               {Self: tf.AttentionConfig{Dim: dim, Heads: 2}, FeedForward: feed(kernels.ActTanh), Norm: norm},
		"squared ReLU":       {Self: tf.AttentionConfig{Dim: dim, Heads: 2}, FeedForward: feed(kernels.ActReLU2), Norm: norm},
		"rotary halves": {
			Self:        tf.AttentionConfig{Dim: dim, Heads: 6, KVHeads: 2, Rotary: &tf.RotaryConfig{Pairing: tf.PairHalves, MaxPositions: 80}},
			FeedForward: gated, Norm: tf.NormConfig{Eps: 1e-6, RMS: true}, NormFirst: true,
		},
		"rotary neighbours": {
			Self:        tf.AttentionConfig{Dim: dim, Heads: 4, KVHeads: 1, HeadDim: 10, Rotary: &tf.RotaryConfig{Pairing: tf.PairNeighbours, Dim: 6, Theta: 500, MaxPositions: 80}},
			FeedForward: gated, Norm: tf.NormConfig{Eps: 1e-6, RMS: true}, NormFirst: true,
		},
	}
}

// twinMasks are masks with the twin's idea of them.
var twinMasks = map[string]struct {
	mask    *tf.Mask
	visible naive.Visible
}{
	"no mask":        {nil, nil},
	"causal":         {tf.Causal(), naive.Causal},
	"sliding window": {tf.SlidingWindow(3), func(i, j int) bool { return j <= i && j > i-3 }},
	"local window":   {tf.LocalWindow(1, 2), func(i, j int) bool { return j >= i-1 && j <= i+2 }},
}

// layerNames has a name for every part.
var layerNames = tf.LayerNames{
	Self: "self.", Attention: tf.AttentionNames{Query: "q.", Key: "k.", Value: "v.", Out: "o.", Distance: "e."}, SelfNorm: "n1.",
	Cross: "cross.", CrossNorm: "n2.", Feed: tf.FeedForwardNames{Up: "up.", Gate: "gate.", Down: "down."}, FeedNorm: "n3.",
}

// TestLayersAgainstTwin compares layers of all kinds with the float64 twin, for batches of equal
// and of different lengths.
func TestLayersAgainstTwin(t *testing.T) {
	batches := map[string]tf.Batch{"uniform": tf.Uniform(2, 7), "ragged": tf.Ragged(5, 0, 70, 1, 1), "one row": tf.Uniform(1, 1)}
	if testenv.Emulated() {
		batches = map[string]tf.Batch{"ragged": tf.Ragged(5, 0, 9, 1)}
	}
	const lenMemory, memoryDim = 11, 20
	memory := tftest.Normal(3, lenMemory*memoryDim)
	want := map[string][]float64{} // by case and sequence; the same for all tiers
	tftest.EachTier(t, func(t *testing.T) {
		for name, c := range twinLayers() {
			l := tftest.Must(tf.NewLayer(c, layerNames, tf.Random(1), ""))(t)
			for maskName, m := range twinMasks {
				for batchName, batch := range batches {
					x := tftest.Normal(2, batch.Rows()*l.Dim)
					y := make([]float32, len(x))
					in := tf.LayerInput{X: x, Batch: batch, Mask: m.mask}
					if l.Cross != nil {
						in.Memory, in.MemoryBatch = memory, tf.Uniform(1, lenMemory)
					}
					tftest.NoError(t, l.Forward(new(tf.Workspace), y, in, nil))
					for i := range batch.Len() {
						from, to := batch.Start(i)*l.Dim, batch.Start(i+1)*l.Dim
						if from == to {
							continue
						}
						what := fmt.Sprintf("%s, %s, %s, sequence %d", name, maskName, batchName, i)
						if want[what] == nil {
							want[what] = naive.Layer(l, ref.Widen(x[from:to]), m.visible, ref.Widen(memory), nil)
						}
						compareTwin(t, what, y[from:to], want[what])
					}
				}
			}
		}
	})
}

// TestAttentionWeightsAgainstTwin compares the weights too.
func TestAttentionWeightsAgainstTwin(t *testing.T) {
	tftest.EachTier(t, func(t *testing.T) {
		c := tf.AttentionConfig{Dim: 24, KeyWidth: 10, Heads: 4, KVHeads: 2, Bias: true, OutBias: true}
		a := tftest.Must(tf.NewMultiHeadAttention(c, layerNames.Attention, tf.Random(5), ""))(t)
		q, k := tf.Ragged(3, 8), tf.Ragged(9, 4)
		x, kv := tftest.Normal(1, q.Rows()*24), tftest.Normal(2, k.Rows()*10)
		y, weights := make([]float32, len(x)), make([]float32, 4*(3*9+8*4))
		tftest.NoError(t, a.Forward(new(tf.Workspace), y, tf.AttentionInput{Query: x, Batch: q, Key: kv, KeyBatch: k, Weights: weights}, nil))
		at := 0
		for i := range q.Len() {
			wantY, want := naive.MultiHeadAttention(a, ref.Widen(x[q.Start(i)*24:q.Start(i+1)*24]), ref.Widen(kv[k.Start(i)*10:k.Start(i+1)*10]), nil)
			compareTwin(t, "output", y[q.Start(i)*24:q.Start(i+1)*24], wantY)
			compareTwin(t, "weights", weights[at:at+len(want)], want)
			at += len(want)
		}
	})
}

// TestTwinNotices changes what layers compute, by a little, and expects the comparison to notice.
func TestTwinNotices(t *testing.T) {
	c := twinLayers()["pre-norm decoder"]
	l := tftest.Must(tf.NewLayer(c, layerNames, tf.Random(1), ""))(t)
	x, memory := tftest.Normal(2, 7*l.Dim), tftest.Normal(3, 11*20)
	want := ref.Narrow(naive.Layer(l, ref.Widen(x), naive.Causal, ref.Widen(memory), nil))
	run := func(change func(l *tf.Layer, in *tf.LayerInput)) []float32 {
		l := tftest.Must(tf.NewLayer(c, layerNames, tf.Random(1), ""))(t)
		in := tf.LayerInput{X: x, Batch: tf.Uniform(1, 7), Mask: tf.Causal(), Memory: memory, MemoryBatch: tf.Uniform(1, 11)}
		change(l, &in)
		y := make([]float32, len(x))
		tftest.NoError(t, l.Forward(new(tf.Workspace), y, in, nil))
		return y
	}
	allowed := func(int, float64) float64 { return twinTolerance * 5 }
	for name, change := range map[string]func(l *tf.Layer, in *tf.LayerInput){
		"mask":         func(l *tf.Layer, in *tf.LayerInput) { in.Mask = nil },
		"memory mask":  func(l *tf.Layer, in *tf.LayerInput) { in.MemoryMask = tf.ValidLengths(10) },
		"scale":        func(l *tf.Layer, in *tf.LayerInput) { l.Self.Scale *= 1.01 },
		"norm order":   func(l *tf.Layer, in *tf.LayerInput) { l.NormFirst = false },
		"norm weights": func(l *tf.Layer, in *tf.LayerInput) { l.FeedNorm.Bias[0] += 0.01 },
		"a bias":       func(l *tf.Layer, in *tf.LayerInput) { l.Feed.(*tf.FeedForward).Down.Bias[3] += 0.01 },
		"eps":          func(l *tf.Layer, in *tf.LayerInput) { l.SelfNorm.Eps = 1e-2 },
		"no cross":     func(l *tf.Layer, in *tf.LayerInput) { l.Cross = nil },
	} {
		if tftest.Mismatch(run(change), want, allowed) == "" {
			t.Errorf("a change of the %s is not noticed", name)
		}
	}
	if text := tftest.Mismatch(run(func(*tf.Layer, *tf.LayerInput) {}), want, allowed); text != "" {
		t.Error(text)
	}
}

// TestStackCachedEqualsFull feeds a stack in pieces of every size, with caches that grow, for
// sequences at different places.
func TestStackCachedEqualsFull(t *testing.T) {
	tftest.EachTier(t, func(t *testing.T) {
		for name, c := range twinLayers() {
			s := tftest.Must(tf.NewStack(tf.StackConfig{Layers: 2, Layer: c, FinalNorm: true}, tf.StackNames{Layers: "%d.", Layer: layerNames, Norm: "n."}, tf.Random(4), ""))(t)
			lengths := []int{19, 33}
			full := tf.Ragged(lengths...)
			x := tftest.Normal(5, full.Rows()*s.Dim)
			in := tf.LayerInput{X: x, Batch: full, Mask: tf.Causal()}
			if s.Layers[0].Cross != nil {
				in.Memory, in.MemoryBatch = tftest.Normal(3, 2*6*20), tf.Uniform(2, 6)
			}
			want := make([]float32, len(x))
			ws := new(tf.Workspace)
			tftest.NoError(t, s.Forward(ws, want, in, nil))

			r := rand.New(rand.NewPCG(7, 7))
			cache := tf.NewCache(2)
			for cache.Len(0) < lengths[0] || cache.Len(1) < lengths[1] {
				var piece []float32
				var from, n [2]int
				for i := range n {
					from[i] = cache.Len(i)
					n[i] = min(r.IntN(5), lengths[i]-from[i])
					at := (full.Start(i) + from[i]) * s.Dim
					piece = append(piece, x[at:at+n[i]*s.Dim]...)
				}
				in.X, in.Batch = piece, tf.Ragged(n[0], n[1])
				got := make([]float32, len(piece))
				tftest.NoError(t, s.Forward(ws, got, in, cache))
				in.Memory = nil // the cache has it now
				at := 0
				for i := range n {
					start := (full.Start(i) + from[i]) * s.Dim
					rows := got[at : at+n[i]*s.Dim]
					at += len(rows)
					if text := tftest.Mismatch(rows, want[start:start+len(rows)], func(int, float64) float64 { return 1e-4 }); text != "" {
						t.Fatalf("%s: sequence %d, rows from %d: %s", name, i, from[i], text)
					}
				}
			}
		}
	})
}

// TestThreadsChangeNothing compares results bit for bit.
func TestThreadsChangeNothing(t *testing.T) {
	for name, c := range twinLayers() {
		l := tftest.Must(tf.NewLayer(c, layerNames, tf.Random(1), ""))(t)
		in := tf.LayerInput{X: tftest.Normal(2, 90*l.Dim), Batch: tf.Ragged(70, 20), Mask: tf.Causal()}
		if l.Cross != nil {
			in.Memory, in.MemoryBatch = tftest.Normal(3, 11*20), tf.Uniform(1, 11)
		}
		var results [3][]float32
		for i := range results {
			results[i] = make([]float32, len(in.X))
			tftest.NoError(t, l.Forward(&tf.Workspace{Threads: kernels.Threads(i + 1)}, results[i], in, nil))
		}
		if !slices.Equal(results[0], results[1]) || !slices.Equal(results[0], results[2]) {
			t.Errorf("%s: results depend on the number of threads", name)
		}
	}
}

// TestSteadyStateAllocatesLittle passes twice over the same sizes.
func TestSteadyStateAllocatesLittle(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for name, c := range twinLayers() {
		l := tftest.Must(tf.NewLayer(c, layerNames, tf.Random(1), ""))(t)
		in := tf.LayerInput{X: tftest.Normal(2, 20*l.Dim), Batch: tf.Uniform(2, 10)}
		if l.Cross != nil {
			in.Memory, in.MemoryBatch = tftest.Normal(3, 11*20), tf.Uniform(1, 11)
		}
		ws, y := new(tf.Workspace), make([]float32, len(in.X))
		if got := testing.AllocsPerRun(5, func() { tftest.NoError(t, l.Forward(ws, y, in, nil)) }); got > 6 {
			t.Errorf("%s: %v allocations a pass", name, got)
		}
	}
}
