package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// StarCoder 2: Lozhkov et al., 2024, "StarCoder 2 and The Stack v2: The Next Generation": Llama
// with layer normalization, biases, a plain feed-forward network and a sliding window.

func init() {
	Register(newStarCoder2, "starcoder2")
	registerGGUF("starcoder2", llamacpp.Architecture{Epsilon: "norm_epsilon", Parts: map[string]string{"mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}, Read: func(r *llamacpp.Reader) {
		r.Fields["use_bias"] = r.Has("blk.0.attn_q.bias")
	}})
}

type starcoder2Config struct {
	llamaFields
	Eps    float32 `json:"norm_epsilon"`
	Window int     `json:"sliding_window" min:"0"` // 0: null
	Bias   bool    `json:"use_bias"`
}

func newStarCoder2(c *Checkpoint) (*Model, error) {
	config := starcoder2Config{llamaFields: llamaDefaults, Eps: 1e-5, Bias: true}
	config.Vocab, config.Dim, config.Hidden, config.Layers, config.Heads, config.KVHeads = 49152, 3072, 12288, 30, 24, 2
	config.Activation, config.MaxPositions, config.Tied = "gelu_pytorch_tanh", 4096, true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Norm = transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	layer.Self.Bias, layer.Self.OutBias, layer.FeedForward.Bias, layer.FeedForward.Gated = config.Bias, config.Bias, config.Bias, false
	config.norm = layer.Norm
	names := llamaLayer
	names.Feed = transformer.FeedForwardNames{Up: "mlp.c_fc.", Down: "mlp.c_proj."}
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return l.Layer(layer, names), config.Window
	})
}
