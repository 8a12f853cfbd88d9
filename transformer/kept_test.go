package transformer_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
)

// keptAttention returns an attention with some weights, of which change sets what differs.
func keptAttention(t *testing.T, change func(c *tf.AttentionConfig), tensors tf.TensorMap) *tf.MultiHeadAttention {
	t.Helper()
	c := tf.AttentionConfig{Dim: 24, Heads: 4, KVHeads: 2, HeadDim: 6, Rotary: &tf.RotaryConfig{Theta: 100, Pairing: tf.PairHalves}}
	change(&c)
	return tftest.Must(tf.NewMultiHeadAttention(c, tf.AttentionNames{Query: "q.", Key: "k.", Value: "v.", Out: "o."}, tensors, ""))(t)
}

// keptTensors returns the weights of one with all projections.
func keptTensors(t *testing.T) tf.TensorMap {
	c := tftest.Collected{Tensors: tf.TensorMap{}}
	tftest.Must(tf.NewMultiHeadAttention(tf.AttentionConfig{Dim: 24, Heads: 4, KVHeads: 2, HeadDim: 6}, tf.AttentionNames{Query: "q.", Key: "k.", Value: "v.", Out: "o."}, c, ""))(t)
	return c.Tensors
}

func without(tensors tf.TensorMap, names ...string) tf.TensorMap {
	rest := tf.TensorMap{}
	for name, x := range tensors {
		if !slices.Contains(names, name) {
			rest[name] = x
		}
	}
	return rest
}

// TestKeysAsValues: with the keys' projection as the values' own, both attentions give the same
// bits, with a cache and without.
func TestKeysAsValues(t *testing.T) {
	tensors := keptTensors(t)
	tensors["v.weight"] = tensors["k.weight"]
	shared := keptAttention(t, func(c *tf.AttentionConfig) { c.KeysAsValues = true }, without(tensors, "v.weight"))
	own := keptAttention(t, func(*tf.AttentionConfig) {}, tensors)
	x := tftest.Normal(1, 5*24)
	for _, cached := range []bool{false, true} {
		run := func(a *tf.MultiHeadAttention) []float32 {
			dst := make([]float32, len(x))
			passKept(t, func(cache *tf.Cache) {
				tftest.NoError(t, a.Forward(new(tf.Workspace), dst, tf.AttentionInput{Query: x, Batch: tf.Ragged(2, 3)}, cache.Layer(0)))
			}, cached)
			return dst
		}
		if !slices.Equal(run(shared), run(own)) {
			t.Errorf("cache %v: keys as values give another result", cached)
		}
	}
}

// passKept makes a pass of two sequences, of 2 and 3 rows, through two layers, with a cache or
// none.
func passKept(t *testing.T, pass func(cache *tf.Cache), cached bool) {
	t.Helper()
	if !cached {
		pass(nil)
		return
	}
	cache := tf.NewCache(2)
	tftest.NoError(t, cache.Begin(tf.Ragged(2, 3), 2))
	pass(cache)
	cache.End(tf.Ragged(2, 3))
}

// TestBorrowedKeys: an attention that takes the keys and values of an earlier layer gives the bits
// that it gives with projections of its own that make the same. It keeps no rows, and without an
// earlier layer, or one of other heads, it is an error.
func TestBorrowedKeys(t *testing.T) {
	tensors := keptTensors(t)
	borrows := keptAttention(t, func(c *tf.AttentionConfig) { c.BorrowsKeys = true }, without(tensors, "k.weight", "v.weight"))
	own := keptAttention(t, func(*tf.AttentionConfig) {}, tensors)
	x, batch := tftest.Normal(1, 5*24), tf.Ragged(2, 3)
	for _, cached := range []bool{false, true} {
		want, got := make([]float32, len(x)), make([]float32, len(x))
		passKept(t, func(cache *tf.Cache) {
			var kept tf.Kept
			ws := new(tf.Workspace)
			tftest.NoError(t, own.Forward(ws, want, tf.AttentionInput{Query: x, Batch: batch, Kept: &kept}, cache.Layer(0)))
			tftest.NoError(t, borrows.Forward(ws, got, tf.AttentionInput{Query: x, Batch: batch, Kept: &kept}, cache.Layer(1)))
			for name, in := range map[string]tf.AttentionInput{
				"no earlier layer": {Query: x, Batch: batch}, "one without keys": {Query: x, Batch: batch, Kept: new(tf.Kept)}, "one of other rows": {Query: x[:2*24], Batch: tf.Ragged(1, 1), Kept: &kept},
			} {
				if err := borrows.Forward(ws, make([]float32, len(in.Query)), in, cache.Layer(1)); !errors.Is(err, fault.ErrShape) {
					t.Errorf("cache %v: %s: error %v, want ErrShape", cached, name, err)
				}
			}
		}, cached)
		if !slices.Equal(got, want) {
			t.Errorf("cache %v: borrowed keys give another result", cached)
		}
	}
	if n := borrows.CacheBytes(0); n != 0 {
		t.Errorf("a row takes %d bytes, want 0", n)
	}
	if _, err := tf.NewMultiHeadAttention(tf.AttentionConfig{Dim: 24, Heads: 4, BorrowsKeys: true, KeysAsValues: true}, tf.AttentionNames{}, tf.Random(1), ""); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("keys borrowed and as values: error %v, want ErrConfig", err)
	}
}

// TestSelfOnly: attention with gates or without keys and values of its own attends to no other
// rows, which would lose what sets it apart. Its weights have several formats, so that it has
// queries apart from keys.
func TestSelfOnly(t *testing.T) {
	for name, change := range map[string]func(*tf.AttentionConfig){
		"gates": func(c *tf.AttentionConfig) { c.Gated = true }, "keys as values": func(c *tf.AttentionConfig) { c.KeysAsValues = true }, "borrowed keys": func(c *tf.AttentionConfig) { c.BorrowsKeys = true },
	} {
		c := tf.AttentionConfig{Dim: 24, Heads: 4, KVHeads: 2, HeadDim: 6}
		change(&c)
		l := tf.NewLoader(tf.Random(1))
		l.Pack(func(tensor string, stored kernels.Format, _ bool) kernels.Format {
			if tensor == "q.weight" {
				return kernels.FormatBF16
			}
			return stored
		})
		names := tf.AttentionNames{Query: "q.", Key: "k.", Value: "v.", Out: "o."}
		a := l.Attention(c, names)
		tftest.NoError(t, l.Finish())
		x := tftest.Normal(1, 2*24)
		if err := a.Forward(new(tf.Workspace), make([]float32, 2*24), tf.AttentionInput{Query: x, Batch: tf.Uniform(1, 2), Key: x, KeyBatch: tf.Uniform(1, 2)}, nil); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s, to other rows: error %v, want ErrConfig", name, err)
		}
		c.KeyWidth = 12
		if _, err := tf.NewMultiHeadAttention(c, names, tf.Random(1), ""); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s, with keys of another width: error %v, want ErrConfig", name, err)
		}
	}
}

// TestValueNormClaims: a normalization without a weight has no memory before the values that it
// normalizes are there.
func TestValueNormClaims(t *testing.T) {
	c := tf.AttentionConfig{Dim: 24, Heads: 1, HeadDim: math.MaxInt / 8, ValueNorm: &tf.NormConfig{Eps: 1e-6, RMS: true, NoWeight: true}}
	if _, err := tf.NewMultiHeadAttention(c, tf.AttentionNames{Query: "q.", Key: "k.", Value: "v.", Out: "o."}, tf.TensorMap{}, ""); !errors.Is(err, fault.ErrWeights) {
		t.Errorf("error %v, want ErrWeights", err)
	}
}
