package transformer_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/naive"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/ref"
	tf "github.com/avoformer/avoformer/transformer"
)

// counted is a feed-forward network that counts how often it is computed.
type counted struct {
	*tf.FeedForward
	calls *int
}

func (c counted) Forward(ws *tf.Workspace, dst, x, residual []float32) error {
	*c.calls++
	return c.FeedForward.Forward(ws, dst, x, residual)
}

// TestFeedOfALayer replaces what a layer has as its feed-forward network.
func TestFeedOfALayer(t *testing.T) {
	for _, first := range []bool{false, true} {
		feed := tf.FeedForwardConfig{Dim: 20, Hidden: 28, Activation: kernels.ActSiLU, Gated: true}
		c := tf.LayerConfig{Self: tf.AttentionConfig{Dim: 20, Heads: 2}, Norm: tf.NormConfig{Eps: 1e-6}, NormFirst: first}
		names := tf.FeedForwardNames{Gate: "expert.gate.", Up: "expert.up.", Down: "expert.down."}
		run := func(c tf.LayerConfig, names tf.LayerNames) []float32 {
			l := tftest.Must(tf.NewLayer(c, names, tf.Random(7), ""))(t)
			y := make([]float32, 5*20)
			tftest.NoError(t, l.Forward(new(tf.Workspace), y, tf.LayerInput{X: tftest.Normal(1, len(y)), Batch: tf.Uniform(1, 5)}, nil))
			return y
		}
		usual, other := c, layerNames
		usual.FeedForward, other.Feed = feed, names
		want := run(usual, other)

		calls := 0
		c.Feed = func(l *tf.Loader) tf.Feed { return counted{l.FeedForward(feed, names), &calls} }
		if got := run(c, layerNames); !slices.Equal(got, want) || calls != 1 {
			t.Errorf("norm first %t: %d calls of the layer's own network, want 1, with the result of the usual one", first, calls)
		}
	}
	if err := (&tf.Layer{Dim: 20}).Forward(new(tf.Workspace), nil, tf.LayerInput{}, nil); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("layer without a network: %v", err)
	}
}

// TestSharpness compares QuickGELU with the formula in float64, computed with the weights that are not scaled: with and
// without a gate, which may lie in one matrix with what it is multiplied by.
func TestSharpness(t *testing.T) {
	quick := func(x float64) float64 { return x / (1 + math.Exp(-1.702*x)) }
	for name, c := range map[string]struct {
		gated bool
		names tf.FeedForwardNames
	}{
		"plain":  {false, tf.FeedForwardNames{Up: "up.", Down: "down."}},
		"gated":  {true, tf.FeedForwardNames{Gate: "gate.", Up: "up.", Down: "down."}},
		"packed": {true, tf.FeedForwardNames{Packed: "both.", Down: "down."}},
	} {
		config := tf.FeedForwardConfig{Dim: 20, Hidden: 28, OutDim: 20, Activation: kernels.ActSiLU, Gated: c.gated, Bias: true}
		plain := tftest.Must(tf.NewFeedForward(config, c.names, tf.Random(7), ""))(t)
		config.Sharpness = 1.702
		sharp := tftest.Must(tf.NewFeedForward(config, c.names, tf.Random(7), ""))(t)

		x, got := tftest.Normal(1, 5*20), make([]float32, 5*20)
		for i := range x { // where the sharpness tells
			x[i] *= 4
		}
		tftest.NoError(t, sharp.Forward(new(tf.Workspace), got, x, nil))
		hidden := naive.Linear(plain.Up, ref.Widen(x))
		if c.gated {
			for i, g := range naive.Linear(plain.Gate, ref.Widen(x)) {
				hidden[i] *= quick(g)
			}
		} else {
			for i, h := range hidden {
				hidden[i] = quick(h)
			}
		}
		want := naive.Linear(plain.Down, hidden)
		if text := tftest.Mismatch(got, ref.Narrow(want), func(int, float64) float64 { return 1e-5 }); text != "" {
			t.Errorf("%s: %s", name, text)
		}
	}
}
