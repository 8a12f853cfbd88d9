package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// ERNIE 4.5: Baidu ERNIE Team, 2025, "ERNIE 4.5 Technical Report": Llama whose rotary pairs are
// neighbours.

func init() {
	Register(newErnie, "ernie4_5")
	registerGGUF("ernie4_5", llamacpp.Architecture{Read: func(r *llamacpp.Reader) { r.Fields["use_bias"] = r.Has("blk.0.attn_q.bias") }})
}

type ernieConfig struct {
	llamaFields
	Bias bool `json:"use_bias"`
}

func newErnie(c *Checkpoint) (*Model, error) {
	config := ernieConfig{llamaFields: llamaDefaults}
	config.Vocab, config.Dim, config.Hidden, config.Layers, config.Heads, config.KVHeads, config.HeadDim = 103424, 1024, 3072, 18, 16, 2, 128
	config.MaxPositions, config.Eps, config.Tied, config.RopeTheta = 131072, 1e-5, true, 500000
	if c.doc.IsNull("head_dim") {
		config.HeadDim = 0
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias, layer.FeedForward.Bias = config.Bias, config.Bias, config.Bias
	layer.Self.Rotary.Pairing = transformer.PairNeighbours
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return l.Layer(layer, llamaLayer), 0
	})
}
