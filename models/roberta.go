package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// RoBERTa: Liu et al., 2019, "RoBERTa: A Robustly Optimized BERT Pretraining Approach"; and
// XLM-RoBERTa: Conneau et al., 2020, "Unsupervised Cross-lingual Representation Learning at Scale".
// They are BERT with other heads, and with positions that begin after the number of the padding
// token.

func init() { Register(newRoBERTa, "roberta", "xlm-roberta", "camembert") }

func newRoBERTa(c *Checkpoint) (*Model, error) {
	config := bertDefaults
	config.Vocab, config.Pad = 50265, 1
	if c.Config.ModelType != "roberta" {
		config.Vocab = 30522
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	body := c.Loader.Under("embeddings.word_embeddings.weight", "roberta.", "")
	b, err := c.loadBERT(config, body, config.Pad+1)
	if err != nil {
		return nil, err
	}
	return c.robertaHeads(&Model{Encoder: b}, body, b.Tokens, config.Eps, config.Tied)
}

// robertaHeads adds the heads of RoBERTa, which MPNet has too.
func (c *Checkpoint) robertaHeads(m *Model, body *transformer.Loader, words *transformer.Embedding, eps float32, tied bool) (*Model, error) {
	dim := c.Config.Dim
	if body.Has("pooler.dense.weight") {
		c.pooler(m, body.At("pooler.dense."))
	}
	classifier, lm := c.Loader.At("classifier."), c.Loader.At("lm_head.")
	return c.heads(m, ownHeads{
		"Model": c.ignoring("lm_head.*"),
		"ForMaskedLM": func() error {
			if lm.Has("dense.weight") { // sentence-transformers publishes encoders under the class that they were made from
				norm := lm.At("layer_norm.").Norm(transformer.NormConfig{Shape: []int{dim}, Eps: eps})
				m.Heads[HeadMaskedLM] = c.maskedWords(lm.At("dense."), dim, kernels.ActGELU, norm, c.vocabulary(lm, words, tied))
			}
			return nil
		},
		"ForSequenceClassification": func() error {
			m.Heads[HeadClassifier] = c.sequenceLabels(classifier.At("dense.").Linear(dim, dim, true), block.Tanh, classifier.At("out_proj."))
			return nil
		},
	})
}
