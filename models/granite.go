package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Granite: Granite Team, IBM, 2024, "Granite 3.0 Language Models": Llama with factors for what
// enters it, for the scores, for what each part adds, and for the logits.

func init() {
	Register(newGranite, "granite")
	registerGGUF("granite", llamacpp.Architecture{Neighbours: true, Read: func(r *llamacpp.Reader) {
		readGraniteGGUF(r)
		if !r.Flag("rope.scaling.finetuned", true) { // which says whether there are positions
			r.Refuse("rope.scaling.finetuned", false, "not supported by this architecture")
		}
	}})
}

type graniteConfig struct {
	llamaConfig
	Embedding float32 `json:"embedding_multiplier"`
	Scores    float32 `json:"attention_multiplier"`
	Residual  float32 `json:"residual_multiplier"`
	Logits    float32 `json:"logits_scaling"` // which logits are divided by
}

// graniteDefaults returns transformers' defaults of fields that config.json lacks.
func graniteDefaults() graniteConfig {
	return graniteConfig{llamaConfig: llamaConfig{llamaFields: llamaDefaults}, Embedding: 1, Scores: 1, Residual: 1, Logits: 1}
}

func newGranite(c *Checkpoint) (*Model, error) {
	config := graniteDefaults()
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.FeedForward.Bias = config.MLPBias
	return c.granite(config, func(int) (transformer.LayerConfig, int) { return layer, 0 })
}

// graniteLayer is the names of a layer.
var graniteLayer = func() block.LayerNames {
	names := block.LayerNames{LayerNames: llamaLayer}
	names.Attention.Sinks = "sinks"
	return names
}()

// granite returns the model whose layers have the configurations and windows that each gives.
func (c *Checkpoint) granite(config graniteConfig, each func(i int) (layer transformer.LayerConfig, window int)) (*Model, error) {
	d := c.llamaDecoder(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		layer, window := each(i)
		layer.Self.Bias, layer.Self.OutBias = config.Bias, config.Bias
		layer.Self.Scale = config.scores(c)
		g := block.LoadLayer(l, layer, graniteLayer)
		g.Scale = config.Residual
		return g, window
	})
	d.Tokens.Scale, d.Scale = config.Embedding, 1/config.Logits
	return c.decoderModel(d, config.Tied)
}

// scores returns the factor for scores; 0, where the field is null: that of the width of heads.
func (config *graniteConfig) scores(c *Checkpoint) float32 {
	if c.doc.IsNull("attention_multiplier") {
		return 0
	}
	return config.Scores
}

// readGraniteGGUF reads Granite's factors.
func readGraniteGGUF(r *llamacpp.Reader) {
	r.Fields["attention_bias"] = r.Has("blk.0.attn_q.bias")
	r.Number("embedding_multiplier", "embedding_scale", false)
	r.Number("residual_multiplier", "residual_scale", false)
	if r.Number("attention_multiplier", "attention.scale", false); r.NumberOf("attention.scale", 0) == 0 {
		r.Fields["attention_multiplier"] = nil
	}
	r.Number("logits_scaling", "logit_scale", false)
}
