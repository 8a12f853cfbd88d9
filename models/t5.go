package models

import (
	"math"
	"strings"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// T5: Raffel et al., 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
// Transformer". RMS normalization first, no biases, scores that are not scaled, and positions by a
// bias of the scores that all layers share.

func init() {
	Register(newT5, "t5", "mt5")
	registerGGUF("t5", llamacpp.Architecture{Encoder: true, Decodes: true, Names: t5GGUFNames, Read: readT5GGUF})
	registerGGUF("t5encoder", llamacpp.Architecture{ModelType: "t5", Encoder: true, Names: t5GGUFNames, Read: readT5GGUF})
}

type t5Config struct {
	Vocab         int     `json:"vocab_size"`
	Dim           int     `json:"d_model"`
	HeadDim       int     `json:"d_kv"`
	Hidden        int     `json:"d_ff"`
	EncoderLayers int     `json:"num_layers"`
	DecoderLayers int     `json:"num_decoder_layers" min:"0"` // 0: as many
	Heads         int     `json:"num_heads"`
	Buckets       int     `json:"relative_attention_num_buckets" min:"4"`
	MaxDistance   int     `json:"relative_attention_max_distance"`
	Eps           float32 `json:"layer_norm_epsilon"`
	FeedForward   string  `json:"feed_forward_proj"`
	Activation    string  `json:"dense_act_fn"` // goes before what FeedForward says, as Gated does
	Gated         bool    `json:"is_gated_act"`
	Tied          bool    `json:"tie_word_embeddings"`
	// ScaleOutputs says that the hidden states are divided by sqrt(Dim) before the logits; before
	// transformers 5 that of Tied.
	ScaleOutputs bool `json:"scale_decoder_outputs"`
}

// t5Layers returns the names of a stack whose feed-forward network is part number feed of a layer.
func t5Layers(feed string) transformer.StackNames {
	feed = "layer." + feed + "."
	return transformer.StackNames{Layers: "block.%d.", Norm: "final_layer_norm.", Layer: transformer.LayerNames{
		Self: "layer.0.SelfAttention.", SelfNorm: "layer.0.layer_norm.",
		Cross: "layer.1.EncDecAttention.", CrossNorm: "layer.1.layer_norm.",
		Attention: transformer.AttentionNames{Query: "q.", Key: "k.", Value: "v.", Out: "o."},
		Feed:      transformer.FeedForwardNames{Up: feed + "DenseReluDense.wi.", Down: feed + "DenseReluDense.wo."},
		FeedNorm:  feed + "layer_norm.",
	}}
}

func newT5(c *Checkpoint) (*Model, error) {
	config := t5Config{Vocab: 32128, Dim: 512, HeadDim: 64, Hidden: 2048, EncoderLayers: 6, Heads: 8, Buckets: 32, MaxDistance: 128, Eps: 1e-6, FeedForward: "relu", Tied: true}
	if c.Config.ModelType == "mt5" { // Xue et al., 2021, "mT5"
		config.FeedForward, config.Vocab, config.Hidden, config.EncoderLayers, config.Heads = "gated-gelu", 250112, 1024, 8, 6
		config.Tied = !c.Loader.Has("lm_head.weight") // the default of transformers has changed
	}
	initialLayers := config.EncoderLayers
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if !c.doc.Has("scale_decoder_outputs") && !c.doc.IsNull("scale_decoder_outputs") { // null is false
		config.ScaleOutputs = config.Tied && c.Config.ModelType == "t5"
	}
	if config.DecoderLayers == 0 {
		config.DecoderLayers = config.EncoderLayers
		if own, ok := c.doc.Hidden("num_layers"); ok { // transformers applies aliases later
			before := struct {
				Layers int `json:"num_layers"`
			}{initialLayers}
			if err := own.Decode(&before); err != nil {
				return nil, err
			}
			config.DecoderLayers = before.Layers
		}
	}
	config.feedForward(c.doc)
	if config.MaxDistance <= config.Buckets/2 {
		return nil, c.doc.Errorf("relative_attention_max_distance", "want more than half of relative_attention_num_buckets = %d", config.Buckets)
	}
	layer, err := config.layer(c.doc)
	if err != nil {
		return nil, err
	}
	c.Config.DecoderStart = max(c.Config.DecoderStart, 0) // the padding token
	c.Config.Vocab, c.Config.Dim, c.Config.Layers = config.Vocab, config.Dim, config.EncoderLayers
	c.Loader.Ignore("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight") // in old checkpoints, not used
	shared := c.Loader.At("shared.").Embedding(config.Vocab, config.Dim)
	names := config.names(t5Layers("1"))
	m := &Model{Encoder: &block.TextEncoder{
		Embedder: block.Embedder{Tokens: c.Loader.At("encoder.embed_tokens.").TiedEmbedding(shared)},
		Layers:   c.Loader.At("encoder.").Stack(transformer.StackConfig{Layers: config.EncoderLayers, Layer: layer, FinalNorm: true}, names),
		Bias:     config.bias(c.Loader.At("encoder.block.0.layer.0.SelfAttention."), true),
	}}
	if c.Config.Head() == "Model" && !c.Loader.Has("decoder.final_layer_norm.weight") { // T5EncoderModel
		c.Loader.Ignore("decoder.embed_tokens.weight")
		return m, nil
	}
	cross := layer.Self
	layer.Cross = &cross
	names = config.names(t5Layers("2"))
	body := c.Loader.At("decoder.")
	d := &block.Decoder{
		Embedder: block.Embedder{Tokens: body.At("embed_tokens.").TiedEmbedding(shared)},
		Bias:     config.bias(body.At("block.0.layer.0.SelfAttention."), false),
		Norm:     body.At(names.Norm).Norm(transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps, RMS: true}),
	}
	for i := 0; i < config.DecoderLayers && !c.Loader.Stopped(); i++ {
		d.Add(body.At(names.Layers, i).Layer(layer, names.Layer), 0)
	}
	if config.ScaleOutputs && d.Norm != nil { // by the normalization in front
		by := float32(1 / math.Sqrt(float64(config.Dim)))
		for i := range d.Norm.Weight {
			d.Norm.Weight[i] *= by
		}
	}
	m.LM = d
	d.Head, err = config.head(c, shared)
	return m, err
}

// feedForward completes what kind of feed-forward networks there are.
func (config *t5Config) feedForward(d configuration.Document) {
	name, gated := strings.CutPrefix(config.FeedForward, "gated-")
	if gated && name == "gelu" {
		name = "gelu_new"
	}
	if !d.Has("dense_act_fn") {
		config.Activation = name
	}
	if !d.Has("is_gated_act") {
		config.Gated = gated
	}
}

// layer returns the configuration of a layer of the encoder.
func (config *t5Config) layer(d configuration.Document) (transformer.LayerConfig, error) {
	field := "feed_forward_proj"
	if d.Has("dense_act_fn") {
		field = "dense_act_fn"
	}
	activation, sharpness, err := d.FeedActivation(field, config.Activation)
	return transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, HeadDim: config.HeadDim, Scale: 1},
		FeedForward: transformer.FeedForwardConfig{Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Gated: config.Gated},
		Norm:        transformer.NormConfig{Eps: config.Eps, RMS: true},
		NormFirst:   true,
	}, err
}

// names is n with the gate's names where there is one.
func (config *t5Config) names(n transformer.StackNames) transformer.StackNames {
	if config.Gated {
		up := strings.TrimSuffix(n.Layer.Feed.Up, ".")
		n.Layer.Feed.Gate, n.Layer.Feed.Up = up+"_0.", up+"_1."
	}
	return n
}

func (config *t5Config) bias(l *transformer.Loader, bothWays bool) *block.RelativeBias {
	return &block.RelativeBias{
		Weight: l.Tensor("relative_attention_bias.weight", config.Buckets, config.Heads),
		Heads:  config.Heads, Buckets: config.Buckets, MaxDistance: config.MaxDistance, BothWays: bothWays,
	}
}

// head returns the projection to logits.
func (config *t5Config) head(c *Checkpoint, shared *transformer.Embedding) (*transformer.Linear, error) {
	l := c.Loader.At("lm_head.")
	switch c.Config.Head() {
	case "ForConditionalGeneration", "LMHeadModel", "Model":
	default:
		return nil, c.unknownHead()
	}
	if l.Has("weight") || !config.Tied {
		return l.Linear(config.Dim, config.Vocab, false), nil
	}
	return l.Tied(shared, nil), nil
}

// readT5GGUF reads what T5 has. The largest distance of the buckets is not among the metadata: it
// is 128 in all published sizes, and where a gate tells the feed-forward networks of version 1.1,
// the activation is GELU's approximation.
func readT5GGUF(r *llamacpp.Reader) {
	for field, of := range map[string]string{"d_model": "hidden_size", "d_ff": "intermediate_size", "num_layers": "num_hidden_layers", "num_heads": "num_attention_heads"} {
		r.Rename(field, of)
	}
	delete(r.Fields, "max_position_embeddings") // of the texts that it was trained with: its positions have no end
	r.Integer("d_kv", "attention.key_length", true)
	if v, k := r.IntegerOf("attention.value_length"), r.IntegerOf("attention.key_length"); v != 0 && v != k {
		r.Note(configuration.KeyError(r.Key("attention.value_length"), v, "want key_length = %d", k))
	}
	r.Number("layer_norm_epsilon", "attention.layer_norm_rms_epsilon", true)
	r.Integer("relative_attention_num_buckets", "attention.relative_buckets_count", true)
	r.Fields["relative_attention_max_distance"], r.Fields["feed_forward_proj"] = 128, "relu"
	if r.Has("enc.blk.0.ffn_gate.weight") {
		r.Fields["feed_forward_proj"] = "gated-gelu"
	}
	if r.Architecture == "t5encoder" {
		return
	}
	r.Fields["architectures"], r.Fields["is_encoder_decoder"] = []string{"T5ForConditionalGeneration"}, true
	r.Fields["tie_word_embeddings"] = !r.Has("output.weight")
	r.Fields["decoder_start_token_id"] = r.IntegerOf("decoder_start_token_id")
	r.Integer("num_decoder_layers", "decoder_block_count", false)
}

// t5GGUFNames returns llama.cpp's names of T5's tensors.
func t5GGUFNames(r *llamacpp.Reader) func(name string) string {
	self := map[string]string{
		"layer.0.SelfAttention.q": "attn_q", "layer.0.SelfAttention.k": "attn_k", "layer.0.SelfAttention.v": "attn_v", "layer.0.SelfAttention.o": "attn_o",
		"layer.0.SelfAttention.relative_attention_bias": "attn_rel_b", "layer.0.layer_norm": "attn_norm",
		"layer.1.EncDecAttention.q": "cross_attn_q", "layer.1.EncDecAttention.k": "cross_attn_k", "layer.1.EncDecAttention.v": "cross_attn_v", "layer.1.EncDecAttention.o": "cross_attn_o",
	}
	feed := func(layer string) map[string]string {
		return map[string]string{
			layer + ".DenseReluDense.wi": "ffn_up", layer + ".DenseReluDense.wi_0": "ffn_gate", layer + ".DenseReluDense.wi_1": "ffn_up",
			layer + ".DenseReluDense.wo": "ffn_down", layer + ".layer_norm": "ffn_norm",
		}
	}
	whole := map[string]string{"shared": "token_embd", "lm_head": "output", "encoder.final_layer_norm": "enc.output_norm", "decoder.final_layer_norm": "dec.output_norm"}
	encoder := llamacpp.Names("encoder.block.", llamacpp.Merged(self, feed("layer.1")), whole)
	decoder := llamacpp.Names("decoder.block.", llamacpp.Merged(llamacpp.Merged(self, feed("layer.2")), map[string]string{"layer.1.layer_norm": "cross_attn_norm"}), whole)
	return func(name string) string {
		switch own := encoder(name); {
		case strings.HasPrefix(own, "blk."):
			return "enc." + own
		case own != name:
			return own
		}
		if own := decoder(name); own != name {
			return "dec." + own
		}
		return name
	}
}
