package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mask"
	"github.com/avoformer/avoformer/kernels/internal/mem"
)

// This file has the masks of attention and of the masked softmax: which keys a query sees, and
// biases on its scores.

// A MaskTerm is one condition on the keys that a query sees, or a bias on its scores. It is made
// only by the constructors below, because the conventions in use contradict one another. Several
// terms may be given: a key is seen if all of them admit it, and the biases add up.
//
// A query's position is its index plus the Past of the call; a key's position is its index.
//
// Terms with data keep the caller's slice. Their shape is [batch, heads, queries, keys], and a size
// of 1 holds for all.
type MaskTerm struct{ term mask.Term }

// CausalMask hides the keys after the query's position.
func CausalMask() MaskTerm { return WindowMask(-1, 0) }

// WindowMask shows the keys from before positions ahead of the query's to after positions after it.
// A negative distance means no limit. A sliding window of w keys that includes the query's own is
// WindowMask(w-1, 0).
func WindowMask(before, after int) MaskTerm {
	clamp := func(n int) int {
		if n < 0 {
			return mask.Unlimited
		}
		return min(n, mask.Unlimited)
	}
	return MaskTerm{mask.Term{Kind: mask.Window, Before: clamp(before), After: clamp(after)}}
}

// LengthMask hides from sequence b the keys at index lengths[b] and after.
func LengthMask(lengths []int) MaskTerm {
	return MaskTerm{mask.Term{Kind: mask.Lengths, Lengths: lengths}}
}

// QueryLengthMask hides from query i of sequence b the keys at index lengths[b*LenQ+i] and after.
func QueryLengthMask(lengths []int) MaskTerm {
	return MaskTerm{mask.Term{Kind: mask.QueryLengths, Lengths: lengths}}
}

// KeepMask hides the keys where keep is false.
func KeepMask(keep []bool, batch, heads, queries, keys int) MaskTerm {
	return MaskTerm{mask.Term{Kind: mask.Keep, Keep: keep, Shape: [4]int{batch, heads, queries, keys}}}
}

// BlockMask hides the keys where blocked is true.
func BlockMask(blocked []bool, batch, heads, queries, keys int) MaskTerm {
	return MaskTerm{mask.Term{Kind: mask.Blocked, Keep: blocked, Shape: [4]int{batch, heads, queries, keys}}}
}

// BiasMask adds bias to the scaled scores. A bias of -Inf hides a key: in [Attention] whatever its
// score is; in [MaskedSoftmax] unless it is NaN or +Inf.
func BiasMask(bias []float32, batch, heads, queries, keys int) MaskTerm {
	return MaskTerm{mask.Term{Kind: mask.Bias, Bias: bias, Shape: [4]int{batch, heads, queries, keys}}}
}

// ALiBiMask adds -slopes[h]*|i-j| to the scaled scores of head h, where i and j are the positions
// of the query and the key (Press, Smith and Lewis, "Train Short, Test Long", 2021). It hides
// nothing.
func ALiBiMask(slopes []float32) MaskTerm {
	return MaskTerm{mask.Term{Kind: mask.ALiBi, Bias: slopes}}
}

// byElement reports whether the term has data for each query or key.
func (m *MaskTerm) byElement() bool {
	switch t := &m.term; t.Kind {
	case mask.QueryLengths:
		return true
	case mask.Keep, mask.Blocked, mask.Bias:
		return t.Shape[2] != 1 || t.Shape[3] != 1
	}
	return false
}

// check panics unless the term's data fits a call with sizes [batch, heads, queries, keys].
func (m *MaskTerm) check(fn string, size [4]int) {
	batch, heads, lenQ := size[0], size[1], size[2]
	switch t := &m.term; t.Kind {
	case mask.Lengths:
		mem.CheckLen(fn, "LengthMask", len(t.Lengths), batch, "Batch")
	case mask.QueryLengths:
		mem.CheckLen(fn, "QueryLengthMask", len(t.Lengths), mem.MulLen(fn, batch, lenQ), "Batch*LenQ")
	case mask.ALiBi:
		mem.CheckLen(fn, "ALiBiMask", len(t.Bias), heads, "Heads")
	case mask.Keep, mask.Blocked, mask.Bias:
		n := 1
		for i, want := range size {
			if t.Shape[i] != 1 && t.Shape[i] != want {
				panic(fmt.Sprintf("kernels.%s: mask of shape %v, want 1 or the size of %v (batch, heads, queries, keys)", fn, t.Shape, size))
			}
			n = mem.MulLen(fn, n, t.Shape[i])
		}
		mem.CheckLen(fn, "mask", len(t.Keep)+len(t.Bias), n, "the product of its shape")
	}
}
