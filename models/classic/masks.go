package classic

import (
	"github.com/avoformer/avoformer/transformer"

	"github.com/avoformer/avoformer/kernels"
)

// Masks by the conventions of libraries.

// BERTMask returns the mask that Hugging Face's first BERT made of attention_mask, keep of shape
// [batch, length], 1 = visible: -10000 is added to the other keys' scores. So a query whose keys
// are all hidden attends to them nearly as if they were visible; use transformer.KeepMask where
// that is not wanted.
func BERTMask(keep []bool, batch, length int) *transformer.Mask {
	bias := make([]float32, len(keep))
	for i, k := range keep {
		if !k {
			bias[i] = -10000
		}
	}
	return transformer.AdditiveMask(bias, batch, 1, 1, length)
}

// KerasMask hides the keys where mask, of shape [batch, heads, queries, keys], is not 0, which
// stands for adding -1e9 in float32: a query that sees no key attends to all of them alike.
func KerasMask(mask []float32, batch, heads, queries, keys int) *transformer.Mask {
	keep := make([]bool, len(mask))
	for i, m := range mask {
		keep[i] = m == 0
	}
	return transformer.KeepMask(keep, batch, heads, queries, keys).WithEmpty(kernels.EmptyUniform)
}

// D2LMask is transformer.ValidLengths where a query that sees no key attends to all of them alike,
// as in d2l, which sets the hidden scores to -1e6.
func D2LMask(lengths ...int) *transformer.Mask {
	return transformer.ValidLengths(lengths...).WithEmpty(kernels.EmptyUniform)
}

// AverageHeads returns the mean over the heads of attention weights, [batch, heads, ...], as
// torch.nn.MultiheadAttention returns them: [batch, ...].
func AverageHeads(weights []float32, batch, heads int) []float32 {
	n := len(weights) / max(batch*heads, 1)
	mean := make([]float32, batch*n)
	for b := range batch {
		m := mean[b*n : (b+1)*n]
		for h := range heads {
			addTo(m, weights[(b*heads+h)*n:(b*heads+h+1)*n])
		}
		for i := range m {
			m[i] /= float32(heads)
		}
	}
	return mean
}
