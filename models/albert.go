package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// ALBERT: Lan et al., 2020, "ALBERT: A Lite BERT for Self-supervised Learning of Language
// Representations". It is BERT with embeddings narrower than its layers, and with layers that share
// their weights.

func init() { Register(newALBERT, "albert") }

type albertConfig struct {
	bertConfig
	Width  int `json:"embedding_size"`
	Groups int `json:"num_hidden_groups"` // of layers that share weights
	Inner  int `json:"inner_group_num"`   // layers one after the other in place of one
}

var albertLayer = transformer.LayerNames{
	Self: "attention.", SelfNorm: "attention.LayerNorm.",
	Attention: transformer.AttentionNames{Query: "query.", Key: "key.", Value: "value.", Out: "dense."},
	Feed:      transformer.FeedForwardNames{Up: "ffn.", Down: "ffn_output."},
	FeedNorm:  "full_layer_layer_norm.",
}

func newALBERT(c *Checkpoint) (*Model, error) {
	config := albertConfig{bertConfig: bertDefaults, Width: 128, Groups: 1, Inner: 1}
	config.Vocab, config.Dim, config.Heads, config.Hidden, config.Activation = 30000, 4096, 64, 16384, "gelu_new"
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	const mostLayers = 1 << 12 // each takes time, and none needs weights of its own
	if config.Layers > mostLayers/config.Inner {
		return nil, c.doc.Errorf("num_hidden_layers", "want at most %d together with inner_group_num = %d", mostLayers, config.Inner)
	}
	if config.Positions != "absolute" {
		return nil, c.doc.Errorf("position_embedding_type", "want absolute")
	}
	layer, err := config.layer(c.doc)
	if err != nil {
		return nil, err
	}
	body := c.Loader.Under("embeddings.word_embeddings.weight", "albert.", "")
	e := &block.TextEncoder{Layers: config.stack(c, body.At("encoder."), layer)}
	if e.Embedder, err = c.bertEmbedder(config.bertConfig, body.At("embeddings."), config.Width, 0); err != nil {
		return nil, err
	}
	e.Project = body.At("encoder.embedding_hidden_mapping_in.").Linear(config.Width, config.Dim, true)
	return config.heads(c, &Model{Encoder: e}, body, e.Tokens)
}

// stack returns the layers in the order in which they are passed; a layer may be there several
// times.
func (config *albertConfig) stack(c *Checkpoint, l *transformer.Loader, layer transformer.LayerConfig) *transformer.Stack {
	var groups [][]*transformer.Layer // [groups, inner]
	for g := 0; g < config.Groups && !c.Loader.Stopped(); g++ {
		var inner []*transformer.Layer
		for i := 0; i < config.Inner && !c.Loader.Stopped(); i++ {
			inner = append(inner, l.At("albert_layer_groups.%d.albert_layers.%d.", g, i).Layer(layer, albertLayer))
		}
		groups = append(groups, inner)
	}
	if c.Loader.Failed() {
		return nil
	}
	s := &transformer.Stack{Dim: config.Dim}
	each := float64(config.Layers) / float64(config.Groups)
	for i := range config.Layers {
		s.Layers = append(s.Layers, groups[int(float64(i)/each)]...)
	}
	return s
}

// heads adds the checkpoint's heads.
func (config *albertConfig) heads(c *Checkpoint, m *Model, body *transformer.Loader, words *transformer.Embedding) (*Model, error) {
	l := c.Loader
	name, pooler := c.Config.Head(), (*transformer.Linear)(nil)
	if name == "ForSequenceClassification" || body.Has("pooler.weight") {
		pooler = c.pooler(m, body.At("pooler."))
	}
	masked := func() error {
		l.Ignore("sop_classifier.*") // which of two texts is first, not whether one follows the other
		act, err := c.doc.Activation("hidden_act", config.Activation)
		if err != nil {
			return err
		}
		predictions := l.At("predictions.")
		norm := predictions.At("LayerNorm.").Norm(transformer.NormConfig{Shape: []int{config.Width}, Eps: config.Eps})
		m.Heads[HeadMaskedLM] = c.maskedWords(predictions.At("dense."), config.Width, act, norm, c.vocabulary(predictions, words, config.Tied))
		return nil
	}
	return c.heads(m, ownHeads{
		"Model":          c.ignoring("predictions.*", "sop_classifier.*"),
		"ForPreTraining": masked, "ForMaskedLM": masked,
		"ForSequenceClassification": func() error {
			m.Heads[HeadClassifier] = c.sequenceLabels(pooler, block.Tanh, l.At("classifier."))
			return nil
		},
	})
}
