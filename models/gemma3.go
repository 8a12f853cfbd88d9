package models

import (
	"math"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// This file has Gemma 3 with images. An encoder like SigLIP's reads images of one size. Means over
// squares of its patches become tokens, which attend to each other. For its text see gemma2.go.

func init() {
	registerProjector("gemma3", gemma3Images, "gemma3_text")
	registerWrapper("gemma3", wrapper{
		kinds: []string{"gemma3_text"}, head: "ForConditionalGeneration", tied: "true", unread: []string{"final_logit_softcapping"}, towers: visionTower, images: gemma3Images,
		fields: []string{"vision_config", "mm_tokens_per_image", "boi_token_index", "eoi_token_index", "image_token_index"},
	})
}

// gemma3Images reads images for a text of dim features.
func gemma3Images(c *Checkpoint, _ configuration.Document, dim int) (*ImageReader, error) {
	config := struct {
		Tokens int `json:"mm_tokens_per_image"`
		Image  int `json:"image_token_index" min:"0"`
	}{256, 262144}
	for _, field := range []string{"mm_tokens_per_image", "image_token_index"} {
		if c.doc.IsNull(field) {
			return nil, c.doc.Errorf(field, "want a number")
		}
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	vision, err := c.doc.Sub("vision_config")
	if err != nil {
		return nil, err
	}
	if err := ofModelType(vision, "siglip_vision_model"); err != nil {
		return nil, err
	}
	l := c.Loader.At("vision_tower.").Under("embeddings.patch_embedding.weight", "vision_model.", "")
	c.ignoreImageHead()
	t, tower, _, err := siglipTower(vision, l)
	if err != nil {
		return nil, err
	}
	side := int(math.Sqrt(float64(config.Tokens))) // of the squares of an image
	if side > t.Side {
		return nil, c.doc.Errorf("mm_tokens_per_image", "want at most the %d patches of an image", t.Side*t.Side)
	}
	into := c.Loader.At("multi_modal_projector.")
	norm := into.At("mm_soft_emb_norm.").Norm(transformer.NormConfig{Shape: []int{tower.Dim}, Eps: tower.Eps, RMS: true})
	c.onePlus(norm)
	project := into.At("mm_input_projection_").Transposed().Linear(tower.Dim, dim, false)
	return &ImageReader{ImageEncoder: &block.AveragedTower{ImageTower: t, Square: t.Side / side, Norm: norm, Project: project}, Token: config.Image, Begin: aroundImage(c.doc, "boi_token_index", 255999), End: aroundImage(c.doc, "eoi_token_index", 256000), Processors: []string{"Gemma3"}}, nil
}

// aroundImage returns a token around those of an image; -1: the field is not one. Only prompts have
// these tokens, so that a model without them opens.
func aroundImage(d configuration.Document, field string, without int) int {
	token := without
	d.Note(field)
	if d.IsNull(field) || d.Has(field) && (d.Field(field, &token) != nil || token < 0) {
		return -1
	}
	return token
}
