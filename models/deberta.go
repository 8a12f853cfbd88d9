package models

import (
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// DeBERTa 2 and 3: He et al., 2021, "DeBERTa: Decoding-enhanced BERT with Disentangled Attention",
// and 2023, "DeBERTaV3: Improving DeBERTa using ELECTRA-Style Pre-Training with
// Gradient-Disentangled Embedding Sharing". BERT whose scores have, besides the product of query
// and key, those of each with a vector for their distance.

func init() { Register(newDeBERTa, "deberta-v2") }

type debertaConfig struct {
	Vocab        int     `json:"vocab_size"`
	Dim          int     `json:"hidden_size"`
	Layers       int     `json:"num_hidden_layers"`
	Heads        int     `json:"num_attention_heads"`
	Hidden       int     `json:"intermediate_size"`
	Activation   string  `json:"hidden_act"`
	MaxPositions int     `json:"max_position_embeddings"`
	Types        int     `json:"type_vocab_size" min:"0"`
	Eps          float32 `json:"layer_norm_eps"`
	Tied         bool    `json:"tie_word_embeddings"`

	Relative    bool                 `json:"relative_attention"`
	Reach       int                  `json:"max_relative_positions" min:"-1"` // below 1: MaxPositions
	Buckets     int                  `json:"position_buckets" min:"-1"`       // below 1: one for each distance
	ShareKey    bool                 // distances take the projections of the tokens
	Kinds       pyjson.OneOr[string] `json:"pos_att_type"`
	NormDist    string               `json:"norm_rel_ebd"`
	Absolute    bool                 `json:"position_biased_input"`
	HeadDim     int                  `json:"attention_head_size" min:"0"` // 0: absent, as in the two below
	Width       int                  `json:"embedding_size" min:"0"`
	PoolWidth   int                  `json:"pooler_hidden_size" min:"0"`
	PoolAct     string               `json:"pooler_hidden_act"`
	Convolution int                  `json:"conv_kernel_size" min:"0"`
	Legacy      bool                 `json:"legacy"`
}

// read decodes and completes the configuration.
func (config *debertaConfig) read(d configuration.Document) error {
	*config = debertaConfig{
		Vocab: 128100, Dim: 1536, Layers: 24, Heads: 24, Hidden: 6144, Activation: "gelu", MaxPositions: 512, Eps: 1e-7, Tied: true,
		Reach: -1, Buckets: -1, NormDist: "none", Absolute: true, PoolAct: "gelu", Legacy: true,
	}
	if err := d.Decode(config); err != nil {
		return err
	}
	config.ShareKey = d.Truth("share_att_key", false)
	if config.Dim%config.Heads != 0 {
		return d.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	}
	for _, f := range []struct {
		name       string
		have, want int
	}{
		{"attention_head_size", config.HeadDim, config.Dim / config.Heads}, {"embedding_size", config.Width, config.Dim},
		{"conv_kernel_size", config.Convolution, 0},
	} {
		if f.have != 0 && f.have != f.want || f.have == 0 && d.Has(f.name) && f.want != 0 {
			return d.Errorf(f.name, "not supported by this model_type, want %d", f.want)
		}
	}
	if len(config.Kinds) == 1 { // one string has all of them
		config.Kinds = strings.Split(strings.ToLower(config.Kinds[0]), "|")
	}
	for i, kind := range config.Kinds {
		if config.Kinds[i] = strings.TrimSpace(kind); config.Kinds[i] != "c2p" && config.Kinds[i] != "p2c" {
			return d.Errorf("pos_att_type", "want c2p and p2c")
		}
	}
	slices.Sort(config.Kinds)
	config.Kinds = slices.Compact(config.Kinds)
	config.NormDist = strings.ToLower(config.NormDist)
	if config.NormDist != "none" && config.NormDist != "layer_norm" {
		return d.Errorf("norm_rel_ebd", "want none or layer_norm")
	}
	if config.Reach < 1 {
		config.Reach = config.MaxPositions
	}
	if half := config.Buckets / 2; config.Buckets > 0 && (half == 0 || config.Reach-1 <= half) {
		return d.Errorf("position_buckets", "want at least 2, and half of them less than the %d distances before the last", config.Reach-1)
	}
	return nil
}

type deberta struct {
	block.Embedder
	layers    []debertaLayer
	distances *block.Distances // nil: none
}

func newDeBERTa(c *Checkpoint) (*Model, error) {
	var config debertaConfig
	if err := config.read(c.doc); err != nil {
		return nil, err
	}
	activation, sharpness, err := c.doc.FeedActivation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	body := c.Loader.Under("embeddings.word_embeddings.weight", "deberta.", "")
	positions := "none"
	if config.Absolute {
		positions = "absolute"
	}
	embeddings, err := c.bertEmbedder(bertConfig{
		Vocab: config.Vocab, Dim: config.Dim, Layers: config.Layers, MaxPositions: config.MaxPositions, Types: config.Types, Eps: config.Eps, Positions: positions,
	}, body.At("embeddings."), config.Dim, 0)
	if err != nil {
		return nil, err
	}
	body.Ignore("embeddings.position_embeddings.weight") // published where they are not used
	m := &deberta{Embedder: embeddings}
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	if config.Relative {
		m.distances = config.distances(body.At("encoder."), norm)
	} else {
		body.Ignore("encoder.LayerNorm.*")
	}
	for i := 0; i < config.Layers && !c.Loader.Stopped(); i++ {
		l := body.At("encoder.layer.%d.", i)
		m.layers = append(m.layers, debertaLayer{
			attention:     config.attention(l.At("attention.")),
			attentionNorm: l.At("attention.output.LayerNorm.").Norm(norm),
			feed: l.FeedForward(transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
				bertLayers.Layer.Feed),
			feedNorm: l.At("output.LayerNorm.").Norm(norm),
		})
	}
	return config.heads(c, &Model{Encoder: m}, m.Tokens, norm)
}

// distances returns the distances whose tensors l has.
func (config *debertaConfig) distances(l *transformer.Loader, norm transformer.NormConfig) *block.Distances {
	t := &block.Distances{Span: config.Reach, Buckets: config.Buckets, Reach: config.Reach}
	if t.Buckets > 0 {
		t.Span = t.Buckets
	}
	t.Weight = l.Tensor("rel_embeddings.weight", 2*t.Span, config.Dim)
	if config.NormDist == "layer_norm" {
		t.Norm = l.At("LayerNorm.").Norm(norm)
	}
	return t
}

// heads adds the checkpoint's heads.
func (config *debertaConfig) heads(c *Checkpoint, m *Model, words *transformer.Embedding, norm transformer.NormConfig) (*Model, error) {
	l, dim := c.Loader, config.Dim
	l.Ignore("mask_predictions.*")
	return c.heads(m, ownHeads{
		"Model": c.ignoring("cls.*", "lm_predictions.*"),
		"ForMaskedLM": func() (err error) {
			if config.Legacy {
				m.Heads[HeadMaskedLM], err = c.bertMaskedLM(l.At("cls.predictions."), words, config.Activation, config.Eps, config.Tied)
				return err
			}
			act, err := c.doc.Activation("hidden_act", config.Activation)
			if err != nil {
				return err
			}
			l := l.At("lm_predictions.lm_head.")
			m.Heads[HeadMaskedLM] = c.maskedWords(l.At("dense."), dim, act, l.At("LayerNorm.").Norm(norm), l.At("decoder.").Tied(words, l.Tensor("bias", config.Vocab)))
			return nil
		},
		"ForSequenceClassification": func() error {
			if c.doc.Has("pooler_hidden_size") && config.PoolWidth != dim {
				return c.doc.Errorf("pooler_hidden_size", "not supported by this model_type, want %d", dim)
			}
			act, err := c.doc.Activation("pooler_hidden_act", config.PoolAct)
			if err != nil {
				return err
			}
			m.Heads[HeadClassifier] = c.sequenceLabels(l.At("pooler.dense.").Linear(dim, dim, true), block.Activate(act), l.At("classifier."))
			return nil
		},
	})
}

// BothWays implements textEncoder.
func (m *deberta) BothWays() bool { return true }

func (m *deberta) Encode(ws *Workspace, dst []float32, in Tokens) error {
	if err := m.Embed(ws, dst, in, nil); err != nil { // [rows, D]
		return err
	}
	defer ws.Release(ws.Mark())
	near, err := m.distances.Nearby(ws, in.Batch.MaxLength(), m.Dim()) // [n, D]
	if err != nil {
		return err
	}
	for i := range m.layers {
		if err := m.layers[i].forward(ws, dst, in.Batch, near); err != nil { // [rows, D]
			return err
		}
	}
	return nil
}

type debertaLayer struct {
	attention     *block.Disentangled
	attentionNorm *transformer.Norm
	feed          *transformer.FeedForward
	feedNorm      *transformer.Norm
}

// forward replaces x by the layer's output.
func (l *debertaLayer) forward(ws *Workspace, x []float32, batch Batch, near *block.Nearby) error {
	defer ws.Release(ws.Mark())
	y := ws.Alloc(len(x))                                              // [rows, D]
	if err := l.attention.Forward(ws, y, x, batch, near); err != nil { // y = x + attention(x)  [rows, D]
		return err
	}
	if err := l.attentionNorm.Forward(ws, x, y); err != nil { // x = norm(y)  [rows, D]
		return err
	}
	if err := l.feed.Forward(ws, y, x, x); err != nil { // y = x + feed(x)  [rows, D]
		return err
	}
	return l.feedNorm.Forward(ws, x, y) // x = norm(y)  [rows, D]
}

// attention is that whose tensors l has.
func (config *debertaConfig) attention(l *transformer.Loader) *block.Disentangled {
	dim, self := config.Dim, l.At("self.")
	a := &block.Disentangled{
		Query: self.At("query_proj.").Linear(dim, dim, true), Key: self.At("key_proj.").Linear(dim, dim, true), Value: self.At("value_proj.").Linear(dim, dim, true),
		Out: l.At("output.dense.").Linear(dim, dim, true),
	}
	products := 1 + len(config.Kinds)
	for _, kind := range config.Kinds {
		to, shared, name := &a.KeyDistance, a.Key, "pos_key_proj."
		if kind == "p2c" {
			to, shared, name = &a.QueryDistance, a.Query, "pos_query_proj."
		}
		switch {
		case !config.Relative:
		case config.ShareKey:
			*to = shared
		default:
			*to = self.At(name).Linear(dim, dim, true)
		}
	}
	headDim := dim / config.Heads
	a.Core = transformer.Attention{Heads: config.Heads, HeadDim: headDim, Scale: float32(1 / math.Sqrt(float64(headDim*products)))}
	return a
}
