package models

import (
	"slices"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// CLIP: Radford et al., 2021, "Learning Transferable Visual Models From Natural Language
// Supervision". Each of its towers is published on its own too.

func init() {
	Register(newCLIP, "clip")
	Register(newCLIPText, "clip_text_model")
	Register(newCLIPImage, "clip_vision_model")
	Describe(Traits{Use: UseImages, NoVectors: textsWithImages}, "clip")
	Describe(Traits{Use: UseImages}, "clip_vision_model")
	Describe(Traits{NoVectors: textsWithImages}, "clip_text_model")
}

// textsWithImages is why means of hidden states are not vectors of texts here.
const textsWithImages = "compares texts with images, by other vectors than means of hidden states"

type clipConfig struct {
	Projection int `json:"projection_dim"`
}

var clipDefaults = clipConfig{Projection: 512}

func newCLIP(c *Checkpoint) (*Model, error) {
	both := clipDefaults
	if err := c.doc.Decode(&both); err != nil {
		return nil, err
	}
	textDoc, imageDoc, err := block.TowerConfigs(c.doc)
	if err != nil {
		return nil, err
	}
	texts, end, err := c.clipText(textDoc, c.Loader.At("text_model."))
	if err != nil {
		return nil, err
	}
	images, pooled, err := c.clipImage(imageDoc, c.Loader.At("vision_model."))
	if err != nil {
		return nil, err
	}
	pooled.Last = c.Loader.At("visual_projection.").Linear(images.Dim(), both.Projection, false)
	return &Model{Encoder: texts, Image: images, Joint: &block.Joint{
		Text: texts, Image: images, ImageHead: pooled,
		TextHead: &block.Head{Pool: end, Last: c.Loader.At("text_projection.").Linear(c.Config.Dim, both.Projection, false)},
		Scale:    block.LogScale(c.Loader),
	}}, nil
}

// clipText returns the tower of texts that d describes, and what takes the hidden state of the
// token that ends a text, which has seen all of it.
func (c *Checkpoint) clipText(d configuration.Document, l *transformer.Loader) (*block.TextEncoder, block.Pooling, error) {
	tower := block.TowerConfig{Dim: 512, Layers: 12, Heads: 8, Hidden: 2048, Activation: "quick_gelu", Eps: 1e-5}
	words := block.TextTowerConfig{Vocab: 49408, MaxPositions: 77, EOS: 49407}
	if err := block.DecodeAll(d, &tower, &words); err != nil {
		return nil, nil, err
	}
	texts, err := block.LoadTextTower(tower, words, d, l)
	if err != nil {
		return nil, nil, err
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = words.Vocab, tower.Dim, tower.Layers, words.MaxPositions
	texts.Mask = transformer.Causal()
	return texts, block.PoolAt(func(tokens []int) int {
		if words.EOS == 2 { // what the first configurations said; it is the last token of the vocabulary
			return slices.Index(tokens, slices.Max(tokens))
		}
		return max(slices.Index(tokens, words.EOS), 0)
	}), nil
}

// clipImage returns the tower of images that d describes, and what pools its hidden states.
func (c *Checkpoint) clipImage(d configuration.Document, l *transformer.Loader) (*block.ImageTower, *block.Head, error) {
	tower := block.TowerConfig{Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "quick_gelu", Eps: 1e-5}
	pixels := block.ImageTowerConfig{Image: 224, Patch: 32, Channels: 3}
	if err := block.DecodeAll(d, &tower, &pixels); err != nil {
		return nil, nil, err
	}
	images, err := block.LoadImageTower(tower, pixels, d, l, true)
	if err != nil {
		return nil, nil, err
	}
	images.Before = l.At("pre_layrnorm.").Norm(tower.Norm())
	return images, &block.Head{Pool: block.PoolFirst, Norm: l.At("post_layernorm.").Norm(tower.Norm()), Dim: tower.Dim}, nil
}

// newCLIPText returns only the tower of texts. Its Pooler gives the hidden state of the token that
// ends a text, projected where the checkpoint says so.
func newCLIPText(c *Checkpoint) (*Model, error) {
	projected := clipDefaults
	if err := c.doc.Decode(&projected); err != nil {
		return nil, err
	}
	texts, end, err := c.clipText(c.doc, c.Loader.Under("embeddings.token_embedding.weight", "text_model.", ""))
	if err != nil {
		return nil, err
	}
	pooled := &block.Head{Pool: end, Dim: c.Config.Dim}
	if l := c.Loader.At("text_projection."); l.Has("weight") {
		pooled.Last = l.Linear(c.Config.Dim, projected.Projection, false)
	}
	return &Model{Encoder: texts, Heads: Heads{HeadPooler: pooled}}, nil
}

// newCLIPImage returns only the tower of images. Its ImagePooler gives the normalized hidden state
// of the class token, projected where the checkpoint says so.
func newCLIPImage(c *Checkpoint) (*Model, error) {
	projected := clipDefaults
	if err := c.doc.Decode(&projected); err != nil {
		return nil, err
	}
	images, pooled, err := c.clipImage(c.doc, c.Loader.Under("embeddings.class_embedding", "vision_model.", ""))
	if err != nil {
		return nil, err
	}
	c.Config.Dim, c.Config.Layers = images.Dim(), images.Depth
	if l := c.Loader.At("visual_projection."); l.Has("weight") {
		pooled.Last = l.Linear(images.Dim(), projected.Projection, false)
	}
	return &Model{Image: images, Heads: Heads{HeadImagePooler: pooled}}, nil
}
