package models

import (
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// gemma4Fields has the fields that Gemma 4 and EmbeddingGemma 2 have in common. Layers with windows
// and layers without differ in their heads and their rotary positions.
type gemma4Fields struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	KVHeads      int     `json:"num_key_value_heads"`
	HeadDim      int     `json:"head_dim"`
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_activation"`
	MaxPositions int     `json:"max_position_embeddings"`
	Eps          float32 `json:"rms_norm_eps"`
	Bias         bool    `json:"attention_bias"`
	PerLayer     int     `json:"hidden_size_per_layer_input" min:"0"` // the width of per-layer embeddings; 0: none
	configuration.WindowFields

	// Those of layers without windows, unless per_layer_config says them.
	GlobalHeadDim int `json:"global_head_dim"`
	GlobalKVHeads int `json:"num_global_key_value_heads" min:"0"` // 0: KVHeads

	pattern int // where layer_types does not say: the last layer of each group of this size sees all
}

// layerHeads are the heads of a layer.
type layerHeads struct {
	kv, dim int
}

func gemma4FieldDefaults() gemma4Fields {
	return gemma4Fields{
		Vocab: 262144, Activation: "gelu_pytorch_tanh", Eps: 1e-6, HeadDim: 256, GlobalHeadDim: 512, WindowFields: configuration.WindowFields{Window: 512}, pattern: 6,
	}
}

// kinds returns the kind of each layer. The last sees all, whatever layer_types says.
func (f *gemma4Fields) kinds(d configuration.Document) ([]string, error) {
	const most = 1 << 16 // of what configurations merely claim
	if f.Layers > most {
		return nil, d.Errorf("num_hidden_layers", "want at most %d", most)
	}
	if !d.Has("layer_types") {
		kinds := make([]string, f.Layers)
		for i := range kinds {
			kinds[i] = configuration.SlidingAttention
			if (i+1)%f.pattern == 0 || i == f.Layers-1 {
				kinds[i] = configuration.FullAttention
			}
		}
		return kinds, nil
	}
	if err := d.LayerTypes(f.LayerTypes, f.Layers); err != nil {
		return nil, err
	}
	kinds := slices.Clone(f.LayerTypes)
	kinds[f.Layers-1] = configuration.FullAttention
	return kinds, nil
}

// layers returns the configuration of the layers of each kind that there is.
func (f *gemma4Fields) layers(d configuration.Document, kinds []string, rope map[string]string) (map[string]transformer.LayerConfig, error) {
	activation, sharpness, err := d.FeedActivation("hidden_activation", f.Activation)
	if err != nil {
		return nil, err
	}
	if sharpness != 0 && f.PerLayer > 0 {
		return nil, d.Errorf("hidden_activation", "not supported with per-layer embeddings")
	}
	all, err := f.heads(d, kinds)
	if err != nil {
		return nil, err
	}
	layers := map[string]transformer.LayerConfig{}
	for kind, own := range all {
		if f.Heads%own.kv != 0 {
			return nil, d.Errorf("num_key_value_heads", "layers of %s have %d, which does not divide num_attention_heads = %d", kind, own.kv, f.Heads)
		}
		rotary, err := d.RotaryOfEach(kind, rope[kind], own.dim, f.MaxPositions)
		if err != nil {
			return nil, err
		}
		if rotary.FrequenciesAt != nil {
			return nil, d.Errorf("rope_parameters", "%s: not supported by this model_type", kind)
		}
		norm := transformer.NormConfig{Eps: f.Eps, RMS: true}
		bare := norm
		bare.NoWeight = true
		layers[kind] = transformer.LayerConfig{
			Self: transformer.AttentionConfig{
				Dim: f.Dim, Heads: f.Heads, KVHeads: own.kv, HeadDim: own.dim, Rotary: rotary, Scale: 1, QKNorm: &norm, ValueNorm: &bare, Bias: f.Bias, OutBias: f.Bias,
			},
			FeedForward: transformer.FeedForwardConfig{Dim: f.Dim, Hidden: f.Hidden, Activation: activation, Sharpness: sharpness, Gated: true},
			Norm:        norm,
		}
	}
	return layers, nil
}

// heads returns the heads of the layers of each kind that there is: those that per_layer_config
// says, where it is there at all. Layers of one kind have the same, since they have the same rotary
// positions.
func (f *gemma4Fields) heads(d configuration.Document, kinds []string) (map[string]layerHeads, error) {
	const field = "per_layer_config"
	own := make([]layerHeads, len(kinds))
	if _, said := d.Raw(field); said {
		for i := range own {
			own[i] = layerHeads{f.KVHeads, f.HeadDim}
		}
		if err := f.overrides(d, own); err != nil {
			return nil, err
		}
	} else {
		for i, kind := range kinds {
			own[i] = layerHeads{f.KVHeads, f.HeadDim}
			if kind == configuration.FullAttention {
				own[i].dim = f.GlobalHeadDim
				if f.GlobalKVHeads > 0 {
					own[i].kv = f.GlobalKVHeads
				}
			}
		}
	}
	of := map[string]layerHeads{}
	for i, kind := range kinds {
		if first, ok := of[kind]; ok && first != own[i] {
			return nil, d.Errorf(field, "heads of layer %d differ from those of another layer of %s: not supported", i, kind)
		}
		of[kind] = own[i]
	}
	return of, nil
}

// overrides changes the heads of the layers that per_layer_config names.
func (f *gemma4Fields) overrides(d configuration.Document, own []layerHeads) error {
	const field = "per_layer_config"
	d.Note(field)
	if !d.Has(field) {
		return nil
	}
	all, err := d.Sub(field)
	if err != nil {
		return err
	}
	for name := range all.Fields {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(own) {
			return all.Errorf(name, "want numbers of layers, 0 to %d", len(own)-1)
		}
		layer, err := all.Sub(name)
		if err != nil {
			return err
		}
		said := struct {
			KVHeads int `json:"num_key_value_heads"`
			HeadDim int `json:"head_dim"`
		}{own[i].kv, own[i].dim}
		if err := layer.Decode(&said); err != nil {
			return err
		}
		for other := range layer.Fields {
			if other != "num_key_value_heads" && other != "head_dim" {
				return layer.Errorf(other, "not supported for single layers")
			}
		}
		own[i] = layerHeads{said.KVHeads, said.HeadDim}
	}
	return nil
}

// window returns the window of a layer of a kind, 0 for none.
func (f *gemma4Fields) window(kind string) int {
	if kind == configuration.SlidingAttention {
		return f.Window
	}
	return 0
}

// ends returns the ends of a decoder of these fields: see [Checkpoint.llamaEnds].
func (f *gemma4Fields) ends() llamaFields {
	return llamaFields{Vocab: f.Vocab, Dim: f.Dim, Layers: f.Layers, MaxPositions: f.MaxPositions, Eps: f.Eps}
}
