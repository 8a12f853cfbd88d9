package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// BERT: Devlin et al., 2019, "BERT: Pre-training of Deep Bidirectional Transformers for Language
// Understanding".

func init() {
	Register(newBERT, "bert")
	registerGGUF("bert", llamacpp.Architecture{Encoder: true, Epsilon: "layer_norm_eps", Names: bertGGUFNames, Read: func(r *llamacpp.Reader) {
		r.Types()
		r.Fields["hidden_act"] = "gelu"
	}})
}

// bertConfig has the fields of config.json of BERT and its relatives.
type bertConfig struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	MaxPositions int     `json:"max_position_embeddings"`
	Types        int     `json:"type_vocab_size" min:"0"`
	Eps          float32 `json:"layer_norm_eps"`
	Positions    string  `json:"position_embedding_type"`
	Pad          int     `json:"pad_token_id" min:"0"`
	Tied         bool    `json:"tie_word_embeddings"`
}

// bertDefaults has transformers' defaults of fields that config.json lacks.
var bertDefaults = bertConfig{
	Vocab: 30522, Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "gelu", MaxPositions: 512, Types: 2, Eps: 1e-12,
	Positions: "absolute", Tied: true,
}

// layer returns the configuration of a layer of the encoder.
func (c bertConfig) layer(d configuration.Document) (transformer.LayerConfig, error) {
	activation, sharpness, err := d.FeedActivation("hidden_act", c.Activation)
	if err != nil {
		return transformer.LayerConfig{}, err
	}
	relative, ok := map[string]transformer.RelativeKind{
		"absolute": transformer.NoRelative, "relative_key": transformer.RelativeKey, "relative_key_query": transformer.RelativeKeyQuery,
	}[c.Positions]
	if !ok {
		return transformer.LayerConfig{}, d.Errorf("position_embedding_type", "want absolute, relative_key or relative_key_query")
	}
	if c.Dim%c.Heads != 0 {
		return transformer.LayerConfig{}, d.Errorf("num_attention_heads", "does not divide hidden_size = %d", c.Dim)
	}
	return transformer.LayerConfig{
		Self: transformer.AttentionConfig{
			Dim: c.Dim, Heads: c.Heads, Bias: true, OutBias: true, Relative: relative, MaxPositions: c.MaxPositions,
		},
		FeedForward: transformer.FeedForwardConfig{Hidden: c.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
		Norm:        transformer.NormConfig{Eps: c.Eps},
	}, nil
}

var bertLayers = transformer.StackNames{Layers: "encoder.layer.%d.", Layer: transformer.LayerNames{
	Self: "attention.", SelfNorm: "attention.output.LayerNorm.",
	Attention: transformer.AttentionNames{
		Query: "self.query.", Key: "self.key.", Value: "self.value.", Out: "output.dense.", Distance: "self.distance_embedding.",
	},
	Feed:     transformer.FeedForwardNames{Up: "intermediate.dense.", Down: "output.dense."},
	FeedNorm: "output.LayerNorm.",
}}

func newBERT(c *Checkpoint) (*Model, error) {
	config := bertDefaults
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if config.Positions == "alibi" {
		return c.newJina2(config)
	}
	body := c.Loader.Under("embeddings.word_embeddings.weight", "bert.", "")
	b, err := c.loadBERT(config, body, 0)
	if err != nil {
		return nil, err
	}
	return c.bertHeads(&Model{Encoder: b}, body, b.Tokens, config)
}

// bertHeads adds the heads of BERT, which Nomic BERT has too.
func (c *Checkpoint) bertHeads(m *Model, body *transformer.Loader, words *transformer.Embedding, config bertConfig) (*Model, error) {
	dim, l := c.Config.Dim, c.Loader
	var pooler *transformer.Linear
	if body.Has("pooler.dense.weight") {
		pooler = c.pooler(m, body.At("pooler.dense."))
	}
	needed := func() *transformer.Linear { // an error names the tensor that is missing
		if pooler == nil {
			pooler = body.At("pooler.dense.").Linear(dim, dim, true)
		}
		return pooler
	}
	next := l.At("cls.seq_relationship.")
	nextSentence := func() error {
		m.Heads[HeadNextSentence] = &block.Head{Pool: block.PoolFirst, Dense: needed(), Act: block.Tanh, Last: next.Linear(dim, 2, true)}
		return nil
	}
	masked := func() (err error) {
		if pooler != nil && next.Has("weight") {
			_ = nextSentence()
		}
		l.Ignore("cls.seq_relationship.*")
		if l := l.At("cls.predictions."); l.Has("transform.dense.weight") {
			m.Heads[HeadMaskedLM], err = c.bertMaskedLM(l, words, config.Activation, config.Eps, config.Tied)
		}
		return err
	}
	return c.heads(m, ownHeads{
		"Model":          c.ignoring("cls.*"),
		"ForPreTraining": masked, "ForMaskedLM": masked,
		"ForNextSentencePrediction": nextSentence,
		"ForSequenceClassification": func() error {
			m.Heads[HeadClassifier] = c.sequenceLabels(needed(), block.Tanh, l.At("classifier."))
			return nil
		},
	})
}

// bertMaskedLM returns the head for masked words whose tensors l has.
func (c *Checkpoint) bertMaskedLM(l *transformer.Loader, words *transformer.Embedding, activation string, eps float32, tied bool) (Head, error) {
	act, err := c.doc.Activation("hidden_act", activation)
	if err != nil {
		return nil, err
	}
	norm := l.Under("weight", "transform.LayerNorm.", "transform.layer_norm.").Norm(transformer.NormConfig{Shape: []int{c.Config.Dim}, Eps: eps})
	return c.maskedWords(l.At("transform.dense."), c.Config.Dim, act, norm, c.vocabulary(l, words, tied)), nil
}

// loadBERT returns the encoder whose tensors body has, with first as the position of the first
// token; above 0 it is that after the padding token.
func (c *Checkpoint) loadBERT(config bertConfig, body *transformer.Loader, first int) (*block.TextEncoder, error) {
	layer, err := config.layer(c.doc)
	if err != nil {
		return nil, err
	}
	b := &block.TextEncoder{}
	if b.Mask, err = c.directed(); err != nil {
		return nil, err
	}
	if b.Embedder, err = c.bertEmbedder(config, body.At("embeddings."), config.Dim, first); err != nil {
		return nil, err
	}
	b.Layers = body.Stack(transformer.StackConfig{Layers: config.Layers, Layer: layer}, bertLayers)
	return b, nil
}

// directed returns the mask of BERT's encoder: causal where the configuration calls it a decoder.
func (c *Checkpoint) directed() (*transformer.Mask, error) {
	var says struct {
		Decoder bool `json:"is_decoder"`
	}
	if err := c.doc.Decode(&says); err != nil || !says.Decoder {
		return nil, err
	}
	return transformer.Causal(), nil
}

// bertEmbedder returns the embeddings of the given width whose tensors tables has; first is that of
// loadBERT.
func (c *Checkpoint) bertEmbedder(config bertConfig, tables *transformer.Loader, width, first int) (block.Embedder, error) {
	if config.MaxPositions <= first {
		return block.Embedder{}, c.doc.Errorf("max_position_embeddings", "the first position is %d", first)
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, config.MaxPositions-first
	e := block.Embedder{
		Tokens:    tables.At("word_embeddings.").Embedding(config.Vocab, width),
		First:     first,
		Padded:    first > 0,
		EmbedNorm: tables.At("LayerNorm.").Norm(transformer.NormConfig{Shape: []int{width}, Eps: config.Eps}),
	}
	if config.Types > 0 {
		e.Types = tables.At("token_type_embeddings.").Embedding(config.Types, width)
	}
	if config.Positions == "absolute" {
		e.Positions = tables.At("position_embeddings.").Embedding(config.MaxPositions, width)
	}
	return e, nil
}

// bertGGUFNames returns llama.cpp's names of BERT's tensors, and of those that Jina's version 2 has
// instead.
func bertGGUFNames(r *llamacpp.Reader) func(name string) string {
	return llamacpp.Names("encoder.layer.", map[string]string{
		"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
		"attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
		"intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
		"mlp.gated_layers": "ffn_up", "mlp.gate": "ffn_gate", "mlp.wo": "ffn_down", "mlp.layernorm": "layer_output_norm",
	}, llamacpp.Embeddings)
}
