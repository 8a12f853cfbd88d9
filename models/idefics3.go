package models

import (
	"slices"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// Idefics 3: Laurençon et al., 2024, "Building and better understanding vision-language models:
// insights and future directions", and SmolVLM: Marafioti et al., 2025, "SmolVLM: Redefining small
// and efficient multimodal models". Llama reads the tiles of an image, and the image as a whole, of
// which an encoder like SigLIP's makes a row for each square of patches.

func init() {
	registerProjector("idefics3", idefics3Images, "llama")
	for _, name := range []string{"idefics3", "smolvlm"} {
		Register(newIdefics3Vision, name+"_vision")
		Describe(Traits{Use: UseImages}, name+"_vision")
		registerWrapper(name, wrapper{
			kinds: []string{"llama"}, head: "ForConditionalGeneration", tied: "false", inside: "text_model", images: idefics3Images,
			fields: []string{"vision_config", "image_token_id", "scale_factor"},
			towers: []string{"vision_model.*", "connector.*", "model.vision_model.*", "model.connector.*"},
		})
	}
}

// newIdefics3Vision returns the tower of images as a model of its own.
func newIdefics3Vision(c *Checkpoint) (*Model, error) {
	if c.Config.Head() != "Model" {
		return nil, c.unknownHead()
	}
	t, err := idefics3Vision(c.doc, c.Loader)
	if err != nil {
		return nil, err
	}
	c.Config.Dim, c.Config.Layers = t.Dim(), t.Depth
	return &Model{Image: t}, nil
}

// idefics3Vision returns the tower of images that d describes.
func idefics3Vision(d configuration.Document, l *transformer.Loader) (*block.ImageTower, error) {
	tower := block.TowerConfig{Dim: 1152, Layers: 12, Heads: 16, Hidden: 3072, Activation: "gelu_pytorch_tanh", Eps: 1e-6}
	pixels := block.ImageTowerConfig{Image: 224, Patch: 32, Channels: 3}
	if err := block.DecodeAll(d, &tower, &pixels); err != nil {
		return nil, err
	}
	t, err := block.LoadImageTower(tower, pixels, d, l, false)
	if err != nil {
		return nil, err
	}
	t.After = l.At("post_layernorm.").Norm(tower.Norm())
	t.Places = func(down, across int) (places []int) {
		rows, columns := fractionalPlaces(down, t.Side), fractionalPlaces(across, t.Side)
		for _, row := range rows {
			for _, column := range columns {
				places = append(places, row*t.Side+column)
			}
		}
		return places
	}
	return t, nil
}

// fractionalPlaces returns the place of each of n patches among side, by where the patch begins. It
// rounds as transformers does in float32: of 25 patches among 25, some share a place.
func fractionalPlaces(n, side int) []int {
	begins := make([]float32, 0, side) // of all places except the first
	step := 1 / float64(side)
	for i := 0; step+float64(float64(i)*step) < 1; i++ {
		begins = append(begins, float32(step+float64(float64(i)*step)))
	}
	places := make([]int, n)
	patch := 1 / float32(n)
	for i := range places {
		at := min(float32(float32(i)*patch), 1-1e-6)
		place, found := slices.BinarySearch(begins, at)
		if found {
			place++
		}
		places[i] = min(place, side-1)
	}
	return places
}

// idefics3Images reads images for a text of dim features.
func idefics3Images(c *Checkpoint, _ configuration.Document, dim int) (*ImageReader, error) {
	config := struct {
		Token  int `json:"image_token_id" min:"0"`
		Square int `json:"scale_factor"`
	}{128257, 2}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	vision, err := c.doc.Sub("vision_config")
	if err != nil {
		return nil, err
	}
	t, err := idefics3Vision(vision, c.Loader.At("vision_model."))
	if err != nil {
		return nil, err
	}
	if config.Square > t.Side {
		return nil, c.doc.Errorf("scale_factor", "want at most the %d patches on a side of an image", t.Side)
	}
	in := config.Square * config.Square * t.Dim()
	project := c.Loader.At("connector.modality_projection.proj.").Linear(in, dim, false)
	return &ImageReader{ImageEncoder: &block.JoinedTower{ImageTower: t, Square: config.Square, Project: project, Out: dim}, Token: config.Token, Begin: -1, End: -1, Processors: []string{"Idefics3", "SmolVLM"}}, nil
}
