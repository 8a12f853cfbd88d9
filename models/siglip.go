package models

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// SigLIP: Zhai et al., 2023, "Sigmoid Loss for Language Image Pre-Training". Texts are padded to
// their full length, and the padding is seen like other tokens.

func init() {
	Register(newSigLIP, "siglip")
	Register(newSigLIPText, "siglip_text_model")
	Register(newSigLIPImage, "siglip_vision_model")
	Describe(Traits{Use: UseImages, NoVectors: textsWithImages}, "siglip")
	Describe(Traits{Use: UseImages}, "siglip_vision_model")
	Describe(Traits{NoVectors: textsWithImages}, "siglip_text_model")
}

func newSigLIP(c *Checkpoint) (*Model, error) { return c.siglip(siglipImage) }

// siglip returns the model with the tower of images that image makes.
func (c *Checkpoint) siglip(image func(d configuration.Document, l *transformer.Loader) (*block.ImageTower, *probe, error)) (*Model, error) {
	if head := c.Config.Head(); head != "Model" {
		return nil, c.unknownHead()
	}
	if err := c.doc.Decode(&struct{}{}); err != nil {
		return nil, err
	}
	textDoc, imageDoc, err := block.TowerConfigs(c.doc)
	if err != nil {
		return nil, err
	}
	texts, textHead, err := c.siglipText(textDoc, c.Loader.At("text_model."))
	if err != nil {
		return nil, err
	}
	images, attend, err := image(imageDoc, c.Loader.At("vision_model."))
	if err != nil {
		return nil, err
	}
	if textHead.Last != nil && textHead.Last.Out != images.Dim() {
		return nil, textDoc.Errorf("projection_size", "vectors of images have %d", images.Dim())
	}
	both := &block.Joint{Text: texts, Image: images, TextHead: textHead, ImageHead: attend, Scale: block.LogScale(c.Loader, 1)}
	if bias := c.Loader.Tensor("logit_bias", 1); len(bias) == 1 {
		both.Bias = bias[0]
	}
	return &Model{Encoder: texts, Image: images, Heads: Heads{HeadImagePooler: attend}, Joint: both}, nil
}

// siglipText returns the tower of texts that d describes, and what pools its hidden states.
func (c *Checkpoint) siglipText(d configuration.Document, l *transformer.Loader) (*block.TextEncoder, *block.Head, error) {
	tower, words := siglipDefaults, block.TextTowerConfig{Vocab: 32000, MaxPositions: 64}
	if err := block.DecodeAll(d, &tower, &words); err != nil {
		return nil, nil, err
	}
	if words.Projection == 0 {
		words.Projection = tower.Dim
	}
	texts, err := block.LoadTextTower(tower, words, d, l)
	if err != nil {
		return nil, nil, err
	}
	c.Config.Vocab, c.Config.Dim, c.Config.Layers, c.Config.MaxLength = words.Vocab, tower.Dim, tower.Layers, words.MaxPositions
	return texts, &block.Head{Pool: block.PoolLast, Last: l.At("head.").Linear(tower.Dim, words.Projection, true)}, nil
}

var siglipDefaults = block.TowerConfig{Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "gelu_pytorch_tanh", Eps: 1e-6}

// siglipImage returns the tower of images that d describes, and what pools its hidden states.
func siglipImage(d configuration.Document, l *transformer.Loader) (*block.ImageTower, *probe, error) {
	images, tower, head, err := siglipTower(d, l)
	if err != nil {
		return nil, nil, err
	}
	if !head {
		return nil, nil, d.Errorf("vision_use_head", "want true")
	}
	attend, err := newProbe(tower, d, l.At("head."))
	return images, attend, err
}

// siglipTower returns the tower of images that d describes, without what pools its hidden states,
// its sizes, and whether d says that a head pools them.
func siglipTower(d configuration.Document, l *transformer.Loader) (*block.ImageTower, block.TowerConfig, bool, error) {
	tower, pixels := siglipDefaults, block.ImageTowerConfig{Image: 224, Patch: 16, Channels: 3}
	pooled := struct {
		Head bool `json:"vision_use_head"`
	}{true}
	if err := block.DecodeAll(d, &tower, &pixels, &pooled); err != nil {
		return nil, tower, false, err
	}
	images, err := block.LoadImageTower(tower, pixels, d, l, false)
	if err != nil {
		return nil, tower, false, err
	}
	images.After = l.At("post_layernorm.").Norm(tower.Norm())
	return images, tower, pooled.Head, nil
}

// newSigLIPText returns only the tower of texts.
func newSigLIPText(c *Checkpoint) (*Model, error) {
	texts, pooled, err := c.siglipText(c.doc, c.Loader.Under("embeddings.token_embedding.weight", "text_model.", ""))
	return &Model{Encoder: texts, Heads: Heads{HeadPooler: pooled}}, err
}

// newSigLIPImage returns only the tower of images.
func newSigLIPImage(c *Checkpoint) (*Model, error) { return c.siglipImageAlone(siglipImage) }

func (c *Checkpoint) siglipImageAlone(image func(d configuration.Document, l *transformer.Loader) (*block.ImageTower, *probe, error)) (*Model, error) {
	if head := c.Config.Head(); head != "Model" {
		return nil, c.unknownHead()
	}
	images, attend, err := image(c.doc, c.Loader.Under("embeddings.patch_embedding.weight", "vision_model.", ""))
	if err != nil {
		return nil, err
	}
	c.Config.Dim, c.Config.Layers = images.Dim(), images.Depth
	return &Model{Image: images, Heads: Heads{HeadImagePooler: attend}}, nil
}

// probe is a head that pools by attention: a learned query attends to all rows.
type probe struct {
	query     []float32 // [D]
	attention *transformer.MultiHeadAttention
	norm      *transformer.Norm
	feed      *transformer.FeedForward
}

func newProbe(config block.TowerConfig, d configuration.Document, l *transformer.Loader) (*probe, error) {
	feed, err := config.Feed(d)
	if err != nil {
		return nil, err
	}
	return &probe{
		query: l.Tensor("probe", 1, 1, config.Dim),
		attention: l.At("attention.").Attention(transformer.AttentionConfig{
			Dim: config.Dim, Heads: config.Heads, Bias: true, OutBias: true, CrossOnly: true,
		}, transformer.AttentionNames{Packed: "in_proj_", Out: "out_proj."}),
		norm: l.At("layernorm.").Norm(config.Norm()),
		feed: l.At("mlp.").FeedForward(feed, transformer.FeedForwardNames{Up: "fc1.", Down: "fc2."}),
	}, nil
}

func (p *probe) Out() int { return len(p.query) }

func (p *probe) Forward(ws *Workspace, dst, x []float32, in Tokens) error {
	dim, n := len(p.query), in.Batch.Len()
	if len(dst) != n*dim {
		return check.Errorf(fault.ErrShape, "%d elements for %d vectors of %d", len(dst), n, dim)
	}
	defer ws.Release(ws.Mark())
	q, y := ws.Alloc(n*dim), ws.Alloc(n*dim) // [images, D]
	for i := range n {
		copy(q[i*dim:], p.query)
	}
	if err := p.attention.Forward(ws, y, transformer.AttentionInput{ // y = attention(q, x)  [images, D]
		Query: q, Batch: transformer.Uniform(n, 1), Key: x, KeyBatch: in.Batch,
	}, nil); err != nil {
		return err
	}
	if err := p.norm.Forward(ws, q, y); err != nil { // q = norm(y)  [images, D]
		return err
	}
	return p.feed.Forward(ws, dst, q, y) // dst = y + feed(q)  [images, D]
}
