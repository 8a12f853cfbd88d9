package models

import (
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// GraniteMoE: Granite with a mixture of experts, as in the 1b-a400m and 3b-a800m models of Granite 3.

func init() {
	Register(newGraniteMoE, "granitemoe")
	registerGGUF("granitemoe", llamacpp.Architecture{Neighbours: true, Experts: true, Parts: llamacpp.Experts("block_sparse_moe.router.layer", "block_sparse_moe.gate_linear", "block_sparse_moe.up_linear", "block_sparse_moe.output_linear"), Read: func(r *llamacpp.Reader) {
		readGraniteGGUF(r)
		r.Experts("num_local_experts", llamacpp.SoftmaxOfAll)
		r.Want("expert_shared_feed_forward_length", 0)
	}})
}

type graniteMoEConfig struct {
	graniteConfig
	Experts int `json:"num_local_experts"`
	TopK    int `json:"num_experts_per_tok"`
}

var graniteExperts = transformer.MixtureNames{
	Router: "block_sparse_moe.router.layer.", All: "block_sparse_moe.",
	Expert: transformer.FeedForwardNames{Packed: "input_linear.", Gate: "gate_linear.", Up: "up_linear.", Down: "output_linear."}, // gate and up are apart only in GGUF files
}

func newGraniteMoE(c *Checkpoint) (*Model, error) {
	config := graniteMoEConfig{graniteConfig: graniteDefaults(), Experts: 8, TopK: 2}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	experts := transformer.MixtureConfig{
		Dim: config.Dim, Hidden: config.Hidden, Experts: config.Experts, TopK: config.TopK, Normalize: true, Activation: layer.FeedForward.Activation, Sharpness: layer.FeedForward.Sharpness,
	}
	layer.Feed = func(l *transformer.Loader) transformer.Feed { return l.Mixture(experts, graniteExperts) }
	return c.granite(config.graniteConfig, func(int) (transformer.LayerConfig, int) { return layer, 0 })
}
