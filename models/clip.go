package models

import "github.com/avoformer/avoformer/transformer"

// CLIP: Radford et al., 2021, "Learning Transferable Visual Models From Natural Language
// Supervision".

func init() { Register(newCLIP, "clip") }

type clipConfig struct {
	Projection int `json:"projection_dim"`
}

func newCLIP(c *Checkpoint) (*Model, error) {
	both := clipConfig{Projection: 512}
	if err := c.JSON.Decode(&both); err != nil {
		return nil, err
	}
	textDoc, err := c.JSON.Sub("text_config")
	if err != nil {
		return nil, err
	}
	imageDoc, err := c.JSON.Sub("vision_config")
	if err != nil {
		return nil, err
	}
	text := towerConfig{Dim: 512, Layers: 12, Heads: 8, Hidden: 2048, Activation: "quick_gelu", Eps: 1e-5}
	image := towerConfig{Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "quick_gelu", Eps: 1e-5}
	words := textTowerConfig{Vocab: 49408, MaxPositions: 77}
	pixels := imageTowerConfig{Image: 224, Patch: 32, Channels: 3}
	if err := inOrder(decodeAll(textDoc, &text, &words), decodeAll(imageDoc, &image, &pixels)); err != nil {
		return nil, err
	}
	texts, err := c.loadTextTower(text, words, textDoc, c.Loader.At("text_model."))
	if err != nil {
		return nil, err
	}
	texts.mask = transformer.Causal()
	vision := c.Loader.At("vision_model.")
	images, err := loadImageTower(image, pixels, imageDoc, vision, true)
	if err != nil {
		return nil, err
	}
	images.before = vision.At("pre_layrnorm.").Norm(image.norm())
	return &Model{Encoder: texts, Image: images, Joint: &Joint{
		text: texts, image: images,
		// The last token, which ends the text, has seen all of it.
		textHead: &head{pool: poolLast, out: c.Loader.At("text_projection.").Linear(text.Dim, both.Projection, false)},
		imageHead: &head{
			pool: poolFirst, norm: vision.At("post_layernorm.").Norm(image.norm()),
			out: c.Loader.At("visual_projection.").Linear(image.Dim, both.Projection, false),
		},
		scale: logScale(c.Loader),
	}}, nil
}
