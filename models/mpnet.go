package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// MPNet: Song et al., 2020, "MPNet: Masked and Permuted Pre-training for Language Understanding".
// It is RoBERTa without token types, with a bias on the scores that depends on the distance of
// query and key and that all layers share.

func init() { Register(newMPNet, "mpnet") }

type mpnetConfig struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	MaxPositions int     `json:"max_position_embeddings"`
	Eps          float32 `json:"layer_norm_eps"`
	Buckets      int     `json:"relative_attention_num_buckets" min:"32"`
	Tied         bool    `json:"tie_word_embeddings"`
}

var mpnetLayers = transformer.StackNames{Layers: "encoder.layer.%d.", Layer: transformer.LayerNames{
	Self: "attention.", SelfNorm: "attention.LayerNorm.",
	Attention: transformer.AttentionNames{Query: "attn.q.", Key: "attn.k.", Value: "attn.v.", Out: "attn.o."},
	Feed:      transformer.FeedForwardNames{Up: "intermediate.dense.", Down: "output.dense."},
	FeedNorm:  "output.LayerNorm.",
}}

func newMPNet(c *Checkpoint) (*Model, error) {
	config := mpnetConfig{
		Vocab: 30527, Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "gelu", MaxPositions: 512, Eps: 1e-12, Buckets: 32, Tied: true,
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	const (
		buckets, maxDistance = 32, 128 // whatever size the table of biases has
		first                = 2       // position, whatever the number of the padding token
	)
	if config.MaxPositions <= first {
		return nil, c.doc.Errorf("max_position_embeddings", "the first position is %d", first)
	}
	if config.Dim%config.Heads != 0 {
		return nil, c.doc.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, config.MaxPositions-first

	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	body := c.Loader.Under("embeddings.word_embeddings.weight", "mpnet.", "")
	tables := body.At("embeddings.")
	b := &block.TextEncoder{
		Embedder: block.Embedder{
			Tokens:    tables.At("word_embeddings.").Embedding(config.Vocab, config.Dim),
			Positions: tables.At("position_embeddings.").Embedding(config.MaxPositions, config.Dim),
			First:     first,
			Padded:    true,
			EmbedNorm: tables.At("LayerNorm.").Norm(norm),
		},
		Layers: body.Stack(transformer.StackConfig{Layers: config.Layers, Layer: transformer.LayerConfig{
			Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, Bias: true, OutBias: true},
			FeedForward: transformer.FeedForwardConfig{Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
			Norm:        norm,
		}}, mpnetLayers),
		Bias: &block.RelativeBias{
			Weight: body.Tensor("encoder.relative_attention_bias.weight", config.Buckets, config.Heads),
			Heads:  config.Heads, Buckets: buckets, MaxDistance: maxDistance, BothWays: true,
		},
	}
	return c.robertaHeads(&Model{Encoder: b}, body, b.Tokens, config.Eps, config.Tied)
}
