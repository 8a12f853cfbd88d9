package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Nomic BERT: Nussbaum et al., 2024, "Nomic Embed: Training a Reproducible Long Context Text
// Embedder". BERT with rotary positions and gated feed-forward networks, without biases. Its
// configuration and its weights have two sets of names each: those it was published with, which are
// GPT-2's, and those of transformers 5.

func init() {
	Register(newNomicBERT, "nomic_bert")
	registerGGUF("nomic-bert", llamacpp.Architecture{ModelType: "nomic_bert", Encoder: true, Epsilon: "layer_norm_eps", Names: nomicGGUFNames, Read: func(r *llamacpp.Reader) {
		r.Types()
		r.Fields["hidden_act"], r.Fields["rope_theta"] = "silu", 10000
		r.Number("rope_theta", "rope.freq_base", false)
		r.Rope()
	}})
}

type nomicConfig struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	HeadDim      int     `json:"head_dim" min:"0"`
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	MaxPositions int     `json:"max_position_embeddings"`
	Types        int     `json:"type_vocab_size" min:"0"`
	Eps          float32 `json:"layer_norm_eps"`
	Tied         bool    `json:"tie_word_embeddings"`
	configuration.RopeFields

	moe nomicMoEFields // of the published form
}

// nomicHubConfig is the published form of the configuration.
type nomicHubConfig struct {
	Vocab        int      `json:"vocab_size"`
	Dim          int      `json:"n_embd"`
	Layers       int      `json:"n_layer"`
	Heads        int      `json:"n_head"`
	Hidden       int      `json:"n_inner"`
	Activation   string   `json:"activation_function"`
	MaxPositions int      `json:"n_positions"`
	Types        int      `json:"type_vocab_size" min:"0"`
	Eps          float32  `json:"layer_norm_epsilon"`
	Theta        float64  `json:"rotary_emb_base" min:"1"`
	Fraction     float64  `json:"rotary_emb_fraction"`
	Interleaved  bool     `json:"rotary_emb_interleaved"`
	ScaleBase    *float64 `json:"rotary_emb_scale_base" min:"0"`
	Scaling      *float64 `json:"rotary_scaling_factor" min:"0"`
	QKVBias      bool     `json:"qkv_proj_bias"`
	UpBias       bool     `json:"mlp_fc1_bias"`
	DownBias     bool     `json:"mlp_fc2_bias"`
	Prenorm      bool     `json:"prenorm"`
	RMS          bool     `json:"use_rms_norm"`
	Parallel     bool     `json:"parallel_block"`
	Causal       bool     `json:"causal"`
	PadTo        int      `json:"pad_vocab_size_multiple"`
	Tied         bool     `json:"tie_word_embeddings"`
	nomicMoEFields
}

// read decodes either form.
func (config *nomicConfig) read(d configuration.Document) error {
	*config = nomicConfig{Vocab: 30528, Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "silu", MaxPositions: 2048, Types: 2, Eps: 1e-12, Tied: true, RopeFields: configuration.Rope(1000)}
	if !d.Has("n_embd") {
		return d.Decode(config)
	}
	hub := nomicHubConfig{
		Vocab: 30528, Layers: 12, Heads: 12, Activation: "swiglu", MaxPositions: 2048, Types: 2, Eps: 1e-12,
		Theta: 1000, Fraction: 1, QKVBias: true, UpBias: true, DownBias: true, PadTo: 1, Tied: true,
	}
	d.AsClass("nomic_bert of the hub")
	if err := d.Decode(&hub); err != nil {
		return err
	}
	if err := hub.nomicMoEFields.check(d); err != nil {
		return err
	}
	moe := hub.Every > 0 // which is published with biases, and without gates
	activation := "swiglu"
	if moe {
		activation, config.Activation = "gelu", "gelu"
	}
	for field, bad := range map[string]bool{
		"activation_function": hub.Activation != activation, "rotary_emb_fraction": hub.Fraction != 1, "rotary_emb_interleaved": hub.Interleaved,
		"rotary_emb_scale_base": hub.ScaleBase != nil, "rotary_scaling_factor": hub.Scaling != nil, "qkv_proj_bias": hub.QKVBias != moe,
		"mlp_fc1_bias": hub.UpBias != moe, "mlp_fc2_bias": hub.DownBias != moe, "prenorm": hub.Prenorm, "use_rms_norm": hub.RMS, "parallel_block": hub.Parallel, "causal": hub.Causal,
	} {
		if bad {
			return d.Errorf(field, "not supported by this model_type")
		}
	}
	config.Vocab, config.Dim, config.Layers, config.Heads, config.Hidden = hub.Vocab, hub.Dim, hub.Layers, hub.Heads, hub.Hidden
	config.MaxPositions, config.Types, config.Eps, config.RopeTheta, config.Tied = hub.MaxPositions, hub.Types, hub.Eps, hub.Theta, hub.Tied
	config.moe = hub.nomicMoEFields
	return nil
}

var (
	nomicLayers = transformer.StackNames{Layers: "layers.%d.", Layer: transformer.LayerNames{
		Self: "self_attn.", SelfNorm: "post_attention_layernorm.", FeedNorm: "post_mlp_layernorm.",
		Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."},
		Feed:      transformer.FeedForwardNames{Gate: "mlp.gate_proj.", Up: "mlp.up_proj.", Down: "mlp.down_proj."},
	}}
	nomicHubLayers = transformer.StackNames{Layers: "encoder.layers.%d.", Layer: transformer.LayerNames{
		Self: "attn.", SelfNorm: "norm1.", FeedNorm: "norm2.",
		Attention: transformer.AttentionNames{Packed: "Wqkv.", Out: "out_proj."},
		Feed:      transformer.FeedForwardNames{Gate: "mlp.fc12.", Up: "mlp.fc11.", Down: "mlp.fc2."},
	}}
)

func newNomicBERT(c *Checkpoint) (*Model, error) {
	var config nomicConfig
	if err := config.read(c.doc); err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	if config.HeadDim == 0 {
		config.HeadDim = config.Dim / config.Heads
	}
	rotary, err := c.doc.Rotary(config.RopeFields, config.HeadDim, config.MaxPositions)
	if err != nil {
		return nil, err
	}
	if rotary.FrequenciesAt != nil {
		return nil, c.doc.Errorf("rope_parameters", "not supported by this model_type")
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, config.MaxPositions
	body := c.Loader.Under("embeddings.word_embeddings.weight", "nomic_bert.", "bert.", "")
	names, embeddingNorm := nomicLayers, "embeddings.LayerNorm."
	if body.Has("emb_ln.weight") {
		names, embeddingNorm = nomicHubLayers, "emb_ln."
	}
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	layer := transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, HeadDim: config.HeadDim, Rotary: rotary},
		FeedForward: transformer.FeedForwardConfig{Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Gated: true},
		Norm:        norm,
	}
	if config.moe.Every > 0 {
		layer.Self.Bias, layer.Self.OutBias = true, true
		if sharpness != 0 {
			return nil, c.doc.Errorf("hidden_act", "not supported for experts")
		}
		layer.Feed = config.moe.feed(transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Activation: activation, Bias: true})
	}
	b := &block.TextEncoder{
		Embedder: block.Embedder{
			Tokens:    body.At("embeddings.word_embeddings.").Embedding(config.Vocab, config.Dim),
			EmbedNorm: body.At(embeddingNorm).Norm(norm),
		},
		Layers: body.Stack(transformer.StackConfig{Layers: config.Layers, Layer: layer}, names),
	}
	if config.Types > 0 {
		b.Types = body.At("embeddings.token_type_embeddings.").Embedding(config.Types, config.Dim)
	}
	return c.bertHeads(&Model{Encoder: b}, body, b.Tokens, bertConfig{Activation: config.Activation, Eps: config.Eps, Tied: config.Tied})
}

// nomicGGUFNames returns llama.cpp's names of Nomic BERT's tensors: of its published form where
// queries, keys and values are one tensor.
func nomicGGUFNames(r *llamacpp.Reader) func(name string) string {
	if r.Has("blk.0.attn_qkv.weight") {
		return llamacpp.Names("encoder.layers.", map[string]string{
			"attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm1": "attn_output_norm", "norm2": "layer_output_norm",
			"mlp.fc11": "ffn_up", "mlp.fc12": "ffn_gate", "mlp.fc2": "ffn_down", "mlp.fc1": "ffn_up",
			"mlp.router.layer": "ffn_gate_inp", "mlp.experts.up": "ffn_up_exps", "mlp.experts.down": "ffn_down_exps",
		}, llamacpp.Merged(llamacpp.Embeddings, map[string]string{"emb_ln": "token_embd_norm"}))
	}
	return llamacpp.Names("layers.", map[string]string{
		"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
		"post_attention_layernorm": "attn_output_norm", "post_mlp_layernorm": "layer_output_norm",
		"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
	}, llamacpp.Embeddings)
}
