package classic_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/naive"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels/ref"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
)

// separate is names of an attention whose projections are apart.
var separate = tf.AttentionNames{Query: "q.", Key: "k.", Value: "v.", Out: "o.", QueryNorm: "qn.", KeyNorm: "kn."}

// numeric returns the gradient of loss at x by central differences in float64.
func numeric(x []float32, loss func(x []float64) float64) []float32 {
	const h = 1e-5
	wide := ref.Widen(x)
	g := make([]float32, len(x))
	for i, v := range wide {
		wide[i] = v + h
		up := loss(wide)
		wide[i] = v - h
		g[i] = float32((up - loss(wide)) / (2 * h))
		wide[i] = v
	}
	return g
}

func dot(x []float64, y []float32) float64 {
	sum := 0.0
	for i, v := range x {
		sum += v * float64(y[i])
	}
	return sum
}

func compareGradient(t *testing.T, what string, got, want []float32) {
	t.Helper()
	scale := 0.0
	for _, w := range want {
		scale = max(scale, math.Abs(float64(w)))
	}
	if text := tftest.Mismatch(got, want, func(int, float64) float64 { return 2e-5 * scale }); text != "" {
		t.Errorf("%s: %s", what, text)
	}
}

// TestAttentionGradients compares with differences of the float64 twin.
func TestAttentionGradients(t *testing.T) {
	const lenQ, lenK, dim, keyDim = 5, 7, 12, 10
	for name, c := range map[string]tf.AttentionConfig{
		"self":          {Dim: dim, Heads: 3, Bias: true, OutBias: true},
		"grouped":       {Dim: dim, Heads: 4, KVHeads: 2, HeadDim: 5, OutDim: 9},
		"cross":         {Dim: dim, KeyWidth: keyDim, Heads: 2, Bias: true, CrossOnly: true},
		"self in three": {Dim: dim, Heads: 2, Bias: true, CrossOnly: true},
	} {
		a := tftest.Must(tf.NewMultiHeadAttention(c, separate, tf.Random(1), ""))(t)
		x, kv, out := tftest.Normal(1, lenQ*dim), tftest.Normal(2, lenK*keyDim), tftest.Normal(3, lenQ*a.OutDim)
		in := tf.AttentionInput{Query: x, Batch: tf.Uniform(1, lenQ), Mask: tf.Causal()}
		keys := lenQ
		if name == "cross" {
			in.Key, in.KeyBatch, keys = kv, tf.Uniform(1, lenK), lenK
		}
		g := classic.AttentionGradients{Query: make([]float32, len(x)), Weights: make([]float32, a.Heads*lenQ*keys), Scores: make([]float32, a.Heads*lenQ*keys)}
		loss := func(x, kv []float64) float64 {
			y, _ := naive.MultiHeadAttention(a, x, kv, naive.Causal)
			return dot(y, out)
		}
		if name == "cross" {
			g.Key, g.Value = make([]float32, len(kv)), make([]float32, len(kv))
		}
		tftest.NoError(t, classic.AttentionBackward(new(tf.Workspace), a, g, in, out))
		if name == "cross" {
			compareGradient(t, name+", query", g.Query, numeric(x, func(x []float64) float64 { return loss(x, ref.Widen(kv)) }))
			compareGradient(t, name+", keys and values", tftest.AddSlices(g.Key, g.Value), numeric(kv, func(kv []float64) float64 { return loss(ref.Widen(x), kv) }))
		} else {
			compareGradient(t, name+", rows", g.Query, numeric(x, func(x []float64) float64 { return loss(x, x) }))
		}
		// Through softmax, what is added to all scores of a query changes nothing.
		for r := range a.Heads * lenQ {
			sum := float32(0)
			for _, s := range g.Scores[r*keys : (r+1)*keys] {
				sum += s
			}
			if !(math.Abs(float64(sum)) <= 1e-5) {
				t.Errorf("%s: gradients of the scores of row %d add up to %v", name, r, sum)
			}
		}
	}
}

// TestHeadMaskGradients: a masked head's weights change nothing, and a batch is its sequences one
// by one.
func TestHeadMaskGradients(t *testing.T) {
	a := tftest.Must(tf.NewMultiHeadAttention(tf.AttentionConfig{Dim: 8, Heads: 2, Bias: true, OutBias: true}, separate, tf.Random(1), ""))(t)
	batch := tf.Ragged(2, 3)
	x, out := tftest.Normal(1, 5*8), tftest.Normal(2, 5*8)
	in := tf.AttentionInput{Query: x, Batch: batch, HeadMask: []float32{0, 2}}
	g := classic.AttentionGradients{Weights: make([]float32, 2*(4+9)), Query: make([]float32, 40)}
	tftest.NoError(t, classic.AttentionBackward(new(tf.Workspace), a, g, in, out))
	if !slices.Equal(g.Weights[:4], make([]float32, 4)) || slices.Equal(g.Weights[4:8], make([]float32, 4)) {
		t.Errorf("gradients %v, want 0 of head 0 only", g.Weights)
	}
	second := classic.AttentionGradients{Weights: make([]float32, 2*9), Query: make([]float32, 24)}
	in.Query, in.Batch = x[16:], tf.Uniform(1, 3)
	tftest.NoError(t, classic.AttentionBackward(new(tf.Workspace), a, second, in, out[16:]))
	compareGradient(t, "weights of sequence 1", g.Weights[8:], second.Weights)
	compareGradient(t, "rows of sequence 1", g.Query[16:], second.Query)
}

func TestNormGradients(t *testing.T) {
	for _, rms := range []bool{false, true} {
		n := tftest.Must(tf.NewNorm(tf.NormConfig{Shape: []int{7}, Eps: 1e-3, RMS: rms}, tf.Random(1), ""))(t)
		x, dy := tftest.Normal(1, 3*7), tftest.Normal(2, 3*7)
		dx := make([]float32, len(x))
		tftest.NoError(t, classic.NormBackward(n, dx, x, dy))
		compareGradient(t, "norm", dx, numeric(x, func(x []float64) float64 { return dot(naive.Norm(n, x), dy) }))
	}
}

func TestGradientErrors(t *testing.T) {
	a := tftest.Must(tf.NewMultiHeadAttention(tf.AttentionConfig{Dim: 8, Heads: 2, Rotary: &tf.RotaryConfig{Pairing: tf.PairHalves, MaxPositions: 9}}, separate, tf.Random(1), ""))(t)
	normed := tftest.Must(tf.NewMultiHeadAttention(tf.AttentionConfig{Dim: 8, Heads: 2, QKNorm: &tf.NormConfig{Eps: 1e-6}}, separate, tf.Random(1), ""))(t)
	in := tf.AttentionInput{Query: tftest.Normal(1, 16), Batch: tf.Uniform(1, 2)}
	back := func(g classic.AttentionGradients, out []float32) error {
		return classic.AttentionBackward(new(tf.Workspace), a, g, in, out)
	}
	out := make([]float32, 16)
	tftest.NoError(t, back(classic.AttentionGradients{Weights: make([]float32, 8)}, out))
	for name, c := range map[string]struct{ err, want error }{
		"inputs through rotary": {back(classic.AttentionGradients{Query: out}, out), fault.ErrConfig},
		"inputs through norms":  {classic.AttentionBackward(new(tf.Workspace), normed, classic.AttentionGradients{Query: out}, in, out), fault.ErrConfig},
		"weights":               {back(classic.AttentionGradients{Weights: make([]float32, 7)}, out), fault.ErrShape},
		"scores":                {back(classic.AttentionGradients{Scores: make([]float32, 9)}, out), fault.ErrShape},
		"gradient of result":    {back(classic.AttentionGradients{}, out[1:]), fault.ErrShape},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", name, c.err, c.want)
		}
	}
}
