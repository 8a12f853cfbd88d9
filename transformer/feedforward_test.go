package transformer_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/naive"
	"github.com/avoformer/avoformer/internal/race"
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

// TestSharpness compares QuickGELU with the formula in float64, computed with the weights that are
// not scaled: with and without a gate, which may lie in one matrix with what it is multiplied by.
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

// TestFeedForwardInOne: with weights of int8, many rows are computed in one call of a kernel. They
// have the bits of rows that are computed product by product, a few at a time.
func TestFeedForwardInOne(t *testing.T) {
	const dim, hidden, rows = 40, 56, 130
	for _, gated := range []bool{false, true} {
		l := tf.NewLoader(tf.Random(9))
		l.Pack(func(string, kernels.Format, bool) kernels.Format { return kernels.FormatInt8 })
		f := l.FeedForward(tf.FeedForwardConfig{Dim: dim, Hidden: hidden, Activation: kernels.ActSiLU, Gated: gated, Bias: true}, tf.FeedForwardNames{Gate: "gate.", Up: "up.", Down: "down."})
		tftest.NoError(t, l.Finish())
		few := *f
		few.Chunk = 13
		x, residual := tftest.Normal(1, rows*dim), tftest.Normal(2, rows*dim)
		for _, residual := range [][]float32{nil, residual} {
			want, got := make([]float32, rows*dim), make([]float32, rows*dim)
			tftest.NoError(t, few.Forward(new(tf.Workspace), want, x, residual))
			for _, threads := range []kernels.Threads{0, 1, 2, 3} {
				clear(got)
				tftest.NoError(t, f.Forward(&tf.Workspace{Threads: threads}, got, x, residual))
				if !slices.Equal(got, want) {
					t.Errorf("gate %t, residual %t, %d threads: not the bits of rows that are computed a few at a time", gated, residual != nil, threads)
				}
			}
		}
		if allocs := testing.AllocsPerRun(5, func() { tftest.NoError(t, f.Forward(new(tf.Workspace), make([]float32, rows*dim), x, nil)) }); allocs > 20 && !race.Enabled {
			t.Errorf("gate %t: %v allocations", gated, allocs)
		}
	}
}

// TestFeedForwardBalance: gate and up are balanced by the rows of both, so that rows become the
// same integers for each of them.
func TestFeedForwardBalance(t *testing.T) {
	const dim, hidden = 40, 56
	load := func(format kernels.Format, names tf.FeedForwardNames) *tf.FeedForward {
		l := tf.NewLoader(tf.Random(9))
		l.Pack(func(string, kernels.Format, bool) kernels.Format { return format })
		f := l.FeedForward(tf.FeedForwardConfig{Dim: dim, Hidden: hidden, Activation: kernels.ActSiLU, Gated: true}, names)
		tftest.NoError(t, l.Finish())
		return f
	}
	for _, names := range []tf.FeedForwardNames{{Gate: "gate.", Up: "up.", Down: "down."}, {Packed: "both.", Down: "down."}} {
		exact, rounded := load(kernels.FormatF32, names), load(kernels.FormatInt8, names)
		both := slices.Concat(exact.Gate.Weight(), exact.Up.Weight())
		for i, got := range [][]float32{rounded.Gate.Weight(), rounded.Up.Weight()} {
			p := kernels.NewPacker(kernels.FormatInt8, hidden, dim)
			p.Balance(both)
			p.Pack(0, both[i*hidden*dim:][:hidden*dim])
			want := make([]float32, dim)
			for j := range hidden {
				p.Packed().Column(want, j)
				if !slices.Equal(got[j*dim:][:dim], want) {
					t.Fatalf("%+v: row %d of matrix %d is not balanced by both", names, j, i)
				}
			}
		}
	}
}
