package transformer_test

import (
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestTables holds the vectors of tokens in every format: by themselves, and shared with a
// projection. They are the rounded ones, whose products the projection has.
func TestTables(t *testing.T) {
	const vocab, dim = 70, 96
	weight := tftest.Must(tf.Random(1).Tensor("weight", vocab, dim))(t)
	tftest.EachTier(t, func(t *testing.T) {
		for f, bound := range map[kernels.Format]float64{ // of an element's error, in the largest of its row
			kernels.FormatF32: 0, kernels.FormatBF16: 1. / 256, kernels.FormatF16: 1. / 2048, kernels.FormatInt8: 1. / 60, // a part of the roundings of its block
			kernels.FormatQ8_0: 1. / 240, kernels.FormatQ4_0: 1. / 8, kernels.FormatQ6_K: 1. / 31,
			kernels.FormatQ4_K: 1. / 8, kernels.FormatQ5_K: 1. / 16, // least squares may leave a single element over half a step off
			kernels.FormatQ4_1: 1. / 14, kernels.FormatQ5_0: 1. / 16, kernels.FormatQ5_1: 1. / 30, kernels.FormatMXFP4: 1. / 3,
			kernels.FormatIQ4_NL: 1. / 6, kernels.FormatIQ4_XS: 1. / 5, kernels.FormatQ3_K: 2. / 5,
		} {
			load := func(tied bool) (*tf.Embedding, *tf.Linear) {
				l := tf.NewLoader(tf.Random(1))
				l.Pack(func(string, kernels.Format, bool) kernels.Format { return f })
				e := l.Embedding(vocab, dim)
				var head *tf.Linear
				if tied {
					head = l.At("head.").Tied(e, nil)
				}
				tftest.NoError(t, l.Finish())
				return e, head
			}
			e, _ := load(false)
			shared, head := load(true)
			got, again, projected := make([]float32, dim), make([]float32, dim), head.Weight()
			for token := range vocab {
				want, largest := weight[token*dim:(token+1)*dim], 0.0
				for _, w := range want {
					largest = max(largest, math.Abs(float64(w)))
				}
				e.Row(got, token)
				shared.Row(again, token)
				if !slices.Equal(again, got) || !slices.Equal(projected[token*dim:(token+1)*dim], got) {
					t.Fatalf("%v: token %d has other numbers where a projection shares them", f, token)
				}
				for i, w := range want {
					if off := math.Abs(float64(got[i] - w)); !(off <= bound*largest) {
						t.Fatalf("%v: token %d, element %d is %g, want %g", f, token, i, got[i], w)
					}
				}
				if f != kernels.FormatF32 && slices.Equal(got, want) {
					t.Fatalf("%v: token %d is not rounded", f, token)
				}
			}
		}
	})
}
