package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// This file loads the weights of a multi-head attention.

// NewMultiHeadAttention takes the weights with the given names under prefix, which ends with a dot
// unless it is empty.
func NewMultiHeadAttention(c AttentionConfig, names AttentionNames, w Weights, prefix string) (*MultiHeadAttention, error) {
	return load(w, prefix, func(l *Loader) *MultiHeadAttention { return l.Attention(c, names) })
}

// Attention returns the attention whose weights have the given names.
func (l *Loader) Attention(c AttentionConfig, names AttentionNames) *MultiHeadAttention {
	c, err := c.withDefaults()
	if l.Fail(err) {
		return nil
	}
	a := &MultiHeadAttention{AttentionConfig: c, name: l.Name()}
	dim, kvDim := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	a.project(l, names)
	if names.Out != "" {
		a.Out = l.At(names.Out).Linear(dim, c.OutDim, c.OutBias)
	} else {
		a.OutDim = dim
	}
	if c.QKNorm != nil {
		query, key := *c.QKNorm, *c.QKNorm
		if check.Product(query.Shape) == dim { // all heads together
			key.Shape = []int{kvDim}
		}
		if a.QueryNorm = l.At(names.QueryNorm).Norm(query); !c.BorrowsKeys {
			a.KeyNorm = l.At(names.KeyNorm).Norm(key)
		}
	}
	if c.ValueNorm != nil && !c.BorrowsKeys {
		a.ValueNorm = l.At(names.ValueNorm).Norm(*c.ValueNorm)
	}
	a.Sinks = l.Optional(c.Sink, names.Sinks, c.Heads)
	if c.Rotary != nil && !l.Failed() {
		a.Rotary = must(NewRotary(*c.Rotary, c.HeadDim))
	}
	if c.Relative != NoRelative {
		a.Relative = &Relative{c.Relative, c.MaxPositions, l.At(names.Distance).Tensor("weight", 2*c.MaxPositions-1, c.HeadDim)}
	}
	return a
}

// project loads the projections of queries, keys and values.
func (a *MultiHeadAttention) project(l *Loader, names AttentionNames) {
	c, dim, kvDim := a.AttentionConfig, a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	ins := [3]int{c.Dim, c.KeyWidth, c.ValueWidth}
	sameWidth := c.KeyWidth == c.Dim && c.ValueWidth == c.Dim

	all := dim + 2*kvDim
	parts := [3]Part{{Name: names.Query, Rows: dim}, {Name: names.Key, Rows: kvDim, NoBias: c.NoKeyBias}, {Name: names.Value, Rows: kvDim}}
	if names.Packed != "" && sameWidth {
		for i, from := range []int{0, dim, dim + kvDim} {
			parts[i].Name, parts[i].From, parts[i].Of = names.Packed, from, all
		}
	}
	switch {
	case c.Gated:
		a.loadGated(l, names)
	case c.BorrowsKeys:
		a.Query = l.Stacked(c.Dim, c.Bias, parts[0])
	case c.KeysAsValues && l.alike(parts[0].Name, parts[1].Name):
		a.QKV = l.Stacked(c.Dim, c.Bias, parts[:2]...)
	case c.KeysAsValues:
		a.Query, a.Key = l.Stacked(c.Dim, c.Bias, parts[0]), l.Stacked(c.Dim, c.Bias, parts[1])
	case !sameWidth || c.CrossOnly || !l.alike(parts[0].Name, parts[1].Name, parts[2].Name):
		bias := c.Bias && (sameWidth || names.Packed == "")
		for i, to := range []**Linear{&a.Query, &a.Key, &a.Value} {
			*to = l.Stacked(ins[i], bias, parts[i])
		}
		if b := l.Optional(c.Bias && !bias, names.Packed+"bias", all); b != nil && !l.Failed() {
			a.Query.Bias, a.Key.Bias, a.Value.Bias = b[:dim:dim], b[dim:dim+kvDim:dim+kvDim], b[dim+kvDim:]
		}
	case names.ByHead && c.Heads > mostHeads:
		l.Fail(check.Errorf(fault.ErrConfig, "attention: %d heads side by side, want at most %d", c.Heads, mostHeads))
	case names.ByHead:
		a.QKV = l.Stacked(c.Dim, c.Bias, byHead(names.Packed, c.Heads, c.HeadDim)...)
	case names.Packed != "":
		a.QKV = l.Stacked(c.Dim, c.Bias, Part{Name: names.Packed, Rows: all})
	default:
		a.QKV = l.Stacked(c.Dim, c.Bias, parts[:]...)
	}
}

// byHead returns the parts of a tensor that has a query, a key and a value for each head in turn:
// all queries, all keys, all values.
func byHead(name string, heads, headDim int) []Part {
	var parts []Part
	for kind := range 3 {
		for h := range heads {
			parts = append(parts, Part{Name: name, Rows: headDim, From: (3*h + kind) * headDim, Of: 3 * heads * headDim})
		}
	}
	return parts
}
