package ours

import (
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/classic"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// attention returns the kernel on contiguous heads.
func (t Tier) attention(d *workload.Data, out []float32) func() {
	s := d.Dims
	p := kernels.AttentionParams{
		Batch: s[0], Heads: s[1], LenQ: s[2], LenK: s[3], HeadDim: s[4],
		Dst: out, Q: d.In[0], K: d.In[1], V: d.In[2],
	}
	return func() { kernels.Threads(t.Threads).Attention(p) }
}

// A tensor is a weight of a case: an input, which is transposed if it is a matrix, since linear
// weights are stored as [out, in].
func tensor(d *workload.Data, i int, shape ...int) safetensors.Tensor {
	x := d.In[i]
	if len(shape) == 2 {
		x = transposed(x, shape[1], shape[0])
	}
	return safetensors.Tensor{Shape: shape, Data: x}
}

// attentionWeights adds the weights from input i on, under PyTorch's names.
func attentionWeights(d *workload.Data, w transformer.TensorMap, prefix string, i, n int) {
	w[prefix+"in_proj_weight"], w[prefix+"in_proj_bias"] = tensor(d, i, 3*n, n), tensor(d, i+1, 3*n)
	w[prefix+"out_proj.weight"], w[prefix+"out_proj.bias"] = tensor(d, i+2, n, n), tensor(d, i+3, n)
}

func normWeights(d *workload.Data, w transformer.TensorMap, prefix string, i, n int) {
	w[prefix+"weight"], w[prefix+"bias"] = tensor(d, i, n), tensor(d, i+1, n)
}

func feedForwardWeights(d *workload.Data, w transformer.TensorMap, i, n, f int) {
	w["linear1.weight"], w["linear1.bias"] = tensor(d, i, f, n), tensor(d, i+1, f)
	w["linear2.weight"], w["linear2.bias"] = tensor(d, i+2, n, f), tensor(d, i+3, n)
}

// layer returns the call of a module of package transformer, or nil if the case is not a layer.
func (t Tier) layer(d *workload.Data, out []float32) (func(), error) {
	s := d.Dims
	ws := &transformer.Workspace{Threads: kernels.Threads(t.Threads)}
	w := transformer.TensorMap{}
	attention := func(n, heads int) transformer.AttentionConfig {
		return transformer.AttentionConfig{Dim: n, Heads: heads, Bias: true, OutBias: true}
	}
	feedForward := func(n, f int) transformer.FeedForwardConfig {
		return transformer.FeedForwardConfig{Dim: n, Hidden: f, Activation: kernels.ActGELU, Bias: true}
	}
	norm := transformer.NormConfig{Eps: 1e-12}
	var forward func() error
	switch d.Op {
	case workload.FeedForward:
		feedForwardWeights(d, w, 1, s[1], s[2])
		m, err := transformer.NewFeedForward(feedForward(s[1], s[2]), classic.TorchEncoder().Layer.Feed, w, "")
		if err != nil {
			return nil, err
		}
		forward = func() error { return m.Forward(ws, out, d.In[0], nil) }
	case workload.SelfAttention:
		attentionWeights(d, w, "", 1, s[2])
		m, err := transformer.NewMultiHeadAttention(attention(s[2], s[3]), classic.TorchAttention(), w, "")
		if err != nil {
			return nil, err
		}
		in := transformer.AttentionInput{Query: d.In[0], Batch: transformer.Uniform(s[0], s[1])}
		forward = func() error { return m.Forward(ws, out, in, nil) }
	case workload.EncoderLayer:
		n, heads, f := s[2], s[3], s[4]
		attentionWeights(d, w, "self_attn.", 1, n)
		normWeights(d, w, "norm1.", 5, n)
		feedForwardWeights(d, w, 7, n, f)
		normWeights(d, w, "norm2.", 11, n)
		l := transformer.NewLoader(w)
		l.Pack(func(string, kernels.Format, bool) kernels.Format { return t.format(d.Case) })
		m := l.Layer(transformer.LayerConfig{Self: attention(n, heads), FeedForward: feedForward(n, f), Norm: norm}, classic.TorchEncoder().Layer)
		if err := l.Finish(); err != nil {
			return nil, err
		}
		in := transformer.LayerInput{X: d.In[0], Batch: transformer.Uniform(s[0], s[1])}
		forward = func() error { return m.Forward(ws, out, in, nil) }
	case workload.DecoderLayer:
		n, heads, f := s[3], s[4], s[5]
		attentionWeights(d, w, "self_attn.", 1, n)
		normWeights(d, w, "norm1.", 5, n)
		feedForwardWeights(d, w, 7, n, f)
		normWeights(d, w, "norm3.", 11, n)
		attentionWeights(d, w, "multihead_attn.", 14, n)
		normWeights(d, w, "norm2.", 18, n)
		cross := attention(n, heads)
		m, err := transformer.NewLayer(transformer.LayerConfig{Self: attention(n, heads), Cross: &cross, FeedForward: feedForward(n, f), Norm: norm},
			classic.TorchDecoder().Layer, w, "")
		if err != nil {
			return nil, err
		}
		in := transformer.LayerInput{X: d.In[0], Batch: transformer.Uniform(s[0], s[1]), Mask: transformer.Causal(),
			Memory: d.In[13], MemoryBatch: transformer.Uniform(s[0], s[2])}
		forward = func() error { return m.Forward(ws, out, in, nil) }
	default:
		return nil, nil
	}
	return func() {
		if err := forward(); err != nil {
			panic(err)
		}
	}, nil
}

// transposed returns the transpose of x [rows, cols], [cols, rows].
func transposed(x []float32, rows, cols int) []float32 {
	y := make([]float32, len(x))
	for r := range rows {
		for c := range cols {
			y[c*rows+r] = x[r*cols+c]
		}
	}
	return y
}
