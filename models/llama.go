package models

import (
	"fmt"

	"github.com/avoformer/avoformer/transformer"
)

// Llama: Touvron et al., 2023, "LLaMA: Open and Efficient Foundation Language Models".

func init() { Register(newLlama, "llama") }

type llamaConfig struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	KVHeads      int     `json:"num_key_value_heads" min:"0"`
	HeadDim      int     `json:"head_dim" min:"0"`
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	MaxPositions int     `json:"max_position_embeddings"`
	Eps          float32 `json:"rms_norm_eps"`
	Theta        float64 `json:"rope_theta"`
	Tied         bool    `json:"tie_word_embeddings"`
}

// llama is embedding, layers, normalization and projection.
type llama struct {
	words  *transformer.Embedding
	layers []*llamaLayer
	norm   *transformer.Norm
	logits *transformer.Linear // [vocabulary, D]
	mask   *transformer.Mask
}

type llamaLayer struct {
	attentionNorm *transformer.Norm
	attention     *transformer.MultiHeadAttention
	feedNorm      *transformer.Norm
	feed          *transformer.FeedForward
}

func newLlama(c *Checkpoint) (*Model, error) {
	config := llamaConfig{Activation: "silu", MaxPositions: 2048, Eps: 1e-6, Theta: 10000}
	if err := c.JSON.Decode(&config); err != nil {
		return nil, err
	}
	activation, err := c.JSON.Activation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = config.Vocab, config.Dim, config.Layers, config.MaxPositions
	attention := transformer.AttentionConfig{
		Dim: config.Dim, Heads: config.Heads, KVHeads: config.KVHeads, HeadDim: config.HeadDim,
		Rotary: &transformer.RotaryConfig{Pairing: transformer.PairHalves, Theta: config.Theta},
	}
	names := transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."}
	feed := transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Activation: activation, Gated: true}
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps, RMS: true}

	body := c.Loader.Under("embed_tokens.weight", "model.", "")
	m := &llama{
		words: body.At("embed_tokens.").Embedding(config.Vocab, config.Dim),
		norm:  body.At("norm.").Norm(norm),
		mask:  transformer.Causal(),
	}
	for i := 0; i < config.Layers && !c.Loader.Failed(); i++ {
		l := body.At("layers.%d.", i)
		m.layers = append(m.layers, &llamaLayer{
			attentionNorm: l.At("input_layernorm.").Norm(norm),
			attention:     l.At("self_attn.").Attention(attention, names),
			feedNorm:      l.At("post_attention_layernorm.").Norm(norm),
			feed:          l.At("mlp.").FeedForward(feed, transformer.FeedForwardNames{Gate: "gate_proj.", Up: "up_proj.", Down: "down_proj."}),
		})
	}
	if head := c.Loader.At("lm_head."); config.Tied {
		m.logits = head.Tied(m.words, nil)
	} else {
		m.logits = head.Linear(config.Dim, config.Vocab, false)
	}
	return &Model{LM: m}, nil
}

func (m *llama) Vocab() int                    { return m.words.Vocab }
func (m *llama) Dim() int                      { return m.words.Dim }
func (m *llama) NewCache(sequences int) *Cache { return transformer.NewCache(sequences, 0) }

func (m *llama) Hidden(ws *Workspace, dst []float32, tokens []int, batch Batch, memory *Memory, cache *Cache) error {
	if err := (Tokens{IDs: tokens, Batch: batch}).check(dst, m.words.Dim); err != nil {
		return err
	}
	if memory != nil {
		return fmt.Errorf("%w: memory for a model without cross-attention", transformer.ErrConfig)
	}
	if err := inOrder(cache.Begin(batch, len(m.layers)), m.words.Forward(ws, dst, tokens)); err != nil { // [rows, D]
		return err
	}
	for i, l := range m.layers {
		if err := l.forward(ws, dst, batch, m.mask, cache.Layer(i)); err != nil { // [rows, D]
			return err
		}
	}
	cache.End(batch)
	return m.norm.Forward(ws, dst, dst) // [rows, D]
}

// forward replaces x by the layer's output.
func (l *llamaLayer) forward(ws *Workspace, x []float32, batch Batch, mask *transformer.Mask, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	y := ws.Alloc(len(x))
	return inOrder(
		l.attentionNorm.Forward(ws, y, x), // y = norm(x)               [rows, D]
		l.attention.Forward(ws, x, transformer.AttentionInput{ // x += attention(y)   [rows, D]
			Query: y, Batch: batch, Mask: mask, Residual: x,
		}, cache),
		l.feedNorm.Forward(ws, y, x), // y = norm(x)               [rows, D]
		l.feed.Forward(ws, x, y, x),  // x += down(silu(gate(y)) * up(y))  [rows, D]
	)
}

func (m *llama) Logits(ws *Workspace, dst, x []float32) error { return m.logits.Forward(ws, dst, x) }
