package transformer_test

import (
	"errors"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestJoined compares masks of spans with masks that list for each query the keys that it sees, in
// whole sequences and with weights.
func TestJoined(t *testing.T) {
	a := tf.Attention{Heads: 2, KVHeads: 1, HeadDim: 4}
	for name, x := range map[string]struct {
		lengths []int
		spans   []tf.Span
		window  int // 0: none
	}{
		"one image":            {[]int{9}, []tf.Span{{2, 6}}, 0},
		"window":               {[]int{12}, []tf.Span{{2, 6}, {7, 10}}, 5},
		"window below a span":  {[]int{12}, []tf.Span{{2, 9}}, 3},
		"neighbours":           {[]int{8}, []tf.Span{{1, 4}, {4, 6}}, 3},
		"ends":                 {[]int{8, 5}, []tf.Span{{0, 3}, {4, 8}, {8, 13}}, 0},
		"sequences without":    {[]int{3, 70, 4, 0, 6}, []tf.Span{{5, 60}, {78, 81}}, 16},
		"of one length":        {[]int{6, 6, 6}, []tf.Span{{7, 10}}, 0},
		"empty":                {[]int{6}, []tf.Span{{3, 3}}, 0},
		"longer than a page":   {[]int{150}, []tf.Span{{10, 100}, {101, 149}}, 0},
		"of a page, by window": {[]int{150}, []tf.Span{{10, 100}, {101, 149}}, 40},
	} {
		batch, longest := tf.Ragged(x.lengths...), 0
		for _, n := range x.lengths {
			longest = max(longest, n)
		}
		keep := make([]bool, len(x.lengths)*longest*longest)
		for i, n := range x.lengths {
			for q := range n {
				for k := range n {
					row, other := batch.Start(i)+q, batch.Start(i)+k
					seen := k <= q
					for _, s := range x.spans {
						seen = seen || s.From <= row && row < s.To && s.From <= other && other < s.To
					}
					keep[(i*longest+q)*longest+k] = seen && (x.window == 0 || q-k < x.window)
				}
			}
		}
		mask := tf.Causal()
		if x.window > 0 {
			mask = tf.SlidingWindow(x.window)
		}
		q, k := tftest.Normal(1, batch.Rows()*8), tftest.Normal(2, batch.Rows()*4)
		tftest.EachTier(t, func(t *testing.T) {
			attend := func(m *tf.Mask, weights []float32) []float32 {
				y := make([]float32, len(q))
				tftest.NoError(t, a.Forward(new(tf.Workspace), y, tf.AttentionInput{Query: q, Batch: batch, Key: k, KeyBatch: batch, Mask: m, Weights: weights}))
				return y
			}
			want, got := attend(tf.KeepMask(keep, len(x.lengths), 1, longest, longest), nil), attend(mask.Joined(x.spans...), nil)
			if text := tftest.Mismatch(got, want, func(int, float64) float64 { return 2e-6 }); text != "" {
				t.Errorf("%s: %s", name, text)
			}
			n := 0
			for _, length := range x.lengths {
				n += 2 * length * length
			}
			if text := tftest.Mismatch(attend(mask.Joined(x.spans...), make([]float32, n)), want, func(int, float64) float64 { return 2e-6 }); text != "" {
				t.Errorf("%s with weights: %s", name, text)
			}
		})
	}
}

// TestJoinedRefused: spans that are not in order or not within a sequence, and spans of other
// masks, are errors.
func TestJoinedRefused(t *testing.T) {
	a, batch, x := tf.Attention{Heads: 1, HeadDim: 4}, tf.Ragged(3, 3), tftest.Normal(1, 24)
	for name, m := range map[string]*tf.Mask{
		"order":         tf.Causal().Joined(tf.Span{From: 1, To: 2}, tf.Span{From: 0, To: 1}),
		"overlap":       tf.Causal().Joined(tf.Span{From: 0, To: 2}, tf.Span{From: 1, To: 3}),
		"two sequences": tf.Causal().Joined(tf.Span{From: 2, To: 4}),
		"beyond":        tf.Causal().Joined(tf.Span{From: 5, To: 7}),
		"behind":        tf.Causal().Joined(tf.Span{From: 6, To: 7}),
		"negative":      tf.Causal().Joined(tf.Span{From: -1, To: 1}),
		"backwards":     tf.Causal().Joined(tf.Span{From: 2, To: 1}),
		"not causal":    tf.LocalWindow(2, 2).Joined(tf.Span{From: 0, To: 1}),
		"lengths":       tf.Causal().And(tf.ValidLengths(2, 2)).Joined(tf.Span{From: 0, To: 1}),
	} {
		if err := a.Forward(new(tf.Workspace), make([]float32, len(x)), tf.AttentionInput{Query: x, Batch: batch, Mask: m}); !errors.Is(err, fault.ErrShape) {
			t.Errorf("%s: %v, want an ErrShape", name, err)
		}
	}
}
