package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// Mixtral: Jiang et al., 2024, "Mixtral of Experts": Mistral with a mixture of experts.

func init() { Register(newMixtral, "mixtral") }

type mixtralConfig struct {
	mistralConfig
	Experts int `json:"num_local_experts"`
	TopK    int `json:"num_experts_per_tok"`
}

// mixtralExperts are the names of the experts; in GGUF files they are stacked.
var mixtralExperts = transformer.MixtureNames{
	Router: "block_sparse_moe.gate.", Each: "block_sparse_moe.experts.%d.", All: "block_sparse_moe.experts.",
	Expert: transformer.FeedForwardNames{Gate: "w1.", Up: "w3.", Down: "w2."},
}

func newMixtral(c *Checkpoint) (*Model, error) {
	config := mixtralConfig{mistralConfig: mistralConfig{llamaFields: llamaDefaults}, Experts: 8, TopK: 2}
	config.Hidden, config.KVHeads, config.MaxPositions, config.Eps, config.RopeTheta = 14336, 8, 131072, 1e-5, 1e6
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
	layer.Feed = func(l *transformer.Loader) transformer.Feed { return l.Mixture(experts, mixtralExperts) }
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return l.Layer(layer, llamaLayer), config.Window
	})
}
