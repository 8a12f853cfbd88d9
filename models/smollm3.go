package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// SmolLM 3: Hugging Face, 2025, "SmolLM3: smol, multilingual, long-context reasoner": Llama of
// which some layers have no positions.

func init() {
	Register(newSmolLM3, "smollm3")
	registerGGUF("smollm3", llamacpp.Architecture{Neighbours: true, Read: readBiasGGUF})
}

type smollm3Config struct {
	llamaConfig
	configuration.WindowFields
	UseWindow bool  `json:"use_sliding_window"`
	Rotates   []int `json:"no_rope_layers"` // whether each layer has positions, in spite of the name
	Every     int   `json:"no_rope_layer_interval"`
}

func newSmolLM3(c *Checkpoint) (*Model, error) {
	config := smollm3Config{llamaConfig: llamaConfig{llamaFields: llamaDefaults}, Every: 4}
	config.Vocab, config.Dim, config.Layers, config.Heads, config.KVHeads, config.MaxPositions = 128256, 2048, 36, 16, 4, 32768
	config.RopeTheta, config.Tied, config.Kinds = 2e6, true, true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if config.Rotates != nil && len(config.Rotates) != config.Layers {
		return nil, c.doc.Errorf("no_rope_layers", "want %d values, as many as layers", config.Layers)
	}
	rotates := func(i int) bool {
		if config.Rotates != nil {
			return config.Rotates[i] != 0
		}
		return (i+1)%config.Every != 0
	}
	windows, err := c.doc.Windows(config.WindowFields, config.Layers, func(i int) bool { return config.UseWindow && !rotates(i) })
	if err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias, layer.FeedForward.Bias = config.Bias, config.Bias, config.MLPBias
	plain := layer
	plain.Self.Rotary = nil
	return c.llama(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		if rotates(i) {
			return l.Layer(layer, llamaLayer), windows(i)
		}
		return l.Layer(plain, llamaLayer), windows(i)
	})
}
