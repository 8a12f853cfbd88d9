package models

import (
	"math"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// Gemma 4: Google DeepMind, 2026: Gemma 3 with larger heads in the layers without windows, of which
// a part turns, with normalized values, with layers at the end that attend to the keys and values
// of earlier ones, with per-layer embeddings, and, in one size, with experts beside the
// feed-forward network.

func init() {
	Register(newGemma4, "gemma4_text")
	registerWrapper("gemma4", wrapper{
		kinds: []string{"gemma4_text"}, head: "ForConditionalGeneration", tied: "true", fields: gemma4Around, towers: gemma4Towers, placeholders: gemma4Placeholders, images: gemma4Images,
	})
}

// What models have around Gemma 4's text: fields about images and sound, towers, and the tokens
// that stand for these.
var (
	gemma4Around       = []string{"vision_config", "audio_config", "boi_token_id", "eoi_token_id", "boa_token_id", "eoa_token_index"}
	gemma4Towers       = append([]string{"embed_vision.*", "audio_tower.*", "embed_audio.*", "model.embed_vision.*", "model.audio_tower.*", "model.embed_audio.*"}, visionTower...)
	gemma4Placeholders = map[string]int{"image_token_id": 258880, "video_token_id": 258884, "audio_token_id": 258881}
)

type gemma4Config struct {
	gemma4Fields
	Tied          bool    `json:"tie_word_embeddings"`
	LogitCap      float32 `json:"final_logit_softcapping" min:"0"`
	PerLayerVocab int     `json:"vocab_size_per_layer_input"`
	KeysAsValues  bool    `json:"attention_k_eq_v"`             // in layers without windows
	Shared        int     `json:"num_kv_shared_layers" min:"0"` // layers at the end that have no keys and values of their own
	DoubleWide    bool    `json:"use_double_wide_mlp"`          // in those layers
	Mixture       bool    `json:"enable_moe_block"`
	Experts       int     `json:"num_experts" min:"0"`           // 0: null
	TopK          int     `json:"top_k_experts" min:"0"`         // 0: null
	ExpertHidden  int     `json:"moe_intermediate_size" min:"0"` // 0: null
	BothWays      string  `json:"use_bidirectional_attention"`   // "vision": only images
}

// gemma4Rope has transformers' rotary positions for a config.json without rope_parameters.
var gemma4Rope = map[string]string{
	configuration.FullAttention:    `{"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0}`,
	configuration.SlidingAttention: `{"rope_type": "default", "rope_theta": 10000.0}`,
}

func gemma4Defaults() gemma4Config {
	config := gemma4Config{gemma4Fields: gemma4FieldDefaults(), Tied: true, PerLayerVocab: 262144}
	config.Dim, config.Layers, config.Heads, config.KVHeads, config.Hidden, config.PerLayer, config.MaxPositions = 2304, 30, 8, 4, 9216, 256, 131072
	return config
}

func newGemma4(c *Checkpoint) (*Model, error) {
	config := gemma4Defaults()
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if err := config.check(c.doc); err != nil {
		return nil, err
	}
	kinds, err := config.kinds(c.doc)
	if err != nil {
		return nil, err
	}
	sources, err := keySources(c.doc, kinds, config.Shared)
	if err != nil {
		return nil, err
	}
	if !config.KeysAsValues && !c.convention.Converted {
		config.GlobalKVHeads = 0 // transformers does not read it then
	}
	layers, err := config.layers(c.doc, kinds, gemma4Rope)
	if err != nil {
		return nil, err
	}
	if !c.convention.Converted {
		c.nameStackedExperts()
	}
	body, d := c.llamaEnds(config.ends())
	d.Tokens.Scale, d.Cap, d.Kept = float32(math.Sqrt(float64(config.Dim))), config.LogitCap, 2
	if config.PerLayer > 0 {
		d.Beside = loadPerLayer(body, config.Dim, config.Layers, config.PerLayer, config.Eps)
		d.Beside.Tokens = body.At("embed_tokens_per_layer.").Embedding(config.PerLayerVocab, config.Layers*config.PerLayer)
		d.Beside.Tokens.Scale = float32(math.Sqrt(float64(config.PerLayer)))
	}
	for i := 0; i < config.Layers && !c.Loader.Stopped(); i++ {
		d.Add(config.load(c, body.At("layers.%d.", i), layers[kinds[i]], i, kinds, sources), config.window(kinds[i]))
	}
	switch config.BothWays {
	case "vision":
		for _, w := range d.Windows {
			d.Whole = append(d.Whole, w > 0)
		}
	case "all":
		const causal = "is_causal" // which transformers then writes
		if c.doc.Note(causal); c.doc.Has(causal) && !c.doc.Empty(causal) {
			return nil, c.doc.Errorf(causal, "not together with use_bidirectional_attention")
		}
		if c.Config.Head() == "ForCausalLM" {
			return nil, c.doc.Errorf("use_bidirectional_attention", "not supported for a language model")
		}
		seeBothWays(d, config.Window/2+1) // one more than the window says, as in transformers
	}
	return c.decoderModel(d, config.Tied)
}

// check returns an error if fields do not go together.
func (config *gemma4Config) check(d configuration.Document) error {
	const cap, both = "final_logit_softcapping", "use_bidirectional_attention"
	switch {
	case d.Has(cap) && d.Empty(cap):
		return d.Errorf(cap, "want a number above 0, or null")
	case d.Has(both) && config.BothWays != "all" && config.BothWays != "vision":
		return d.Errorf(both, `want "all", "vision" or null`)
	case config.Window == 0:
		return d.Errorf("sliding_window", "want the size of a window")
	case !config.Mixture:
		return nil
	}
	for _, size := range []struct {
		field string
		n     int
	}{{"num_experts", config.Experts}, {"top_k_experts", config.TopK}, {"moe_intermediate_size", config.ExpertHidden}} {
		if size.n == 0 {
			return d.Errorf(size.field, "want a number with enable_moe_block")
		}
	}
	return nil
}

// load takes the tensors of layer i.
func (config *gemma4Config) load(c *Checkpoint, l *transformer.Loader, layer transformer.LayerConfig, i int, kinds []string, sources map[string]int) *gemma4Layer {
	own := config.Layers - config.Shared
	layer.Self.KeysAsValues = config.KeysAsValues && kinds[i] == configuration.FullAttention
	if i >= own {
		layer.Self.BorrowsKeys, layer.Self.KeysAsValues = true, false
		if config.DoubleWide {
			layer.FeedForward.Hidden *= 2
		}
		c.ignoreKeys(i)
	}
	if config.Mixture {
		experts := transformer.MixtureConfig{
			Dim: config.Dim, Hidden: config.ExpertHidden, Experts: config.Experts, TopK: config.TopK, Normalize: true,
			Activation: layer.FeedForward.Activation, Sharpness: layer.FeedForward.Sharpness,
		}
		plain := layer
		layer.Feed = func(l *transformer.Loader) transformer.Feed { return loadGemma4Feed(l, plain, experts) }
	}
	loaded := config.layer(l, l, layer)
	loaded.Kept = keptOf(kinds, i, config.Shared, sources)
	return loaded
}

// seeBothWays has tokens see those after them too, in layers with windows as many as radius on each
// side.
func seeBothWays(d *block.Decoder, radius int) {
	for i, w := range d.Windows {
		if d.Masks[i] = nil; w > 0 {
			d.Masks[i] = transformer.LocalWindow(radius, radius)
		}
	}
}
