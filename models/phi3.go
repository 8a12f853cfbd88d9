package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Phi-3: Abdin et al., 2024, "Phi-3 Technical Report": Llama with fused weights.

func init() {
	Register(newPhi3, "phi3")
	registerGGUF("phi3", llamacpp.Architecture{Partial: "partial_rotary_factor", Read: func(r *llamacpp.Reader) {
		r.Integer("sliding_window", "attention.sliding_window", false)
	}})
}

type phi3Config struct {
	llamaFields
	Window int `json:"sliding_window" min:"0"` // 0: none
}

func newPhi3(c *Checkpoint) (*Model, error) {
	config := phi3Config{llamaFields: llamaDefaults}
	config.Vocab, config.Dim, config.Hidden, config.MaxPositions = 32064, 3072, 8192, 4096
	config.Eps, config.Original, config.Partial, config.Long = 1e-5, 4096, true, true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	names := llamaLayer
	names.Attention.Packed = "qkv_proj."
	names.Feed.Packed = "mlp.gate_up_proj."
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return l.Layer(layer, names), config.Window
	})
}
