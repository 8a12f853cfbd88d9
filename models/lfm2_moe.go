package models

import (
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// LFM2's mixture of experts: Liquid AI, 2025, "LFM2-8B-A1B". All layers but the first few have
// experts, which are picked by sigmoids and a learned correction of them.

func init() {
	Register(newLFM2MoE, "lfm2_moe")
	registerGGUF("lfm2moe", llamacpp.Architecture{ModelType: "lfm2_moe", ByLayer: true, Experts: true, Read: readLFM2MoEGGUF, Whole: lfm2GGUFWhole, Parts: llamacpp.Merged(
		llamacpp.Merged(lfm2GGUFParts, llamacpp.Experts("feed_forward.gate", "feed_forward.experts.w1", "feed_forward.experts.w3", "feed_forward.experts.w2")),
		map[string]string{"feed_forward.expert_bias": "exp_probs_b.bias"},
	)})
}

type lfm2MoEConfig struct {
	lfm2Fields
	Experts      int     `json:"num_experts"`
	TopK         int     `json:"num_experts_per_tok"`
	ExpertHidden int     `json:"moe_intermediate_size"`
	Dense        int     `json:"num_dense_layers" min:"0"` // the first layers, which have no experts
	Corrected    bool    `json:"use_expert_bias"`
	Normalize    bool    `json:"norm_topk_prob"`
	Scale        float32 `json:"routed_scaling_factor"`
}

func newLFM2MoE(c *Checkpoint) (*Model, error) {
	config := lfm2MoEConfig{lfm2Fields: lfm2Defaults(), Experts: 32, TopK: 4, ExpertHidden: 1792, Dense: 2, Corrected: true, Normalize: true, Scale: 1}
	config.Dim, config.Hidden = 2048, 7168
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if config.LayerTypes == nil {
		return nil, c.doc.Errorf("layer_types", "want a kind for each layer")
	}
	layer, err := config.layer(c)
	if err != nil {
		return nil, err
	}
	mixture := transformer.MixtureConfig{
		Dim: config.Dim, Hidden: config.ExpertHidden, Experts: config.Experts, TopK: config.TopK, Activation: layer.FeedForward.Activation,
		Sigmoid: true, Normalize: config.Normalize, Epsilon: 1e-6, Scale: config.Scale,
	}
	names := transformer.MixtureNames{
		Router: "feed_forward.gate.", Each: "feed_forward.experts.%d.", All: "feed_forward.experts.",
		Expert: transformer.FeedForwardNames{Gate: "w1.", Up: "w3.", Down: "w2."},
	}
	if config.Corrected {
		names.Correction = "feed_forward.expert_bias"
	}
	sparse := layer
	sparse.Feed = func(l *transformer.Loader) transformer.Feed { return l.Mixture(mixture, names) }
	return c.lfm2(config.lfm2Fields, func(i int) (transformer.LayerConfig, bool) {
		convolves := config.LayerTypes[i] == lfm2Convolves
		if i < config.Dense {
			return layer, convolves
		}
		return sparse, convolves
	})
}

// readLFM2MoEGGUF reads the metadata of the mixture.
func readLFM2MoEGGUF(r *llamacpp.Reader) {
	readLFM2GGUF(r)
	r.Experts("num_experts", llamacpp.Sigmoid)
	r.Integer("moe_intermediate_size", "expert_feed_forward_length", true)
	r.Fields["num_dense_layers"] = r.IntegerOf("leading_dense_block_count")
}
