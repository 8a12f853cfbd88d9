package models

import (
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// LFM2-VL: Liquid AI, 2025. LFM2 reads images of any shape, and tiles of large ones, which SigLIP 2
// encodes; squares of its patches become rows of the text.

func init() {
	registerProjector("lfm2", lfm2Images, "lfm2")
	registerWrapper("lfm2_vl", wrapper{
		kinds: []string{"lfm2"}, head: "ForConditionalGeneration", tied: "true", tiedToo: []string{"tie_embedding"}, unread: []string{"tie_embedding"}, towers: visionTower, images: lfm2Images,
		fields: []string{"vision_config", "image_token_id", "projector_hidden_act", "projector_hidden_size", "projector_bias", "projector_use_layernorm", "downsample_factor"},
	})
}

// lfm2Images reads images for a text of dim features.
func lfm2Images(c *Checkpoint, _ configuration.Document, dim int) (*ImageReader, error) {
	config := struct {
		Token      int    `json:"image_token_id" min:"0"`
		Activation string `json:"projector_hidden_act"`
		Hidden     int    `json:"projector_hidden_size"`
		Bias       bool   `json:"projector_bias"`
		Norm       bool   `json:"projector_use_layernorm"`
		Square     int    `json:"downsample_factor"`
	}{396, "gelu", 2560, true, true, 2}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	activation, err := c.doc.Activation("projector_hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	vision, err := c.doc.Sub("vision_config")
	if err != nil {
		return nil, err
	}
	if err := ofModelType(vision, "siglip2_vision_model"); err != nil {
		return nil, err
	}
	c.ignoreImageHead()
	t, _, _, err := siglip2Tower(vision, c.Loader.At("vision_tower.").Under("embeddings.patch_embedding.weight", "vision_model.", ""))
	if err != nil {
		return nil, err
	}
	if config.Square > 1<<8 {
		return nil, c.doc.Errorf("downsample_factor", "want at most %d", 1<<8)
	}
	in, l := config.Square*config.Square*t.Dim(), c.Loader.At("multi_modal_projector.")
	feed := transformer.FeedForwardConfig{Dim: in, Hidden: config.Hidden, OutDim: dim, Activation: activation, Bias: config.Bias}
	p := &projector{feed: l.FeedForward(feed, transformer.FeedForwardNames{Up: "linear_1.", Down: "linear_2."})}
	if config.Norm {
		p.norm = l.At("layer_norm.").Norm(transformer.NormConfig{Shape: []int{in}, Eps: 1e-5})
	}
	return &ImageReader{ImageEncoder: &block.JoinedTower{ImageTower: t, Square: config.Square, Project: p, Out: dim}, Token: config.Token, Begin: -1, End: -1, Processors: []string{"Lfm2Vl"}}, nil
}

// projector makes rows of a text of normalized rows of images.
type projector struct {
	norm *transformer.Norm // or nil
	feed *transformer.FeedForward
}

// Forward sets dst, [rows, feed.OutDim], for x, [rows, feed.Dim].
func (p *projector) Forward(ws *transformer.Workspace, dst, x []float32) error {
	defer ws.Release(ws.Mark())
	if p.norm != nil {
		normed := ws.Alloc(len(x))
		if err := p.norm.Forward(ws, normed, x); err != nil {
			return err
		}
		x = normed
	}
	return p.feed.Forward(ws, dst, x, nil)
}
