package models

import (
	"slices"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// Bamba: IBM, Princeton, CMU and UIUC, 2024, "Bamba: Inference-Efficient Hybrid Mamba2 Model". Most
// layers have Mamba-2 in place of attention. Where there is attention, half of each head has rotary
// positions.

func init() {
	Register(newBamba, "bamba")
}

type bambaConfig struct {
	llamaConfig
	mambaFields
	Attention  []int    `json:"attn_layer_indices"`
	LayerTypes []string `json:"layer_types"` // says the same, if anything
}

// bambaLayer is the names of a layer.
var bambaLayer = block.LayerNames{LayerNames: transformer.LayerNames{
	Self: "self_attn.", SelfNorm: "input_layernorm.", FeedNorm: "pre_ff_layernorm.", Attention: llamaLayer.Attention,
	Feed: transformer.FeedForwardNames{Gate: "feed_forward.gate_proj.", Up: "feed_forward.up_proj.", Down: "feed_forward.down_proj."},
}}

func newBamba(c *Checkpoint) (*Model, error) {
	config := bambaConfig{llamaConfig: llamaConfig{llamaFields: llamaDefaults}, mambaFields: mambaDefaults(c)}
	config.Vocab, config.Hidden, config.KVHeads, config.Eps, config.MaxPositions = 128000, 14336, 8, 1e-5, 262144
	config.Part, config.Partial, config.normName = 0.5, true, "final_layernorm."
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias, layer.FeedForward.Bias = config.Bias, config.Bias, config.MLPBias
	mamba, err := config.block(c, hybridNames, config.Dim, config.Expand*config.Dim, config.Activation, config.Eps)
	if err != nil {
		return nil, err
	}
	if config.LayerTypes != nil {
		recurrent, err := recurrentLayers(c.doc, "layer_types", config.LayerTypes, config.Layers)
		if err != nil {
			return nil, err
		}
		for i := range config.Layers {
			if recurrent(i) == slices.Contains(config.Attention, i) {
				return nil, c.doc.Errorf("layer_types", "contradicts attn_layer_indices")
			}
		}
	}
	return c.llama(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		if slices.Contains(config.Attention, i) {
			return block.LoadLayer(l, layer, bambaLayer), 0
		}
		return block.LoadMambaLayer(l, layer, bambaLayer, mamba, "mamba."), 0
	})
}
