package models

import (
	"cmp"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Llama: Touvron et al., 2023, "LLaMA: Open and Efficient Foundation Language Models".

func init() {
	Register(newLlama, "llama")
	registerGGUF("llama", llamacpp.Architecture{Neighbours: true, Experts: true, Parts: llamacpp.Experts("block_sparse_moe.gate", "block_sparse_moe.experts.w1", "block_sparse_moe.experts.w3", "block_sparse_moe.experts.w2"), Read: readLlamaGGUF})
}

// llamaFields has the fields of config.json of Llama and its many relatives.
type llamaFields struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	KVHeads      int     `json:"num_key_value_heads" min:"0"` // 0: Heads
	HeadDim      int     `json:"head_dim" min:"0"`            // 0: Dim/Heads
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	MaxPositions int     `json:"max_position_embeddings"`
	Eps          float32 `json:"rms_norm_eps"`
	Tied         bool    `json:"tie_word_embeddings"`
	configuration.RopeFields

	reach       int                        // positions that there may be
	byLength    bool                       // whether frequencies of rotary positions depend on the length
	frequencies func(length int) []float64 // where a sequence whose frequencies change is computed again
	norm        transformer.NormConfig     // after the last layer; zero: RMS with Eps
	normName    string                     // prefix of its tensors; "": norm.
}

// llamaLayer is the names of a layer.
var llamaLayer = transformer.LayerNames{
	Self: "self_attn.", SelfNorm: "input_layernorm.", FeedNorm: "post_attention_layernorm.",
	Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."},
	Feed:      transformer.FeedForwardNames{Gate: "mlp.gate_proj.", Up: "mlp.up_proj.", Down: "mlp.down_proj."},
}

// llamaDefaults has transformers' defaults of fields that config.json lacks.
var llamaDefaults = llamaFields{
	Vocab: 32000, Dim: 4096, Layers: 32, Heads: 32, Hidden: 11008, Activation: "silu", MaxPositions: 2048, Eps: 1e-6, RopeFields: configuration.Rope(10000),
}

type llamaConfig struct {
	llamaFields
	Bias    bool `json:"attention_bias"`
	MLPBias bool `json:"mlp_bias"`
}

func newLlama(c *Checkpoint) (*Model, error) {
	config := llamaConfig{llamaFields: llamaDefaults}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias, layer.FeedForward.Bias = config.Bias, config.Bias, config.MLPBias
	return c.llama(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return l.Layer(layer, llamaLayer), 0
	})
}

// layer returns the configuration of a layer: norm first, rotary positions, groups of queries with
// the same keys, a gate. Where rope_parameters has an object for each kind of layer_types, kind
// says which; else it is "".
func (f *llamaFields) layer(c *Checkpoint, kind string) (transformer.LayerConfig, error) {
	activation, sharpness, err := c.doc.FeedActivation("hidden_act", f.Activation)
	if err != nil {
		return transformer.LayerConfig{}, err
	}
	if f.KVHeads == 0 || c.doc.IsNull("num_key_value_heads") {
		f.KVHeads = f.Heads
	}
	if f.HeadDim == 0 {
		if f.Dim%f.Heads != 0 {
			return transformer.LayerConfig{}, c.doc.Errorf("num_attention_heads", "does not divide hidden_size = %d", f.Dim)
		}
		f.HeadDim = f.Dim / f.Heads
	}
	if f.Heads%f.KVHeads != 0 {
		return transformer.LayerConfig{}, c.doc.Errorf("num_key_value_heads", "does not divide num_attention_heads = %d", f.Heads)
	}
	var rotary *transformer.RotaryConfig
	if kind == "" {
		rotary, err = c.doc.Rotary(f.RopeFields, f.HeadDim, f.MaxPositions)
	} else {
		var theta float64
		if theta, err = c.doc.Theta(f.RopeTheta); err == nil {
			rotary, err = c.doc.RotaryOfKind(kind, theta, true, f.HeadDim, f.MaxPositions)
		}
	}
	if err != nil {
		return transformer.LayerConfig{}, err
	}
	if c.convention.Neighbours {
		rotary.Pairing = transformer.PairNeighbours
	}
	f.byLength, f.reach = rotary.FrequenciesAt != nil, c.doc.Reach(kind, f.MaxPositions)
	if f.Long {
		f.frequencies = rotary.FrequenciesAt
	}
	return transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: f.Dim, Heads: f.Heads, KVHeads: f.KVHeads, HeadDim: f.HeadDim, Rotary: rotary},
		FeedForward: transformer.FeedForwardConfig{Hidden: f.Hidden, Activation: activation, Sharpness: sharpness, Gated: true},
		Norm:        transformer.NormConfig{Eps: f.Eps, RMS: true},
		NormFirst:   true,
	}, nil
}

// sliding returns the configuration of a layer with a window, which has rotary positions of its
// own: those that rope_parameters has for it, else unscaled ones of base theta.
func (f *llamaFields) sliding(c *Checkpoint, full transformer.LayerConfig, theta float64) (transformer.LayerConfig, error) {
	rotary, err := c.doc.RotaryOfKind(configuration.SlidingAttention, theta, false, f.HeadDim, f.MaxPositions)
	if err == nil && rotary.FrequenciesAt != nil {
		err = c.doc.Errorf("rope_parameters", "%s: not supported by this model_type", configuration.SlidingAttention)
	}
	full.Self.Rotary = rotary
	return full, err
}

// llama returns the model whose parts have Llama's names. layer loads layer i, and gives its
// window, 0 where it has none.
func (c *Checkpoint) llama(f llamaFields, layer func(l *transformer.Loader, i int) (block.DecoderLayer, int)) (*Model, error) {
	return c.decoderModel(c.llamaDecoder(f, layer), f.Tied)
}

// llamaDecoder is llama without its head.
func (c *Checkpoint) llamaDecoder(f llamaFields, layer func(l *transformer.Loader, i int) (block.DecoderLayer, int)) *block.Decoder {
	body, d := c.llamaEnds(f)
	for i := 0; i < f.Layers && !c.Loader.Stopped(); i++ {
		d.Add(layer(body.At("layers.%d.", i), i))
	}
	return d
}

// llamaEnds is llamaDecoder without its layers, and the loader that has them.
func (c *Checkpoint) llamaEnds(f llamaFields) (*transformer.Loader, *block.Decoder) {
	body := c.Loader.Under("embed_tokens.weight", "model.", "")
	d := &block.Decoder{
		Embedder:    block.Embedder{Tokens: body.At("embed_tokens.").Embedding(f.Vocab, f.Dim)},
		Instead:     c.instead,
		ByLength:    f.byLength,
		Frequencies: f.frequencies,
	}
	norm := f.norm
	if norm.Eps == 0 {
		norm = transformer.NormConfig{Shape: []int{f.Dim}, Eps: f.Eps, RMS: true}
	}
	d.Norm = body.At(cmp.Or(f.normName, "norm.")).Norm(norm)
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = f.Vocab, f.Dim, f.Layers, cmp.Or(f.reach, f.MaxPositions)
	return body, d
}

// readLlamaGGUF reads what llama.cpp's llama has, which Mixtral is too.
func readLlamaGGUF(r *llamacpp.Reader) {
	if r.IntegerOf("expert_count") > 0 {
		r.Fields["model_type"] = "mixtral"
		r.Experts("num_local_experts", llamacpp.SoftmaxOfAll)
		r.Fields["sliding_window"] = nil
		return
	}
	readBiasGGUF(r)
}

// readBiasGGUF tells by the tensors whether attention has biases.
func readBiasGGUF(r *llamacpp.Reader) {
	r.Fields["attention_bias"] = r.Has("blk.0.attn_q.bias")
}
