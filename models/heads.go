package models

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// The heads of encoders: what the families of BERT have in common.

// ownHeads add the heads that a family has of its own, by the end of the class's name.
type ownHeads map[string]func() error

// heads adds the heads of a checkpoint: the family's own, or those that all families have, for labels of tokens and for
// answers to questions.
func (c *Checkpoint) heads(m *Model, own ownHeads) (*Model, error) {
	name := c.Config.Head()
	if add, ok := own[name]; ok {
		if err := add(); err != nil {
			return nil, err
		}
		return m, nil
	}
	switch name {
	case "Model":
	case "ForTokenClassification":
		m.Heads[HeadTokenClassifier] = &block.Head{Last: c.classify(c.Loader.At("classifier."), c.Config.Dim, true)}
	case "ForQuestionAnswering":
		m.Heads[HeadAnswer] = block.Answer(c.Loader, c.Config.Dim)
	default:
		return nil, c.unknownHead()
	}
	return m, nil
}

// ignoring is a head that needs no tensors, and leaves those of other heads alone.
func (c *Checkpoint) ignoring(patterns ...string) func() error {
	return func() error {
		c.Loader.Ignore(patterns...)
		return nil
	}
}

// pooler adds the head for the pooler_output, whose dense layer l has, and returns the layer.
func (c *Checkpoint) pooler(m *Model, l *transformer.Loader) *transformer.Linear {
	dense := l.Linear(c.Config.Dim, c.Config.Dim, true)
	m.Heads[HeadPooler] = &block.Head{Pool: block.PoolFirst, Dense: dense, Act: block.Tanh}
	return dense
}

// sequenceLabels is the head for labels of sequences: the hidden state of the first token goes through a dense layer, an
// activation and the layer that l has.
func (c *Checkpoint) sequenceLabels(dense *transformer.Linear, act func(t kernels.Threads, x []float32), l *transformer.Loader) Head {
	return &block.Head{Pool: block.PoolFirst, Dense: dense, Act: act, Last: c.classify(l, c.Config.Dim, true)}
}

// maskedWords is the head for masked words: a dense layer to some width, an activation, a normalization, and the layer to
// the vocabulary.
func (c *Checkpoint) maskedWords(dense *transformer.Loader, width int, act kernels.Activation, norm *transformer.Norm, last *transformer.Linear) Head {
	return &block.Head{Dense: dense.Linear(c.Config.Dim, width, true), Act: block.Activate(act), Norm: norm, Last: last}
}

// projection is the layer to the vocabulary in l, which has a bias. Its weight is the embedding where the two are tied.
func (c *Checkpoint) projection(l *transformer.Loader, words *transformer.Embedding, width int, tied bool) *transformer.Linear {
	if tied {
		return l.Tied(words, l.Tensor("bias", c.Config.Vocab))
	}
	return l.Linear(width, c.Config.Vocab, true)
}
