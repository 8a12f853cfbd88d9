package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// OLMo 2: OLMo Team, 2025, "2 OLMo 2 Furious": Llama that normalizes what leaves each part instead
// of what enters it, and the queries and keys of all heads together.

func init() {
	Register(newOLMo2, "olmo2")
	registerGGUF("olmo2", llamacpp.Architecture{Parts: llamacpp.PostNorms, Read: readOLMoGGUF})
}

type olmo2Config struct {
	llamaFields
	Bias bool `json:"attention_bias"`
}

// olmo2Defaults has transformers' defaults of fields that config.json lacks.
func olmo2Defaults() olmo2Config {
	config := olmo2Config{llamaFields: llamaDefaults}
	config.Vocab, config.Eps = 50304, 1e-5
	return config
}

// postNormed is the names of a layer that normalizes what leaves each part instead of what enters
// it.
var postNormed = func() block.LayerNames {
	names := block.LayerNames{LayerNames: qwenLayer, PostNorm: "post_attention_layernorm.", FeedPostNorm: "post_feedforward_layernorm."}
	names.SelfNorm, names.FeedNorm = "", ""
	return names
}()

func newOLMo2(c *Checkpoint) (*Model, error) {
	config := olmo2Defaults()
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return block.LoadLayer(l, layer, postNormed), 0
	})
}

// layer returns the configuration of a layer of a kind.
func (f *olmo2Config) layer(c *Checkpoint, kind string) (transformer.LayerConfig, error) {
	layer, err := f.llamaFields.layer(c, kind)
	layer.Self.Bias, layer.Self.OutBias = f.Bias, f.Bias
	layer.Self.QKNorm = &transformer.NormConfig{Shape: []int{f.Heads * f.HeadDim}, Eps: f.Eps, RMS: true}
	return layer, err
}

// readOLMoGGUF tells version 3 by its windows.
func readOLMoGGUF(r *llamacpp.Reader) {
	if r.IntegerOf("attention.sliding_window") > 0 {
		r.Fields["model_type"] = "olmo3"
		r.Windows(4)
		r.Fields[localBase] = r.Fields["rope_theta"]
	}
}
