package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// ELECTRA: Clark et al., 2020, "ELECTRA: Pre-training Text Encoders as Discriminators
// Rather Than Generators". It is BERT whose embeddings may be narrower than its layers,
// with heads of its own.

func init() { Register(newELECTRA, "electra") }

type electraConfig struct {
	bertConfig
	Width int `json:"embedding_size"`
}

func newELECTRA(c *Checkpoint) (*Model, error) {
	config := electraConfig{bertConfig: bertDefaults, Width: 128}
	config.Dim, config.Heads, config.Hidden = 256, 4, 1024
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c.doc)
	if err != nil {
		return nil, err
	}
	body := c.Loader.Under("embeddings.word_embeddings.weight", "electra.", "")
	mask, err := c.directed()
	if err != nil {
		return nil, err
	}
	e := &block.TextEncoder{Mask: mask, Layers: body.Stack(transformer.StackConfig{Layers: config.Layers, Layer: layer}, bertLayers)}
	if e.Embedder, err = c.bertEmbedder(config.bertConfig, body.At("embeddings."), config.Width, 0); err != nil {
		return nil, err
	}
	if config.Width != config.Dim {
		e.Project = body.At("embeddings_project.").Linear(config.Width, config.Dim, true)
	}
	return config.heads(c, &Model{Encoder: e}, e.Tokens)
}

// heads adds the checkpoint's heads.
func (config *electraConfig) heads(c *Checkpoint, m *Model, words *transformer.Embedding) (*Model, error) {
	l, dim := c.Loader, config.Dim
	switch c.Config.Head() {
	case "Model", "ForPreTraining": // the head that finds replaced tokens is needed only in training
		l.Ignore("discriminator_predictions.*", "generator_predictions.*", "generator_lm_head.*")
	case "ForMaskedLM":
		predictions := l.At("generator_predictions.")
		out := l.At("generator_lm_head.")
		h := &block.Head{
			Dense: predictions.At("dense.").Linear(dim, config.Width, true), Act: block.Activate(kernels.ActGELU),
			Norm: predictions.At("LayerNorm.").Norm(transformer.NormConfig{Shape: []int{config.Width}, Eps: config.Eps}),
		}
		if config.Tied {
			h.Last = out.Tied(words, out.Tensor("bias", config.Vocab))
		} else {
			h.Last = out.Linear(config.Width, config.Vocab, true)
		}
		m.MaskedLM = h
	case "ForSequenceClassification":
		classifier := l.At("classifier.")
		m.Classifier = &block.Head{
			Pool: block.PoolFirst, Dense: classifier.At("dense.").Linear(dim, dim, true), Act: block.Activate(kernels.ActGELU),
			Last: c.classify(classifier.At("out_proj."), dim, true),
		}
	case "ForTokenClassification":
		m.TokenClassifier = &block.Head{Last: c.classify(l.At("classifier."), dim, true)}
	case "ForQuestionAnswering":
		m.Answer = block.Answer(l, dim)
	default:
		return nil, c.unknownHead()
	}
	return m, nil
}
