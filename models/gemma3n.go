package models

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// Gemma 3n: Google DeepMind, 2025: Gemma 3 with alternating updates of several streams of rows, of
// which layers compute one; learned augmented residual layers beside attention; per-layer
// embeddings; feed-forward networks of a width for each layer, in the first layers with few
// activations; and layers at the end that attend to the keys and values of earlier ones.

func init() {
	Register(newGemma3n, "gemma3n_text")
	registerWrapper("gemma3n", wrapper{
		kinds: []string{"gemma3n_text"}, head: "ForConditionalGeneration", tied: "true", towers: gemma4Towers,
		fields: []string{
			"vision_config", "audio_config", "vision_soft_tokens_per_image", "audio_soft_tokens_per_image",
			"boi_token_id", "eoi_token_id", "boa_token_id", "eoa_token_id", "image_token_id", "audio_token_id",
		},
	})
}

type gemma3nConfig struct {
	gemmaFields
	configuration.WindowFields
	Hidden        layerWidths `json:"intermediate_size"`
	Sparsity      []float64   `json:"activation_sparsity_pattern"` // the part of the activations of each layer that are 0, roughly
	LogitCap      float32     `json:"final_logit_softcapping"`
	LocalTheta    float64     `json:"rope_local_base_freq" min:"1"`
	PerLayer      int         `json:"hidden_size_per_layer_input"`
	PerLayerVocab int         `json:"vocab_size_per_layer_input"`
	Shared        int         `json:"num_kv_shared_layers" min:"0"` // layers at the end that have no keys and values of their own
	Streams       int         `json:"altup_num_inputs"`
	Active        int         `json:"altup_active_idx" min:"0"`
	Corrects      bool        `json:"altup_correct_scale"`
	LaurelRank    int         `json:"laurel_rank"`
}

// layerWidths is a list with a width for each layer, or one width for all layers.
type layerWidths struct {
	all  int
	each []int
}

func (w *layerWidths) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return pyjson.Unmarshal(text, &w.each)
	}
	return pyjson.Unmarshal(text, &w.all)
}

func newGemma3n(c *Checkpoint) (*Model, error) {
	config := gemma3nConfig{
		gemmaFields: gemmaDefaults(), Hidden: layerWidths{all: 16384}, WindowFields: configuration.WindowFields{Window: 512}, LocalTheta: 10000,
		PerLayer: 256, PerLayerVocab: 262144, LogitCap: 30, Shared: 15, Streams: 4, Corrects: true, LaurelRank: 64,
	}
	config.Vocab, config.Dim, config.Layers, config.Heads, config.KVHeads, config.RopeTheta, config.MaxPositions = 262400, 2048, 35, 8, 2, 1e6, 32768
	if err := c.doc.NoneNull("final_logit_softcapping"); err != nil {
		return nil, err
	}
	c.doc.Note("altup_coef_clip") // in training
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if err := config.check(c.doc); err != nil {
		return nil, err
	}
	sources, err := keySources(c.doc, config.LayerTypes, config.Shared)
	if err != nil {
		return nil, err
	}
	layers, err := config.layers(c)
	if err != nil {
		return nil, err
	}
	body, d := c.llamaEnds(config.llamaFields)
	d.Tokens.Scale, d.Cap, d.Kept = float32(math.Sqrt(float64(config.Dim))), config.LogitCap, 2
	d.Beside = loadPerLayer(body, config.Dim, config.Layers, config.PerLayer, config.Eps)
	d.Beside.Tokens = body.At("embed_tokens_per_layer.").Embedding(config.PerLayerVocab, config.Layers*config.PerLayer)
	d.Beside.Tokens.Scale = float32(math.Sqrt(float64(config.PerLayer)))
	d.Beside.Padded = c.instead == nil // beside towers, these tokens have vectors of images and sound
	d.Streams = &block.Streams{In: config.projections(c, body, "altup_projections."), Out: config.projections(c, body, "altup_unembed_projections.")}
	for i, kind := range config.LayerTypes {
		if c.Loader.Stopped() {
			break
		}
		layer := layers[kind]
		layer.Self.BorrowsKeys = i >= config.Layers-config.Shared
		if layer.Self.BorrowsKeys {
			c.ignoreKeys(i)
		}
		layer.FeedForward.Hidden = config.Hidden.each[i]
		loaded := config.load(body.At("layers.%d.", i), layer, config.Sparsity[i])
		loaded.kept = keptOf(config.LayerTypes, i, config.Shared, sources)
		window := 0
		if kind == configuration.SlidingAttention {
			window = config.Window
		}
		d.Add(loaded, window)
	}
	return c.decoderModel(d, config.Tied)
}

// check returns an error if fields do not go together. It completes the fields that have a value
// for each layer.
func (config *gemma3nConfig) check(d configuration.Document) error {
	const most, mostStreams, sparse = 1 << 16, 64, 10 // the first two limit what configurations merely claim
	if config.Layers > most {
		return d.Errorf("num_hidden_layers", "want at most %d", most)
	}
	if config.Hidden.each == nil {
		config.Hidden.each = slices.Repeat([]int{config.Hidden.all}, config.Layers)
	}
	if config.Sparsity == nil {
		config.Sparsity = make([]float64, config.Layers)
		for i := 0; i < sparse && config.Layers > sparse; i++ {
			config.Sparsity[i] = 0.95
		}
	}
	if config.LayerTypes == nil {
		for i := range config.Layers {
			kind := configuration.SlidingAttention
			if (i+1)%5 == 0 {
				kind = configuration.FullAttention
			}
			config.LayerTypes = append(config.LayerTypes, kind)
		}
	}
	switch {
	case len(config.Hidden.each) != config.Layers || slices.Min(config.Hidden.each) < 1 || slices.Max(config.Hidden.each) > math.MaxInt32:
		return d.Errorf("intermediate_size", "want a width, or one for each of %d layers", config.Layers)
	case len(config.Sparsity) != config.Layers || !(slices.Min(config.Sparsity) >= 0 && slices.Max(config.Sparsity) < 1):
		return d.Errorf("activation_sparsity_pattern", "want a number of at least 0 and below 1 for each of %d layers", config.Layers)
	case config.Window == 0:
		return d.Errorf("sliding_window", "want the size of a window")
	case config.Streams > mostStreams:
		return d.Errorf("altup_num_inputs", "want at most %d", mostStreams)
	case config.Active >= config.Streams:
		return d.Errorf("altup_active_idx", "want less than altup_num_inputs = %d", config.Streams)
	}
	return d.LayerTypes(config.LayerTypes, config.Layers)
}

// layers returns the configuration of the layers of each kind.
func (config *gemma3nConfig) layers(c *Checkpoint) (map[string]transformer.LayerConfig, error) {
	full, err := config.layer(c, configuration.FullAttention)
	if err != nil {
		return nil, err
	}
	if full.FeedForward.Sharpness != 0 {
		return nil, c.doc.Errorf("hidden_activation", "not supported by this model_type")
	}
	norm := full.Norm
	bare := norm
	bare.NoWeight = true
	full.Self.Scale, full.Self.QKNorm, full.Self.ValueNorm = 1, &norm, &bare
	sliding, err := config.sliding(c, full, config.LocalTheta)
	return map[string]transformer.LayerConfig{configuration.FullAttention: full, configuration.SlidingAttention: sliding}, err
}

// projections loads the linear layers at one end of the streams. llama.cpp has them in one tensor.
func (config *gemma3nConfig) projections(c *Checkpoint, l *transformer.Loader, name string) (all []*transformer.Linear) {
	for i := range config.Streams - 1 {
		if c.convention.Converted {
			part := transformer.Part{Name: name, Rows: config.Dim, Stack: config.Streams - 1, Item: i}
			all = append(all, l.Stacked(config.Dim, false, part))
			continue
		}
		all = append(all, l.At(name+"%d.", i).Linear(config.Dim, config.Dim, false))
	}
	return all
}
