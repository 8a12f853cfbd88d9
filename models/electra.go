package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// ELECTRA: Clark et al., 2020, "ELECTRA: Pre-training Text Encoders as Discriminators Rather Than
// Generators". It is BERT whose embeddings may be narrower than its layers, with heads of its own.

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
	l := c.Loader
	// The head that finds replaced tokens is needed only in training.
	none := c.ignoring("discriminator_predictions.*", "generator_predictions.*", "generator_lm_head.*")
	return c.heads(m, ownHeads{
		"Model": none, "ForPreTraining": none,
		"ForMaskedLM": func() error {
			predictions, out := l.At("generator_predictions."), l.At("generator_lm_head.")
			norm := predictions.At("LayerNorm.").Norm(transformer.NormConfig{Shape: []int{config.Width}, Eps: config.Eps})
			m.Heads[HeadMaskedLM] = c.maskedWords(predictions.At("dense."), config.Width, kernels.ActGELU, norm, c.projection(out, words, config.Width, config.Tied))
			return nil
		},
		"ForSequenceClassification": func() error {
			classifier := l.At("classifier.")
			m.Heads[HeadClassifier] = c.sequenceLabels(classifier.At("dense.").Linear(config.Dim, config.Dim, true), block.Activate(kernels.ActGELU), classifier.At("out_proj."))
			return nil
		},
	})
}
