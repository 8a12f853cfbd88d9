package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// EuroBERT: Boizard et al., 2025, "EuroBERT: Scaling Multilingual Encoders for European Languages".
// It is Llama whose tokens see those after them too.

func init() {
	Register(newEuroBERT, "eurobert")
	registerGGUF("eurobert", llamacpp.Architecture{Encoder: true, Groups: true, Read: func(r *llamacpp.Reader) {
		r.Number("rms_norm_eps", "attention.layer_norm_rms_epsilon", true)
		r.Integer("num_key_value_heads", "attention.head_count_kv", false)
		r.Fields["rope_theta"] = r.NumberOf("rope.freq_base", 10000)
		r.Rope()
	}})
}

type eurobertConfig struct {
	llamaConfig
	Pooling string `json:"classifier_pooling"`
}

func newEuroBERT(c *Checkpoint) (*Model, error) {
	config := eurobertConfig{llamaConfig: llamaConfig{llamaFields: llamaDefaults}, Pooling: "late"}
	config.Vocab, config.Dim, config.Hidden, config.Layers, config.Heads, config.Eps, config.MaxPositions = 128256, 768, 3072, 12, 12, 1e-5, 8192
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if config.Dim%config.Heads != 0 {
		return nil, c.doc.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias, layer.FeedForward.Bias = config.Bias, config.Bias, config.MLPBias
	d := c.llamaDecoder(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return l.Layer(layer, llamaLayer), 0
	})
	clear(d.Masks) // tokens see all
	return config.heads(c, &Model{Encoder: block.CausalEncoder{Model: d}}, d.Tokens)
}

// heads adds the checkpoint's heads.
func (config *eurobertConfig) heads(c *Checkpoint, m *Model, words *transformer.Embedding) (*Model, error) {
	l, dim := c.Loader, config.Dim
	return c.heads(m, ownHeads{
		"Model": c.ignoring("lm_head.*"),
		"ForMaskedLM": func() error {
			if lm := l.At("lm_head."); config.Tied {
				m.Heads[HeadMaskedLM] = &block.Head{Last: lm.Tied(words, lm.Optional(config.MLPBias, "bias", config.Vocab))}
			} else {
				m.Heads[HeadMaskedLM] = &block.Head{Last: lm.Linear(dim, config.Vocab, config.MLPBias)}
			}
			return nil
		},
		"ForSequenceClassification": func() error {
			pool, ok := map[string]block.Pooling{"bos": block.PoolFirst, "mean": block.PoolMean, "late": block.PoolMean}[config.Pooling]
			if !ok {
				return c.doc.Errorf("classifier_pooling", "want bos, mean or late")
			}
			dense, act, out := l.At("dense.").Linear(dim, dim, true), block.Activate(kernels.ActGELU), c.classify(l.At("classifier."), dim, true)
			if config.Pooling == "late" {
				m.Heads[HeadClassifier] = &lateHead{rows: &block.Head{Dense: dense, Act: act}, texts: &block.Head{Pool: pool, Last: out}, dim: dim}
			} else {
				m.Heads[HeadClassifier] = &block.Head{Pool: pool, Dense: dense, Act: act, Last: out}
			}
			return nil
		},
		"ForQuestionAnswering": c.unknownHead, // there is no such class
	})
}

// lateHead is a head that pools what another makes of each row. The mean of logits is the logits of
// the mean.
type lateHead struct {
	rows, texts *block.Head
	dim         int // of a row
}

func (h *lateHead) Out() int { return h.texts.Out() }

func (h *lateHead) Forward(ws *Workspace, dst, x []float32, in Tokens) error {
	defer ws.Release(ws.Mark())
	y := ws.Alloc(in.Batch.Rows() * h.dim)               // [rows, D]
	if err := h.rows.Forward(ws, y, x, in); err != nil { // [rows, D]
		return err
	}
	return h.texts.Forward(ws, dst, y, in) // [sequences, labels]
}
