package models

import (
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// GTE: Zhang et al., 2024, "mGTE: Generalized Long-Context Text Representation and Reranking Models
// for Multilingual Text Retrieval". BERT with rotary positions and gated feed-forward networks. Its
// configuration and its weights have two sets of names each: those it was published with, as
// model_type "new", and those of transformers 5.

func init() { Register(newGTE, "gte", "new") }

type gteConfig struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	HeadDim      int     `json:"head_dim" min:"0"` // 0: Dim/Heads
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	MaxPositions int     `json:"max_position_embeddings"`
	Types        int     `json:"type_vocab_size" min:"0"`
	Eps          float32 `json:"layer_norm_eps"`
	Tied         bool    `json:"tie_word_embeddings"`
	configuration.RopeFields
}

// gteHubFields are further fields of the published configuration.
type gteHubFields struct {
	Positions string `json:"position_embedding_type"`
	Norm      string `json:"layer_norm_type"`
	LogN      bool   `json:"logn_attention_scale"`
}

// gteScaling is rope_scaling of the published configuration.
type gteScaling struct {
	Type   string   `json:"type"`
	Factor float64  `json:"factor" min:"1"`
	Mixed  *float64 `json:"mixed_b"`
}

// read decodes either form, and gives the rotary positions.
func (config *gteConfig) read(d configuration.Document, published bool) (*transformer.RotaryConfig, error) {
	*config = gteConfig{
		Vocab: 250048, Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "gelu", MaxPositions: 8192, Types: 1, Eps: 1e-12, Tied: true, RopeFields: configuration.Rope(160000),
	}
	if published {
		config.Vocab, config.MaxPositions, config.RopeTheta = 30528, 2048, 10000
	}
	if err := d.Decode(config); err != nil {
		return nil, err
	}
	if config.HeadDim == 0 {
		if config.Dim%config.Heads != 0 {
			return nil, d.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
		}
		config.HeadDim = config.Dim / config.Heads
	}
	if !published {
		rotary, err := d.Rotary(config.RopeFields, config.HeadDim, config.MaxPositions)
		if err == nil && rotary.FrequenciesAt != nil {
			err = d.Errorf("rope_parameters", "not supported by this model_type")
		}
		return rotary, err
	}
	hub := gteHubFields{Positions: "rope", Norm: "layer_norm"}
	if err := d.Decode(&hub); err != nil {
		return nil, err
	}
	for field, bad := range map[string]bool{"position_embedding_type": hub.Positions != "rope", "layer_norm_type": hub.Norm != "layer_norm", "logn_attention_scale": hub.LogN, "rope_parameters": d.Has("rope_parameters"), "head_dim": d.Has("head_dim")} {
		if bad {
			return nil, d.Errorf(field, "not supported by this model_type")
		}
	}
	return config.publishedRotary(d)
}

// publishedRotary returns the rotary positions of the published configuration, whose scaling is of
// one kind: base and frequencies are scaled so that the slowest pair turns by a factor less, the
// others by less than that.
func (config *gteConfig) publishedRotary(d configuration.Document) (*transformer.RotaryConfig, error) {
	scaling := gteScaling{Factor: 1}
	if d.Has("rope_scaling") {
		object, err := d.Sub("rope_scaling")
		if err == nil {
			err = object.Decode(&scaling)
		}
		switch {
		case err != nil:
			return nil, err
		case scaling.Type != "ntk" || scaling.Mixed != nil:
			return nil, d.Errorf("rope_scaling", "want the type ntk without mixed_b")
		}
	}
	theta, err := d.Theta(config.RopeTheta)
	if err != nil {
		return nil, err
	}
	rotary, err := d.RotaryOf(d.Bare(), configuration.Rope(theta*scaling.Factor), config.HeadDim, config.MaxPositions)
	if err != nil {
		return nil, err
	}
	for i := range rotary.Frequencies {
		rotary.Frequencies[i] /= elementary.Pow(scaling.Factor, 2/float64(config.HeadDim))
	}
	return rotary, nil
}

func newGTE(c *Checkpoint) (*Model, error) {
	var config gteConfig
	rotary, err := config.read(c.doc, c.Config.ModelType == "new")
	if err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, config.MaxPositions
	body := c.Loader.Under("embeddings.word_embeddings.weight", "gte.", "new.", "")
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	feed := transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Gated: true, OutBias: true}
	e := &block.TextEncoder{
		Embedder: block.Embedder{
			Tokens:    body.At("embeddings.word_embeddings.").Embedding(config.Vocab, config.Dim),
			EmbedNorm: body.At("embeddings.LayerNorm.").Norm(norm),
		},
		Layers: body.Stack(transformer.StackConfig{Layers: config.Layers, Layer: transformer.LayerConfig{
			Self: transformer.AttentionConfig{
				Dim: config.Dim, Heads: config.Heads, HeadDim: config.HeadDim, Bias: true, OutBias: true, Rotary: rotary,
			},
			Feed: func(l *transformer.Loader) transformer.Feed { return gteFeed(l, feed) },
			Norm: norm,
		}}, gteLayers(body)),
	}
	if config.Types > 0 {
		e.Types = body.At("embeddings.token_type_embeddings.").Embedding(config.Types, config.Dim)
	}
	return config.heads(c, &Model{Encoder: e}, body, e.Tokens)
}

// gteLayers returns the names that the tensors of body have.
func gteLayers(body *transformer.Loader) transformer.StackNames {
	names := transformer.LayerNames{
		Self: "self_attn.", SelfNorm: "post_attention_layernorm.", FeedNorm: "post_mlp_layernorm.",
		Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."},
	}
	published := "encoder.layer.0.attention."
	if !body.Has(published + "o_proj.weight") {
		return transformer.StackNames{Layers: "layers.%d.", Layer: names}
	}
	names.Self, names.SelfNorm, names.FeedNorm = "attention.", "attn_ln.", "mlp_ln."
	if body.Has(published + "qkv_proj.weight") {
		names.Attention.Packed = "qkv_proj."
	}
	return transformer.StackNames{Layers: "encoder.layer.%d.", Layer: names}
}

// gteFeed returns the feed-forward network of a layer. The published files hold its gate after its
// other half.
func gteFeed(l *transformer.Loader, config transformer.FeedForwardConfig) transformer.Feed {
	names := transformer.FeedForwardNames{Gate: "mlp.gate_proj.", Up: "mlp.up_proj.", Down: "mlp.down_proj."}
	if both := "mlp.up_gate_proj."; l.Has(both + "weight") {
		names.Packed, names.UpFirst = both, true
	}
	return l.FeedForward(config, names)
}

// heads adds the checkpoint's heads.
func (config *gteConfig) heads(c *Checkpoint, m *Model, body *transformer.Loader, words *transformer.Embedding) (*Model, error) {
	l, dim := c.Loader, config.Dim
	name, pooler := c.Config.Head(), (*transformer.Linear)(nil)
	if name == "ForSequenceClassification" || body.Has("pooler.dense.weight") {
		pooler = c.pooler(m, body.At("pooler.dense."))
	}
	return c.heads(m, ownHeads{
		"Model": c.ignoring("lm_head.*", "classifier.*"), // the latter in embedders that weigh words too
		"ForMaskedLM": func() error {
			lm := l.At("lm_head.")
			norm := lm.Under("weight", "layer_norm.", "norm.").Norm(transformer.NormConfig{Shape: []int{dim}, Eps: config.Eps})
			m.Heads[HeadMaskedLM] = c.maskedWords(lm.At("dense."), dim, kernels.ActGELU, norm, c.projection(lm.At("decoder."), words, dim, config.Tied))
			return nil
		},
		"ForSequenceClassification": func() error {
			m.Heads[HeadClassifier] = c.sequenceLabels(pooler, block.Tanh, l.At("classifier."))
			return nil
		},
		"ForQuestionAnswering": c.unknownHead, // there is no such class
	})
}
