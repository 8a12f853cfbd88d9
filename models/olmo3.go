package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// OLMo 3: Team OLMo, 2025, "Olmo 3": OLMo 2 with windows in three of four layers. Scaled rotary
// positions are those of the other layers only. Its GGUF files are those of OLMo 2 with a window.

func init() { Register(newOLMo3, "olmo3") }

type olmo3Config struct {
	olmo2Config
	configuration.WindowFields
}

// localBase is the field for the base of layers with windows. Only GGUF files say it.
const localBase = "rope_local_base_freq"

func newOLMo3(c *Checkpoint) (*Model, error) {
	config := olmo3Config{olmo2Config: olmo2Defaults(), WindowFields: configuration.WindowFields{Window: 4096}}
	config.RopeTheta = 500000
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if c.doc.IsNull("sliding_window") {
		config.Window = 0
	}
	windows, err := c.doc.Windows(config.WindowFields, config.Layers, func(i int) bool { return (i+1)%4 != 0 })
	if err != nil {
		return nil, err
	}
	full, err := config.layer(c, configuration.FullAttention)
	if err != nil {
		return nil, err
	}
	local := struct {
		Theta float64 `json:"rope_local_base_freq" min:"1"`
	}{config.RopeTheta} // whatever rope_theta says, as in transformers
	if c.convention.Converted {
		if err := c.doc.Decode(&local); err != nil {
			return nil, err
		}
	}
	sliding, err := config.sliding(c, full, local.Theta)
	if err != nil {
		return nil, err
	}
	return c.llama(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		if w := windows(i); w > 0 {
			return block.LoadLayer(l, sliding, postNormed), w
		}
		return block.LoadLayer(l, full, postNormed), 0
	})
}
