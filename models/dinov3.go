package models

import (
	"math"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// DINOv3: Siméoni et al., 2025, "DINOv3". DINOv2 with rotary positions, which depend on where the
// centre of a patch lies between the edges of the image, and with registers: learned rows after
// that of the class.

func init() {
	Register(newDINOv3, "dinov3_vit")
	Describe(Traits{Use: UseImages}, "dinov3_vit")
}

type dinov3Config struct {
	block.TowerConfig
	block.ImageTowerConfig
	Theta     float64 `json:"rope_theta"`
	QueryBias bool    `json:"query_bias"`
	KeyBias   bool    `json:"key_bias"`
	ValueBias bool    `json:"value_bias"`
	OutBias   bool    `json:"proj_bias"`
	FeedBias  bool    `json:"mlp_bias"`
	Gated     bool    `json:"use_gated_mlp"`
	Registers int     `json:"num_register_tokens" min:"0"`
}

func newDINOv3(c *Checkpoint) (*Model, error) {
	config := dinov3Config{
		TowerConfig:      block.TowerConfig{Dim: 384, Layers: 12, Heads: 6, Hidden: 1536, Activation: "gelu", Eps: 1e-5},
		ImageTowerConfig: block.ImageTowerConfig{Image: 224, Patch: 16, Channels: 3},
		Theta:            100, QueryBias: true, ValueBias: true, OutBias: true, FeedBias: true,
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if c.Config.Head() != "Model" {
		return nil, c.unknownHead()
	}
	if config.Dim%config.Heads != 0 || config.Dim/config.Heads%4 != 0 {
		return nil, c.doc.Errorf("num_attention_heads", "want heads whose size is a multiple of 4, hidden_size is %d", config.Dim)
	}
	side, err := config.Side(c.doc)
	if err != nil {
		return nil, err
	}
	layers, err := config.stack(c)
	if err != nil {
		return nil, err
	}
	c.Config.Dim, c.Config.Layers = config.Dim, config.Layers
	body := c.Loader.At("embeddings.")
	body.Ignore("mask_token") // of training
	class := body.Tensor("cls_token", 1, 1, config.Dim)
	if config.Registers > 0 || body.Has("register_tokens") { // without registers it may be there without elements
		class = append(class[:len(class):len(class)], body.Tensor("register_tokens", 1, config.Registers, config.Dim)...)
	}
	return &Model{
		Image: &block.ImageTower{
			Width: config.Dim, Pixels: config.Image, Side: side, Depth: config.Layers, Class: class,
			Patches: block.LoadPatches(body.At("patch_embeddings."), config.Dim, config.Channels, config.Patch, config.Patch, true),
			Axial:   &block.Axial{Frequencies: config.frequencies(body), Centered: true},
			Layers:  layers,
		},
		Heads: Heads{HeadImagePooler: &block.Head{Dim: config.Dim, Pool: block.PoolFirst}},
	}, nil
}

// frequencies returns the angles for a step of 1 along an axis, which goes from -1 to 1. The first
// is a full turn.
func (config *dinov3Config) frequencies(l *transformer.Loader) []float64 {
	if l.Failed() { // no tensor confirms the size of a head
		return nil
	}
	f := transformer.Frequencies(config.Theta, config.Dim/config.Heads/2)
	for i := range f {
		f[i] *= 2 * math.Pi
	}
	return f
}

// stack returns the layers and the normalization after them.
func (config *dinov3Config) stack(c *Checkpoint) (*dinov2Stack, error) {
	feed, err := config.Feed(c.doc)
	if err != nil {
		return nil, err
	}
	feed.Bias, feed.Gated = config.FeedBias, config.Gated
	names := transformer.FeedForwardNames{Up: "up_proj.", Down: "down_proj."}
	if config.Gated {
		names.Gate = "gate_proj."
	}
	stack := &dinov2Stack{norm: c.Loader.At("norm.").Norm(config.Norm())}
	body := c.Loader.Under("layer.0.norm1.weight", "model.", "")
	for i := 0; i < config.Layers && !body.Stopped(); i++ {
		l := body.At("layer.%d.", i)
		linear := func(name string, bias bool) block.Projection {
			return l.At("attention."+name+".").Linear(config.Dim, config.Dim, bias)
		}
		stack.layers = append(stack.layers, &dinov2Layer{
			attentionNorm: l.At("norm1.").Norm(config.Norm()),
			attention: &block.GridAttention{
				Query: linear("q_proj", config.QueryBias), Key: linear("k_proj", config.KeyBias), Value: linear("v_proj", config.ValueBias), Out: linear("o_proj", config.OutBias),
				Heads: config.Heads, KVHeads: config.Heads, HeadDim: config.Dim / config.Heads,
			},
			attentionScale: l.Tensor("layer_scale1.lambda1", config.Dim),
			feedNorm:       l.At("norm2.").Norm(config.Norm()),
			feed:           l.At("mlp.").FeedForward(feed, names),
			feedScale:      l.Tensor("layer_scale2.lambda1", config.Dim),
		})
	}
	return stack, nil
}
