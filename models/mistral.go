package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// Mistral: Jiang et al., 2023, "Mistral 7B": Llama with a sliding window.

func init() { Register(newMistral, "mistral") }

type mistralConfig struct {
	llamaFields
	Window int `json:"sliding_window" min:"0"` // 0: null
}

func newMistral(c *Checkpoint) (*Model, error) {
	config := mistralConfig{llamaFields: llamaDefaults}
	config.Hidden, config.KVHeads, config.MaxPositions, config.Window = 14336, 8, 131072, 4096
	if c.doc.IsNull("sliding_window") {
		config.Window = 0
	}
	return c.mistral(config)
}

// mistral returns the model by config.json. config has the defaults.
func (c *Checkpoint) mistral(config mistralConfig) (*Model, error) {
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return l.Layer(layer, llamaLayer), config.Window
	})
}
