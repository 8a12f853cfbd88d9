package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// OLMo 2: OLMo Team, 2025, "2 OLMo 2 Furious": Llama that normalizes what leaves each part
// instead of what enters it, and the queries and keys of all heads together.

func init() {
	Register(newOLMo2, "olmo2")
	registerGGUF("olmo2", llamacpp.Architecture{Parts: llamacpp.PostNorms, Read: func(r *llamacpp.Reader) { r.Want("attention.sliding_window", 0) }})
}

type olmo2Config struct {
	llamaFields
	Bias bool `json:"attention_bias"`
}

func newOLMo2(c *Checkpoint) (*Model, error) {
	config := olmo2Config{llamaFields: llamaDefaults}
	config.Vocab, config.Eps = 50304, 1e-5
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias = config.Bias, config.Bias
	layer.Self.QKNorm = &transformer.NormConfig{Shape: []int{config.Heads * config.HeadDim}, Eps: config.Eps, RMS: true}
	names := block.LayerNames{LayerNames: llamaLayer, PostNorm: "post_attention_layernorm.", FeedPostNorm: "post_feedforward_layernorm."}
	names.SelfNorm, names.FeedNorm = "", ""
	names.Attention.QueryNorm, names.Attention.KeyNorm = "q_norm.", "k_norm."
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return block.LoadLayer(l, layer, names), 0
	})
}
