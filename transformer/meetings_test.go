package transformer_test

import (
	"sync/atomic"
	"testing"

	"github.com/avoformer/avoformer/internal/meetings"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
)

// meetingsOf is how often threads meet in a pass of some sequences through a layer.
func meetingsOf(t *testing.T, c tf.LayerConfig, format kernels.Format, threads, sequences, length int, cached bool) int {
	loader := tf.NewLoader(tf.Random(1))
	loader.Pack(func(string, kernels.Format, bool) kernels.Format { return format })
	l := loader.Layer(c, layerNames)
	tftest.NoError(t, loader.Finish())
	batch := tf.Uniform(sequences, length)
	x := tftest.Normal(2, batch.Rows()*l.Dim)
	var cache *tf.Cache
	if cached {
		cache = tf.NewCache(sequences)
		tftest.NoError(t, cache.Begin(batch, 1))
	}
	var n atomic.Int32
	defer meetings.Observe(func(int, int) { n.Add(1) })()
	ws := &tf.Workspace{Threads: kernels.Threads(threads)}
	tftest.NoError(t, l.Forward(ws, x, tf.LayerInput{X: x, Batch: batch, Mask: tf.Causal()}, cache.Layer(0)))
	return int(n.Load())
}

// TestMeetings counts the meetings of a layer: one for each product, normalization and activation
// that is worth several threads.
func TestMeetings(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("a count, which is the same everywhere, takes minutes in emulators")
	}
	encoder := tf.LayerConfig{
		Self:        tf.AttentionConfig{Dim: 384, Heads: 12, Bias: true},
		FeedForward: tf.FeedForwardConfig{Hidden: 1536, Activation: kernels.ActGELU, Bias: true},
		Norm:        tf.NormConfig{Eps: 1e-5},
	}
	decoder := tf.LayerConfig{
		Self:        tf.AttentionConfig{Dim: 512, Heads: 8, KVHeads: 2, Rotary: &tf.RotaryConfig{Pairing: tf.PairHalves}},
		FeedForward: tf.FeedForwardConfig{Hidden: 1408, Activation: kernels.ActSiLU, Gated: true},
		Norm:        tf.NormConfig{Eps: 1e-5, RMS: true},
		NormFirst:   true,
	}
	for _, c := range []struct {
		name              string
		layer             tf.LayerConfig
		format            kernels.Format
		threads           int
		sequences, length int
		most              int
	}{
		{"a text on 16 threads", encoder, kernels.FormatF32, 16, 1, 256, 7},
		{"a text on two threads", encoder, kernels.FormatF32, 2, 1, 64, 5},
		{"a short text", encoder, kernels.FormatF32, 16, 1, 64, 5},
		{"a short text of int8", encoder, kernels.FormatInt8, 16, 1, 128, 7},
		{"a prompt", decoder, kernels.FormatF32, 16, 1, 512, 10},
		{"a token of 16 texts", decoder, kernels.FormatF32, 16, 16, 1, 7},
		{"a token", decoder, kernels.FormatF32, 16, 1, 1, 5},
		{"one thread", encoder, kernels.FormatF32, 1, 1, 256, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := meetingsOf(t, c.layer, c.format, c.threads, c.sequences, c.length, c.layer.NormFirst)
			t.Logf("%d meetings", got)
			if got > c.most || got == 0 && c.threads > 1 {
				t.Errorf("%d meetings, want at most %d, and some on several threads", got, c.most)
			}
		})
	}
}
