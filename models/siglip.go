package models

import (
	"fmt"

	"github.com/avoformer/avoformer/transformer"
)

// SigLIP: Zhai et al., 2023, "Sigmoid Loss for Language Image Pre-Training". Texts are
// padded to their full length, and the padding is seen like other tokens.

func init() { Register(newSigLIP, "siglip") }

func newSigLIP(c *Checkpoint) (*Model, error) {
	if err := c.JSON.Decode(&struct{}{}); err != nil {
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
	text := towerConfig{Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "gelu_pytorch_tanh", Eps: 1e-6}
	image := text
	words := textTowerConfig{Vocab: 32000, MaxPositions: 64}
	pixels := imageTowerConfig{Image: 224, Patch: 16, Channels: 3}
	pooled := struct {
		Head bool `json:"vision_use_head"`
	}{true}
	if err := inOrder(decodeAll(textDoc, &text, &words), decodeAll(imageDoc, &image, &pixels, &pooled)); err != nil {
		return nil, err
	}
	if !pooled.Head {
		return nil, imageDoc.Errorf("vision_use_head", "want true")
	}
	if words.Projection == 0 {
		words.Projection = text.Dim
	}
	texts, err := c.loadTextTower(text, words, textDoc, c.Loader.At("text_model."))
	if err != nil {
		return nil, err
	}
	vision := c.Loader.At("vision_model.")
	images, err := loadImageTower(image, pixels, imageDoc, vision, false)
	if err != nil {
		return nil, err
	}
	images.after = vision.At("post_layernorm.").Norm(image.norm())
	attend, err := newProbe(image, imageDoc, vision.At("head."))
	if err != nil {
		return nil, err
	}
	if words.Projection != image.Dim {
		return nil, textDoc.Errorf("projection_size", "vectors of images have %d", image.Dim)
	}
	joint := &Joint{
		text: texts, image: images,
		textHead:  &head{pool: poolLast, out: c.Loader.At("text_model.head.").Linear(text.Dim, words.Projection, true)},
		imageHead: attend,
		scale:     logScale(c.Loader, 1),
	}
	if bias := c.Loader.Tensor("logit_bias", 1); len(bias) == 1 {
		joint.bias = bias[0]
	}
	return &Model{Encoder: texts, Image: images, ImagePooler: attend, Joint: joint}, nil
}

// probe is a head that pools by attention: a learned query attends to all rows.
type probe struct {
	query     []float32 // [D]
	attention *transformer.MultiHeadAttention
	norm      *transformer.Norm
	feed      *transformer.FeedForward
}

func newProbe(config towerConfig, d Document, l *transformer.Loader) (*probe, error) {
	feed, err := config.feed(d)
	if err != nil {
		return nil, err
	}
	return &probe{
		query: l.Tensor("probe", 1, 1, config.Dim),
		attention: l.At("attention.").Attention(transformer.AttentionConfig{
			Dim: config.Dim, Heads: config.Heads, Bias: true, OutBias: true, CrossOnly: true,
		}, transformer.AttentionNames{Packed: "in_proj_", Out: "out_proj."}),
		norm: l.At("layernorm.").Norm(config.norm()),
		feed: l.At("mlp.").FeedForward(feed, transformer.FeedForwardNames{Up: "fc1.", Down: "fc2."}),
	}, nil
}

func (p *probe) Out() int { return len(p.query) }

func (p *probe) Forward(ws *Workspace, dst, x []float32, batch Batch) error {
	dim, n := len(p.query), batch.Len()
	if len(dst) != n*dim {
		return fmt.Errorf("%w: %d elements for %d vectors of %d", transformer.ErrShape, len(dst), n, dim)
	}
	defer ws.Release(ws.Mark())
	q, y := ws.Alloc(n*dim), ws.Alloc(n*dim) // [images, D]
	for i := range n {
		copy(q[i*dim:], p.query)
	}
	return inOrder(
		p.attention.Forward(ws, y, transformer.AttentionInput{ // y = attention(q, x)  [images, D]
			Query: q, Batch: transformer.Uniform(n, 1), Key: x, KeyBatch: batch,
		}, nil),
		p.norm.Forward(ws, q, y),      // q = norm(y)            [images, D]
		p.feed.Forward(ws, dst, q, y), // dst = y + feed(q)      [images, D]
	)
}
