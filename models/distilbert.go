package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// DistilBERT: Sanh et al., 2019, "DistilBERT, a distilled version of BERT". It is BERT without
// token types, by names of its own.

func init() { Register(newDistilBERT, "distilbert") }

type distilbertConfig struct {
	Vocab        int    `json:"vocab_size"`
	Dim          int    `json:"dim"`
	Layers       int    `json:"n_layers"`
	Heads        int    `json:"n_heads"`
	Hidden       int    `json:"hidden_dim"`
	Activation   string `json:"activation"`
	MaxPositions int    `json:"max_position_embeddings"`
	Tied         bool   `json:"tie_word_embeddings"`
}

var distilbertLayers = transformer.StackNames{Layers: "transformer.layer.%d.", Layer: transformer.LayerNames{
	Self: "attention.", SelfNorm: "sa_layer_norm.",
	Attention: transformer.AttentionNames{Query: "q_lin.", Key: "k_lin.", Value: "v_lin.", Out: "out_lin."},
	Feed:      transformer.FeedForwardNames{Up: "ffn.lin1.", Down: "ffn.lin2."},
	FeedNorm:  "output_layer_norm.",
}}

func newDistilBERT(c *Checkpoint) (*Model, error) {
	config := distilbertConfig{Vocab: 30522, Dim: 768, Layers: 6, Heads: 12, Hidden: 3072, Activation: "gelu", MaxPositions: 512, Tied: true}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("activation", config.Activation)
	if err != nil {
		return nil, err
	}
	if config.Dim%config.Heads != 0 {
		return nil, c.doc.Errorf("n_heads", "does not divide dim = %d", config.Dim)
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, config.MaxPositions

	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: 1e-12}
	body := c.Loader.Under("embeddings.word_embeddings.weight", "distilbert.", "")
	tables := body.At("embeddings.")
	b := &block.TextEncoder{
		Embedder: block.Embedder{
			Tokens:    tables.At("word_embeddings.").Embedding(config.Vocab, config.Dim),
			Positions: tables.At("position_embeddings.").Embedding(config.MaxPositions, config.Dim),
			EmbedNorm: tables.At("LayerNorm.").Norm(norm),
		},
		Layers: body.Stack(transformer.StackConfig{Layers: config.Layers, Layer: transformer.LayerConfig{
			Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, Bias: true, OutBias: true},
			FeedForward: transformer.FeedForwardConfig{Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
			Norm:        norm,
		}}, distilbertLayers),
	}
	m := &Model{Encoder: b}
	l, dim := c.Loader, config.Dim
	return c.heads(m, ownHeads{
		"Model": c.ignoring("vocab_*"),
		"ForMaskedLM": func() error {
			last, bias := (*transformer.Linear)(nil), l.Tensor("vocab_projector.bias", config.Vocab)
			if config.Tied {
				last = l.At("vocab_projector.").Tied(b.Tokens, bias)
			} else {
				last = l.LinearOf(dim, config.Vocab, l.Tensor("vocab_projector.weight", config.Vocab, dim), bias)
			}
			m.Heads[HeadMaskedLM] = c.maskedWords(l.At("vocab_transform."), dim, activation, l.At("vocab_layer_norm.").Norm(norm), last)
			return nil
		},
		"ForSequenceClassification": func() error {
			m.Heads[HeadClassifier] = c.sequenceLabels(l.At("pre_classifier.").Linear(dim, dim, true), block.Activate(kernels.ActReLU), l.At("classifier."))
			return nil
		},
	})
}
