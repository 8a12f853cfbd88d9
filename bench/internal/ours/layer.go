package ours

import (
	"github.com/avoformer/avoformer/bench/internal/work"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// attention is the kernel on contiguous heads.
func (t Tier) attention(d *work.Data, out []float32) func() {
	s := d.Dims
	p := kernels.AttentionParams{
		Batch: s[0], Heads: s[1], LenQ: s[2], LenK: s[3], HeadDim: s[4],
		Dst: out, Q: d.In[0], K: d.In[1], V: d.In[2],
	}
	return func() { kernels.Threads(t.Threads).Attention(p) }
}

// encoderLayer is the layer of package transformer.
func (t Tier) encoderLayer(d *work.Data, out []float32) (func(), error) {
	n, heads, f := d.Dims[2], d.Dims[3], d.Dims[4]
	tensor := func(i int, shape ...int) safetensors.Tensor {
		x := d.In[i]
		if len(shape) == 2 { // linear weights are stored [out, in]
			x = transposed(x, shape[1], shape[0])
		}
		return safetensors.Tensor{Shape: shape, Data: x}
	}
	weights := transformer.TensorMap{
		"self_attn.in_proj_weight": tensor(1, 3*n, n), "self_attn.in_proj_bias": tensor(2, 3*n),
		"self_attn.out_proj.weight": tensor(3, n, n), "self_attn.out_proj.bias": tensor(4, n),
		"norm1.weight": tensor(5, n), "norm1.bias": tensor(6, n),
		"linear1.weight": tensor(7, f, n), "linear1.bias": tensor(8, f),
		"linear2.weight": tensor(9, n, f), "linear2.bias": tensor(10, n),
		"norm2.weight": tensor(11, n), "norm2.bias": tensor(12, n),
	}
	layer, err := transformer.NewLayer(transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: n, Heads: heads, Bias: true, OutBias: true},
		FeedForward: transformer.FeedForwardConfig{Hidden: f, Activation: transformer.GELU, Bias: true},
		Norm:        transformer.NormConfig{Eps: 1e-12},
	}, transformer.TorchEncoderLayer, weights, "")
	if err != nil {
		return nil, err
	}
	ws := &transformer.Workspace{Threads: kernels.Threads(t.Threads)}
	in := transformer.LayerInput{X: d.In[0], Batch: transformer.Uniform(d.Dims[0], d.Dims[1])}
	return func() {
		if err := layer.Forward(ws, out, in); err != nil {
			panic(err)
		}
	}, nil
}

// transposed turns x [rows, cols] into [cols, rows].
func transposed(x []float32, rows, cols int) []float32 {
	y := make([]float32, len(x))
	for r := range rows {
		for c := range cols {
			y[c*rows+r] = x[r*cols+c]
		}
	}
	return y
}
