package models

import (
	"math"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// GPT-2: Radford et al., 2019, "Language Models are Unsupervised Multitask Learners".

func init() { Register(newGPT2, "gpt2") }

type gpt2Config struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"n_embd"`
	Layers       int     `json:"n_layer"`
	Heads        int     `json:"n_head"`
	Hidden       int     `json:"n_inner" min:"0"` // 0: 4*Dim
	Activation   string  `json:"activation_function"`
	MaxPositions int     `json:"n_positions"`
	Eps          float32 `json:"layer_norm_epsilon"`
	Tied         bool    `json:"tie_word_embeddings"`
	ScaleScores  bool    `json:"scale_attn_weights"`
	ByLayer      bool    `json:"scale_attn_by_inverse_layer_idx"`
}

// gpt2Layer is the names of a layer's tensors. Its linear layers are stored [in, out].
var gpt2Layer = transformer.LayerNames{
	Self: "attn.", Attention: transformer.AttentionNames{Packed: "c_attn.", Out: "c_proj."}, SelfNorm: "ln_1.",
	Feed: transformer.FeedForwardNames{Up: "mlp.c_fc.", Down: "mlp.c_proj."}, FeedNorm: "ln_2.",
}

func newGPT2(c *Checkpoint) (*Model, error) {
	config := gpt2Config{Vocab: 50257, Dim: 768, Layers: 12, Heads: 12, Activation: "gelu_new", MaxPositions: 1024, Eps: 1e-5, Tied: true, ScaleScores: true}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("activation_function", config.Activation)
	if err != nil {
		return nil, err
	}
	if config.Dim%config.Heads != 0 {
		return nil, c.doc.Errorf("n_head", "does not divide n_embd = %d", config.Dim)
	}
	if config.Hidden == 0 {
		config.Hidden = 4 * config.Dim
	}
	layer := transformer.LayerConfig{
		Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, Bias: true, OutBias: true},
		FeedForward: transformer.FeedForwardConfig{Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
		Norm:        transformer.NormConfig{Eps: config.Eps},
		NormFirst:   true,
	}
	scale := float32(1)
	if config.ScaleScores {
		scale = float32(1 / math.Sqrt(float64(config.Dim/config.Heads)))
	}

	body := c.Loader.Under("wte.weight", "transformer.", "")
	d := &block.Decoder{
		Embedder: block.Embedder{
			Tokens:    body.At("wte.").Embedding(config.Vocab, config.Dim),
			Positions: body.At("wpe.").Embedding(config.MaxPositions, config.Dim),
		},
		Norm: body.At("ln_f.").Norm(transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}),
	}
	for i := 0; i < config.Layers && !c.Loader.Stopped(); i++ {
		layer.Self.Scale = scale
		if config.ByLayer {
			layer.Self.Scale /= float32(i + 1)
		}
		d.Add(body.At("h.%d.", i).Transposed().Layer(layer, gpt2Layer), 0)
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, config.MaxPositions
	return c.decoderModel(d, config.Tied)
}
