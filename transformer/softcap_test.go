package transformer_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/avoformer/avoformer/fault"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestSoftCap compares capped attention with its formula in float64: at once, in pieces (where
// there are many scores), with masks of both kinds and padding of ragged batches.
func TestSoftCap(t *testing.T) {
	const heads, kvHeads, dim = 4, 2, 6
	a := tf.Attention{Heads: heads, KVHeads: kvHeads, HeadDim: dim, Scale: 0.5, SoftCap: 1.5}
	for _, c := range []struct {
		batch  tf.Batch
		mask   *tf.Mask
		window int
	}{
		{tf.Uniform(1, 1), nil, 0},
		{tf.Uniform(2, 9), tf.Causal(), 1 << 20},
		{tf.Ragged(7, 3, 12), tf.SlidingWindow(4), 4},
		{tf.Uniform(1, 600), tf.SlidingWindow(33), 33},
		{tf.Uniform(2, 3), tf.KeepMask([]bool{true, false, false, true, true, false, true, true, true}, 1, 1, 3, 3), 1 << 20},
	} {
		rows := c.batch.Rows()
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			g := rand.New(rand.NewPCG(1, 2))
			draw := func(n int) []float32 {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(g.NormFloat64())
				}
				return x
			}
			q, k, v := draw(rows*heads*dim), draw(rows*kvHeads*dim), draw(rows*kvHeads*dim)
			got := make([]float32, rows*heads*dim)
			ws := &tf.Workspace{Threads: 2}
			if err := a.Forward(ws, got, tf.AttentionInput{Query: q, Batch: c.batch, Key: k, KeyBatch: c.batch, Value: v, Mask: c.mask}); err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for s := range c.batch.Len() {
				first := c.batch.Start(s)
				for i := range c.batch.Length(s) {
					for h := range heads {
						want := make([]float64, dim)
						sum := 0.0
						for j := range c.batch.Length(s) {
							if c.window > 0 && (j > i || i-j >= c.window) {
								continue
							}
							score := 0.0
							for d := range dim {
								score += float64(q[((first+i)*heads+h)*dim+d]) * float64(k[((first+j)*kvHeads+h/2)*dim+d])
							}
							w := math.Exp(1.5 * math.Tanh(score*0.5/1.5))
							sum += w
							for d := range dim {
								want[d] += w * float64(v[((first+j)*kvHeads+h/2)*dim+d])
							}
						}
						for d := range dim {
							worst = max(worst, math.Abs(float64(got[((first+i)*heads+h)*dim+d])-want[d]/sum))
						}
					}
				}
			}
			if !(worst < 2e-6) {
				t.Errorf("largest difference %g", worst)
			}
		})
	}
	a.SoftCap = -1
	if err := a.Forward(new(tf.Workspace), nil, tf.AttentionInput{}); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("negative cap: %v", err)
	}
}
