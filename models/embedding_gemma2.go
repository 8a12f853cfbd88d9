package models

import (
	"math"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// EmbeddingGemma 2: an encoder of Gemma 4's layers, whose tokens see those after them too.
// Per-layer embeddings come from the vectors of the tokens alone, and hidden states are projected
// to the width of a text's vector.

func init() {
	Register(newEmbeddingGemma2, "embedding_gemma2_text")
	registerWrapper("embedding_gemma2", wrapper{
		kinds: []string{"embedding_gemma2_text"}, head: "Model", fields: gemma4Around, towers: gemma4Towers, placeholders: gemma4Placeholders,
	})
}

type embeddingGemma2Config struct {
	gemma4Fields
	Pattern int `json:"sliding_window_pattern"`
	OutDim  int `json:"embedding_dim"`
}

// embeddingGemma2Rope has transformers' rotary positions for a config.json without rope_parameters.
var embeddingGemma2Rope = map[string]string{
	configuration.FullAttention:    `{"rope_type": "default", "rope_theta": 1000000.0}`,
	configuration.SlidingAttention: `{"rope_type": "default", "rope_theta": 10000.0}`,
}

func newEmbeddingGemma2(c *Checkpoint) (*Model, error) {
	config := embeddingGemma2Config{gemma4Fields: gemma4FieldDefaults(), Pattern: 6, OutDim: 768}
	config.Dim, config.Layers, config.Heads, config.KVHeads, config.Hidden, config.PerLayer, config.MaxPositions, config.GlobalKVHeads = 512, 24, 4, 2, 2048, 512, 262144, 1
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if config.PerLayer == 0 {
		return nil, c.doc.Errorf("hidden_size_per_layer_input", "want at least 1")
	}
	if config.Window == 0 {
		return nil, c.doc.Errorf("sliding_window", "want the size of a window")
	}
	if c.Config.Head() != "Model" {
		return nil, c.unknownHead()
	}
	config.pattern = config.Pattern
	kinds, err := config.kinds(c.doc)
	if err != nil {
		return nil, err
	}
	layers, err := config.layers(c.doc, kinds, embeddingGemma2Rope)
	if err != nil {
		return nil, err
	}
	body, d := c.llamaEnds(config.ends())
	d.Tokens.Scale = float32(math.Sqrt(float64(config.Dim)))
	d.Beside = loadPerLayer(body.At("ple."), config.Dim, config.Layers, config.PerLayer, config.Eps)
	for i := 0; i < config.Layers && !c.Loader.Stopped(); i++ {
		l := body.At("layers.%d.", i)
		d.Add(config.layer(l, l.At("ple_block."), layers[kinds[i]]), config.window(kinds[i]))
	}
	seeBothWays(d, config.Window)
	c.Config.Dim = config.OutDim
	return &Model{Encoder: &block.Projected{Decoder: d, Project: body.At("embedding_projection.").Linear(config.Dim, config.OutDim, false)}}, nil
}
