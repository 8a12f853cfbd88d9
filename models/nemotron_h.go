package models

import (
	"maps"
	"slices"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Nemotron-H: NVIDIA, 2025, "Nemotron-H: A Family of Accurate and Efficient Hybrid
// Mamba-Transformer Models". A layer is Mamba-2, attention without positions, a feed-forward
// network, or a mixture of experts (Nemotron 3).

func init() {
	Register(newNemotronH, "nemotron_h")
	own := llamacpp.Architecture{
		ModelType: "nemotron_h", Varying: true, Read: readNemotronGGUF, Whole: map[string]string{"norm_f": "output_norm"},
		Parts: mambaParts("mixer.", map[string]string{
			"norm": "attn_norm", "mixer.q_proj": "attn_q", "mixer.k_proj": "attn_k", "mixer.v_proj": "attn_v", "mixer.o_proj": "attn_output",
			"mixer.up_proj": "ffn_up", "mixer.down_proj": "ffn_down",
			"mixer.gate": "ffn_gate_inp", "mixer.gate.e_score_correction_bias": "exp_probs_b.bias", "mixer.experts.up_proj": "ffn_up_exps", "mixer.experts.down_proj": "ffn_down_exps",
			"mixer.shared_experts.up_proj": "ffn_up_shexp", "mixer.shared_experts.down_proj": "ffn_down_shexp", "mixer.fc1_latent_proj": "ffn_latent_down", "mixer.fc2_latent_proj": "ffn_latent_up",
		}),
	}
	registerGGUF("nemotron_h", own)
	own.Experts = true
	registerGGUF("nemotron_h_moe", own)
}

type nemotronHConfig struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Heads        int     `json:"num_attention_heads"`
	KVHeads      int     `json:"num_key_value_heads"`
	HeadDim      int     `json:"head_dim"`
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"mlp_hidden_act"`
	MLPBias      bool    `json:"mlp_bias"`
	MaxPositions int     `json:"max_position_embeddings"`
	Eps          float32 `json:"layer_norm_epsilon"`

	// The kinds of the layers: names, or a letter each.
	Layers *int     `json:"num_hidden_layers"`
	Kinds  []string `json:"layers_block_type"`

	MambaHeads      int     `json:"mamba_num_heads"`
	MambaHeadDim    int     `json:"mamba_head_dim"`
	MambaActivation string  `json:"mamba_hidden_act"`
	Groups          int     `json:"n_groups"`
	State           int     `json:"ssm_state_size"`
	Taps            int     `json:"conv_kernel"`
	ConvBias        bool    `json:"use_conv_bias"`
	Bias            bool    `json:"use_bias"`
	StepMin         float32 `json:"time_step_min" min:"0"`
}

// nemotronPattern is a field with a letter for each layer, which counts only where
// layers_block_type is absent.
const nemotronPattern = "hybrid_override_pattern"

// The kinds of layers.
const (
	nemotronMamba     = "linear_attention"
	nemotronAttention = configuration.FullAttention
	nemotronFeed      = "mlp"
	nemotronExperts   = "moe"
)

// nemotronLetters are the kinds in hybrid_override_pattern, and nemotronOlder their names in
// transformers 4.
var (
	nemotronLetters = map[rune]string{'M': nemotronMamba, '*': nemotronAttention, '-': nemotronFeed, 'E': nemotronExperts}
	nemotronOlder   = map[string]string{"mamba": nemotronMamba, "attention": nemotronAttention}
)

func newNemotronH(c *Checkpoint) (*Model, error) {
	config := nemotronHConfig{
		Vocab: 131072, Dim: 4096, Heads: 32, KVHeads: 8, HeadDim: 128, Hidden: 21504, Activation: "relu2", MaxPositions: 4096, Eps: 1e-5,
		MambaHeads: 128, MambaHeadDim: 64, MambaActivation: "silu", Groups: 8, State: 128, Taps: 4, ConvBias: true, StepMin: 1e-3,
	}
	if err := c.renameNemotron(); err != nil {
		return nil, err
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	kinds, err := config.kinds(c.doc)
	if err != nil {
		return nil, err
	}
	layer, err := config.layer(c)
	if err != nil {
		return nil, err
	}
	mamba, err := config.mamba(c)
	if err != nil {
		return nil, err
	}
	experts, err := config.experts(c, kinds, layer.FeedForward)
	if err != nil {
		return nil, err
	}
	for _, field := range nemotronIdle {
		c.doc.Note(field)
	}
	c.Loader.Ignore("mtp.*") // of layers that predict further tokens
	if !c.convention.Converted {
		c.Loader.Rename(backboneNames)
	}
	f := llamaFields{Vocab: config.Vocab, Dim: config.Dim, Layers: len(kinds), MaxPositions: config.MaxPositions, Eps: config.Eps, normName: "norm_f."}
	d := c.llamaDecoder(f, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		return loadNemotron(l, kinds[i], layer, mamba, experts), 0
	})
	return c.decoderModel(d, false) // whatever tie_word_embeddings says
}

// nemotronAliases are other names of fields, which go before the fields' own.
var nemotronAliases = map[string]string{
	"mamba_n_groups": "n_groups", "mamba_d_conv": "conv_kernel", "mamba_expand": "expand", "mamba_conv_bias": "use_conv_bias", "mamba_chunk_size": "chunk_size",
	"mamba_dt_min": "time_step_min", "mamba_dt_max": "time_step_max", "mamba_dt_limit": "time_step_limit", "mamba_dt_init_floor": "time_step_floor",
}

// renameNemotron gives fields their own names.
func (c *Checkpoint) renameNemotron() error {
	for _, alias := range slices.Sorted(maps.Keys(nemotronAliases)) {
		if err := c.doc.NoneNull(alias); err != nil {
			return err
		}
		if v, ok := c.doc.Raw(alias); ok {
			c.doc.Note(alias)
			c.doc = c.doc.With(nemotronAliases[alias], string(v))
		}
	}
	return nil
}

// nemotronIdle are fields of predictions of several tokens, and of training; those that repeat what
// other fields say; and the window of attention, which transformers' masks leave out.
var nemotronIdle = []string{
	"n_shared_experts", "moe_shared_expert_overlap", "num_nextn_predict_layers", "mtp_layers_block_type", "mtp_hybrid_override_pattern", "expand", "time_step_max", "time_step_floor",
	"time_step_limit", "residual_in_fp32", "rescale_prenorm_residual", "use_mamba_kernels", "mamba_ssm_cache_dtype", "mamba_proj_bias", "chunk_size", "tie_word_embeddings",
	"sliding_window", nemotronPattern,
}

// kinds returns the kind of each layer.
func (config *nemotronHConfig) kinds(d configuration.Document) ([]string, error) {
	field, kinds := "layers_block_type", config.Kinds
	switch {
	case kinds == nil && d.Has(nemotronPattern):
		var pattern string
		if err := d.Field(nemotronPattern, &pattern); err != nil {
			return nil, err
		}
		field = nemotronPattern
		for _, letter := range pattern {
			kinds = append(kinds, nemotronLetters[letter])
		}
	case kinds == nil:
		kinds = []string{nemotronMamba, nemotronExperts, nemotronAttention, nemotronFeed}
	}
	known := make([]string, len(kinds))
	for i, kind := range kinds {
		if older, ok := nemotronOlder[kind]; ok {
			kind = older
		}
		switch kind {
		case nemotronMamba, nemotronAttention, nemotronFeed, nemotronExperts:
		default:
			return nil, d.Errorf(field, "want %q, %q, %q and %q", nemotronMamba, nemotronAttention, nemotronFeed, nemotronExperts)
		}
		known[i] = kind
	}
	if len(known) == 0 || config.Layers != nil && *config.Layers != len(known) {
		return nil, d.Errorf(field, "want the kinds of as many layers as num_hidden_layers says, 1 at least")
	}
	return known, nil
}

// layer returns the configuration of attention, of networks and of normalizations.
func (config *nemotronHConfig) layer(c *Checkpoint) (transformer.LayerConfig, error) {
	activation, sharpness, err := c.doc.FeedActivation("mlp_hidden_act", config.Activation)
	if err == nil && config.Heads%config.KVHeads != 0 {
		err = c.doc.Errorf("num_key_value_heads", "does not divide num_attention_heads = %d", config.Heads)
	}
	return transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, KVHeads: config.KVHeads, HeadDim: config.HeadDim},
		FeedForward: transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: config.MLPBias},
		Norm:        transformer.NormConfig{Eps: config.Eps, RMS: true},
	}, err
}

// mamba returns the configuration of the blocks of Mamba-2.
func (config *nemotronHConfig) mamba(c *Checkpoint) (transformer.Mamba2Config, error) {
	fields := mambaFields{MambaHeads: config.MambaHeads, MambaHeadDim: "auto", Groups: config.Groups, State: config.State, Taps: config.Taps, ConvBias: config.ConvBias, InBias: config.Bias}
	if config.MambaHeadDim > 1<<20 {
		return transformer.Mamba2Config{}, c.doc.Errorf("mamba_head_dim", "want at most %d", 1<<20)
	}
	m, err := fields.block(c, nemotronFields, config.Dim, config.MambaHeads*config.MambaHeadDim, config.MambaActivation, config.Eps)
	m.StepMin = config.StepMin
	return m, err
}

// nemotronFields are the names of the fields of Mamba-2.
var nemotronFields = mambaNames{
	Activation: "mamba_hidden_act", Heads: "mamba_num_heads", HeadDim: "mamba_head_dim", Groups: "n_groups", State: "ssm_state_size", Taps: "conv_kernel",
	ConvBias: "use_conv_bias", InBias: "use_bias",
}

// loadNemotron takes the tensors of a layer: its normalization, and one part.
func loadNemotron(l *transformer.Loader, kind string, c transformer.LayerConfig, mamba transformer.Mamba2Config, experts *nemotronExpertsConfig) *block.Layer {
	c.Norm.Shape = []int{c.Self.Dim}
	norm, mixer := l.At("norm.").Norm(c.Norm), l.At("mixer.")
	switch kind {
	case nemotronMamba:
		return &block.Layer{Norm: norm, Mamba: mixer.Mamba2(mamba)}
	case nemotronAttention:
		return &block.Layer{Norm: norm, Attention: mixer.Attention(c.Self, llamaLayer.Attention)}
	case nemotronExperts:
		return &block.Layer{FeedNorm: norm, Feed: experts.load(mixer, c.FeedForward)}
	}
	return &block.Layer{FeedNorm: norm, Feed: mixer.FeedForward(c.FeedForward, nemotronNetwork)}
}

// nemotronNetwork is the names of a network, also of an expert.
var nemotronNetwork = transformer.FeedForwardNames{Up: "up_proj.", Down: "down_proj."}
