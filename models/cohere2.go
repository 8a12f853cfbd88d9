package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Cohere 2: Cohere, 2025, "Command A: An Enterprise-Ready Large Language Model". Parallel layers.
// Those with a window have rotary positions, and those that see all keys have no positions.

func init() {
	Register(newCohere2, "cohere2")
	registerGGUF("cohere2", llamacpp.Architecture{Epsilon: "layer_norm_eps", Read: func(r *llamacpp.Reader) {
		r.Windows(4)
		r.Number("logit_scale", "logit_scale", true)
	}})
}

type cohere2Config struct {
	llamaFields
	configuration.WindowFields
	Eps     float32 `json:"layer_norm_eps"`
	Bias    bool    `json:"attention_bias"`
	Logits  float32 `json:"logit_scale"`
	Pattern int     `json:"sliding_window_pattern"` // the last layer of each group of this size sees all
}

func newCohere2(c *Checkpoint) (*Model, error) {
	config := cohere2Config{llamaFields: llamaDefaults, WindowFields: configuration.WindowFields{Window: 4096}, Eps: 1e-5, Logits: 0.0625, Pattern: 4}
	config.Vocab, config.Dim, config.Hidden, config.Layers, config.Heads, config.MaxPositions = 256000, 8192, 22528, 40, 64, 8192
	config.Tied, config.Kinds = true, true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	slides := func(i int) bool {
		if config.LayerTypes != nil {
			return config.LayerTypes[i] == configuration.SlidingAttention
		}
		return (i+1)%config.Pattern != 0
	}
	windows, err := c.doc.Windows(config.WindowFields, config.Layers, slides)
	if err != nil {
		return nil, err
	}
	if config.Window == 0 {
		return nil, c.doc.Errorf("sliding_window", "want the size of a window")
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Norm = transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps, NoBias: true}
	layer.Self.Bias, layer.Self.OutBias, layer.FeedForward.Dim = config.Bias, config.Bias, config.Dim
	layer.Self.Rotary.Pairing = transformer.PairNeighbours
	config.norm = layer.Norm
	d := c.llamaDecoder(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		self := layer.Self
		if !slides(i) {
			self.Rotary = nil
		}
		return &block.ParallelLayer{
			Norm:      l.At(llamaLayer.SelfNorm).Norm(layer.Norm),
			Attention: l.At(llamaLayer.Self).Attention(self, llamaLayer.Attention),
			Feed:      l.FeedForward(layer.FeedForward, llamaLayer.Feed),
		}, windows(i)
	})
	d.Scale = config.Logits
	return c.decoderModel(d, config.Tied)
}
