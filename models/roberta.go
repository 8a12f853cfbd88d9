package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// RoBERTa: Liu et al., 2019, "RoBERTa: A Robustly Optimized BERT Pretraining
// Approach"; and XLM-RoBERTa: Conneau et al., 2020, "Unsupervised Cross-lingual
// Representation Learning at Scale". They are BERT with other heads, and with
// positions that begin after the number of the padding token.

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
		m.Pooler = &block.Head{Pool: block.PoolFirst, Dense: body.At("pooler.dense.").Linear(dim, dim, true), Act: block.Tanh}
	}
	classifier, lm := c.Loader.At("classifier."), c.Loader.At("lm_head.")
	switch c.Config.Head() {
	case "Model":
		c.Loader.Ignore("lm_head.*")
	case "ForMaskedLM":
		if !lm.Has("dense.weight") {
			break // sentence-transformers publishes encoders as what they were made from
		}
		m.MaskedLM = &block.Head{
			Dense: lm.At("dense.").Linear(dim, dim, true), Act: block.Activate(kernels.ActGELU),
			Norm: lm.At("layer_norm.").Norm(transformer.NormConfig{Shape: []int{dim}, Eps: eps}),
			Last: c.vocabulary(lm, words, tied),
		}
	case "ForSequenceClassification":
		m.Classifier = &block.Head{
			Pool: block.PoolFirst, Dense: classifier.At("dense.").Linear(dim, dim, true), Act: block.Tanh,
			Last: c.classify(classifier.At("out_proj."), dim, true),
		}
	case "ForTokenClassification":
		m.TokenClassifier = &block.Head{Last: c.classify(classifier, dim, true)}
	case "ForQuestionAnswering":
		m.Answer = block.Answer(c.Loader, dim)
	default:
		return nil, c.unknownHead()
	}
	return m, nil
}
