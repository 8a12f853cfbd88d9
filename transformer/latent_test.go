package transformer_test

import (
	"errors"
	"math"
	"testing"

	"github.com/avoformer/avoformer/fault"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestLatentErrors: configurations that make no attention. Products of their sizes may overflow.
func TestLatentErrors(t *testing.T) {
	for name, change := range map[string]func(*tf.LatentConfig){
		"no rank": func(c *tf.LatentConfig) { c.Rank = 0 }, "query rank": func(c *tf.LatentConfig) { c.QueryRank = -1 }, "scale": func(c *tf.LatentConfig) { c.Scale = 0 },
		"no positions": func(c *tf.LatentConfig) { c.Rotary = nil }, "heads": func(c *tf.LatentConfig) { c.Heads = math.MaxInt32 },
		"plain": func(c *tf.LatentConfig) { c.Plain = math.MaxInt / 4 }, "turned": func(c *tf.LatentConfig) { c.Turned = math.MaxInt }, "value dim": func(c *tf.LatentConfig) { c.ValueDim = math.MaxInt / 2 },
		"rank": func(c *tf.LatentConfig) { c.Rank = math.MaxInt },
	} {
		c := tf.LatentConfig{Dim: 8, Heads: 4, Rank: 4, Plain: 4, Turned: 2, ValueDim: 4, Scale: 1, Norm: tf.NormConfig{Eps: 1e-6, RMS: true}, Rotary: &tf.RotaryConfig{Theta: 100, Pairing: tf.PairHalves}}
		change(&c)
		l := tf.NewLoader(tf.TensorMap{})
		if l.Latent(c, tf.LatentNames{Query: "q.", Down: "down.", Norm: "norm.", Up: "up.", Out: "o."}); !errors.Is(l.Finish(), fault.ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, l.Finish())
		}
	}
}
