package models

import (
	"math"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Gemma: Gemma Team, 2024, "Gemma: Open Models Based on Gemini Research and Technology": Llama with
// a larger head, GELU, scaled embeddings, and normalizations whose stored weights w stand for 1+w.

func init() {
	Register(newGemma, "gemma")
	registerGGUF("gemma", llamacpp.Architecture{})
}

// gemmaFields has the fields that all versions of Gemma have.
type gemmaFields struct {
	llamaFields
	Bias             bool   `json:"attention_bias"`
	HiddenActivation string `json:"hidden_activation"` // goes before hidden_act in versions 2 and 3
}

// gemmaDefaults returns transformers' defaults of fields that config.json lacks.
func gemmaDefaults() gemmaFields {
	f := gemmaFields{llamaFields: llamaDefaults}
	f.Vocab, f.Dim, f.Layers, f.Heads, f.KVHeads, f.Hidden = 256000, 3072, 28, 16, 16, 24576
	f.Activation, f.HiddenActivation, f.HeadDim, f.Tied, f.MaxPositions = "gelu_pytorch_tanh", "gelu_pytorch_tanh", 256, true, 8192
	return f
}

// layer returns the configuration of a layer of a kind.
func (f *gemmaFields) layer(c *Checkpoint, kind string) (transformer.LayerConfig, error) {
	switch {
	case c.Config.ModelType != "gemma":
		f.Activation = f.HiddenActivation
	case f.Activation == "gelu": // what the first configurations said, and did not mean
		f.Activation = "gelu_pytorch_tanh"
	}
	if f.HiddenActivation != f.Activation && c.doc.Has("hidden_activation") {
		return transformer.LayerConfig{}, c.doc.Errorf("hidden_activation", "hidden_act means %s", f.Activation)
	}
	layer, err := f.llamaFields.layer(c, kind)
	layer.Self.Bias, layer.Self.OutBias = f.Bias, f.Bias
	return layer, err
}

func newGemma(c *Checkpoint) (*Model, error) {
	config := gemmaDefaults()
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	d := c.gemma(config, 0, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		g := l.Layer(layer, llamaLayer)
		if g == nil {
			return nil, 0
		}
		c.onePlus(g.SelfNorm, g.FeedNorm)
		return g, 0
	})
	return c.decoderModel(d, config.Tied)
}

// gemma is [Checkpoint.llamaDecoder] with scaled embeddings, 1+w in the last normalization and a
// cap of the logits, 0 for none.
func (c *Checkpoint) gemma(f gemmaFields, logitCap float32, layer func(l *transformer.Loader, i int) (block.DecoderLayer, int)) *block.Decoder {
	d := c.llamaDecoder(f.llamaFields, layer)
	d.Tokens.Scale = float32(math.Sqrt(float64(f.Dim)))
	d.Cap = logitCap
	c.onePlus(d.Norm)
	return d
}

// onePlus makes the weights w of normalizations 1+w, unless they are stored in that form. Some may
// be nil, or lack their weights, where loading failed.
func (c *Checkpoint) onePlus(norms ...*transformer.Norm) {
	for _, n := range norms {
		if n == nil || c.convention.Converted {
			continue
		}
		weight := make([]float32, len(n.Weight)) // those of a TensorMap are not ours
		for i, w := range n.Weight {
			weight[i] = 1 + w
		}
		n.Weight = weight
	}
}
