package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Phi: Li et al., 2023, "Textbooks Are All You Need II: phi-1.5 technical report". Parallel layers
// with biases everywhere, which rotate a part of each head.

func init() {
	Register(newPhi, "phi")
	registerGGUF("phi2", llamacpp.Architecture{
		ModelType: "phi", Epsilon: "layer_norm_eps", Partial: "partial_rotary_factor",
		Parts: map[string]string{"self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"}, Whole: map[string]string{"final_layernorm": "output_norm"},
	})
}

type phiConfig struct {
	llamaFields
	Eps    float32 `json:"layer_norm_eps"`
	QKNorm bool    `json:"qk_layernorm"`
}

func newPhi(c *Checkpoint) (*Model, error) {
	config := phiConfig{llamaFields: llamaDefaults, Eps: 1e-5}
	config.Vocab, config.Dim, config.Hidden, config.Layers, config.Activation = 51200, 2048, 8192, 24, "gelu_new"
	config.Part, config.Partial = 0.5, true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Norm = transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	layer.Self.Bias, layer.Self.OutBias = true, true
	if config.QKNorm {
		layer.Self.QKNorm = &transformer.NormConfig{Eps: config.Eps}
	}
	layer.FeedForward = transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Activation: layer.FeedForward.Activation, Sharpness: layer.FeedForward.Sharpness, Bias: true}
	config.norm, config.normName = layer.Norm, "final_layernorm."
	attention := transformer.AttentionNames{
		Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "dense.", QueryNorm: "q_layernorm.", KeyNorm: "k_layernorm.",
	}
	d := c.llamaDecoder(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return &block.ParallelLayer{
			Norm:      l.At("input_layernorm.").Norm(layer.Norm),
			Attention: l.At("self_attn.").Attention(layer.Self, attention),
			Feed:      l.FeedForward(layer.FeedForward, transformer.FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."}),
		}, 0
	})
	m, err := c.decoderModel(d, config.Tied)
	if err == nil && d.Head != nil {
		d.Head.Bias = c.Loader.Tensor("lm_head.bias", config.Vocab)
	}
	return m, err
}
