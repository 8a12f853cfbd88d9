package models

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// ViT: Dosovitskiy et al., 2021, "An Image is Worth 16x16 Words: Transformers for Image Recognition
// at Scale". An image is cut into patches, which are projected to rows after that of a class token.
// Checkpoints have the names of transformers or of timm.

func init() {
	Register(newViT, "vit")
	Describe(Traits{Use: UseImages}, "vit")
}

type vitConfig struct {
	block.TowerConfig
	block.ImageTowerConfig
	QKVBias          bool   `json:"qkv_bias"`
	PoolerActivation string `json:"pooler_act"`
	PoolerDim        int    `json:"pooler_output_size" min:"0"`
}

// vitNames has the names of the parts of a checkpoint.
type vitNames struct {
	class, positions, patches, norm string
	layers                          transformer.StackNames
}

var vitHub = vitNames{
	class: "embeddings.cls_token", positions: "embeddings.position_embeddings",
	patches: "embeddings.patch_embeddings.projection.", norm: "layernorm.",
	layers: transformer.StackNames{Layers: "encoder.layer.%d.", Norm: "layernorm.", Layer: transformer.LayerNames{
		Self: "attention.", SelfNorm: "layernorm_before.", FeedNorm: "layernorm_after.",
		Attention: transformer.AttentionNames{Query: "attention.query.", Key: "attention.key.", Value: "attention.value.", Out: "output.dense."},
		Feed:      transformer.FeedForwardNames{Up: "intermediate.dense.", Down: "output.dense."},
	}},
}

// vitNew is as transformers 5 has them in memory.
var vitNew = vitNames{
	class: vitHub.class, positions: vitHub.positions, patches: vitHub.patches, norm: vitHub.norm,
	layers: transformer.StackNames{Layers: "layers.%d.", Norm: vitHub.norm, Layer: transformer.LayerNames{
		Self: "attention.", SelfNorm: "layernorm_before.", FeedNorm: "layernorm_after.",
		Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."},
		Feed:      transformer.FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."},
	}},
}

var vitTimm = vitNames{
	class: "cls_token", positions: "pos_embed", patches: "patch_embed.proj.", norm: "norm.",
	layers: transformer.StackNames{Layers: "blocks.%d.", Norm: "norm.", Layer: transformer.LayerNames{
		Self: "attn.", SelfNorm: "norm1.", FeedNorm: "norm2.",
		Attention: transformer.AttentionNames{Packed: "qkv.", Out: "proj."},
		Feed:      transformer.FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."},
	}},
}

func newViT(c *Checkpoint) (*Model, error) {
	if c.doc.Has("architecture") {
		return newTimmViT(c)
	}
	config := vitConfig{
		TowerConfig:      block.TowerConfig{Dim: 768, Layers: 12, Heads: 12, Hidden: 3072, Activation: "gelu", Eps: 1e-12},
		ImageTowerConfig: block.ImageTowerConfig{Image: 224, Patch: 16, Channels: 3},
		QKVBias:          true, PoolerActivation: "tanh",
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	body := c.Loader.Under(vitHub.class, "vit.", "")
	names := vitHub
	if body.Has("layers.0.layernorm_before.weight") {
		names = vitNew
	}
	v, err := c.loadViT(config, body, names, "hidden_act")
	if err != nil {
		return nil, err
	}
	m := &Model{Image: v}
	if body.Has("pooler.dense.weight") {
		act := block.Tanh
		if config.PoolerActivation != "tanh" {
			a, err := c.doc.Activation("pooler_act", config.PoolerActivation)
			if err != nil {
				return nil, err
			}
			act = block.Activate(a)
		}
		out := config.PoolerDim
		if out == 0 {
			out = config.Dim
		}
		m.Heads[HeadImagePooler] = &block.Head{Pool: block.PoolFirst, Dense: body.At("pooler.dense.").Linear(config.Dim, out, true), Act: act}
	}
	switch c.Config.Head() {
	case "Model":
	case "ForImageClassification":
		m.Heads[HeadImageClassifier] = &block.Head{Pool: block.PoolFirst, Last: c.classify(c.Loader.At("classifier."), config.Dim, true)}
	default:
		return nil, c.unknownHead()
	}
	return m, nil
}

// timmConfig has the fields that timm writes.
type timmConfig struct {
	Architecture string `json:"architecture"`
	Classes      int    `json:"num_classes" min:"0"`
	Dim          int    `json:"num_features"`
	Pool         string `json:"global_pool"`
	Args         struct {
		Image    int     `json:"img_size"`
		Heads    int     `json:"num_heads"`
		MLPRatio float64 `json:"mlp_ratio"`
	} `json:"model_args"`
}

// newTimmViT returns the model of a checkpoint of timm, whose sizes are those of its tensors.
func newTimmViT(c *Checkpoint) (*Model, error) {
	t := timmConfig{Pool: "token"}
	c.doc.AsClass("timm")
	if err := c.doc.Decode(&t); err != nil {
		return nil, err
	}
	if t.Pool != "token" {
		return nil, c.doc.Errorf("global_pool", "want token")
	}
	for _, other := range []string{"_distilled", "_clip", "_gap", "_reg", "_rope", "_dinov", "_relpos", "_srelpos", "_so1", "_mci", "_siglip"} {
		if strings.Contains(t.Architecture, other) {
			return nil, c.doc.Errorf("architecture", "want a plain vit")
		}
	}
	config := vitConfig{TowerConfig: block.TowerConfig{Dim: t.Dim, Heads: t.Args.Heads, Activation: "gelu", Eps: 1e-6}, QKVBias: true}
	if config.Heads == 0 {
		config.Heads = t.Dim / 64 // of tiny, small, base and large
		if strings.Contains(t.Architecture, "_huge_") {
			config.Heads = 16
		}
	}
	l := c.Loader
	for l.Has(fmt.Sprintf("blocks.%d.norm1.weight", config.Layers)) {
		config.Layers++
	}
	if s, ok := l.Shape("patch_embed.proj.weight"); ok && len(s) == 4 {
		config.Channels, config.Patch = s[1], s[2]
	}
	if s, ok := l.Shape("pos_embed"); ok && len(s) == 3 {
		config.Image = int(math.Sqrt(float64(s[1]-1))) * config.Patch
	}
	if s, ok := l.Shape("blocks.0.mlp.fc1.weight"); ok && len(s) == 2 {
		config.Hidden = s[0]
	}
	if slices.Contains([]int{config.Layers, config.Patch, config.Image, config.Hidden, config.Heads, config.Channels}, 0) {
		return nil, c.doc.Errorf("architecture", "the tensors in the safetensors file are not those of a vit")
	}
	v, err := c.loadViT(config, l, vitTimm, "architecture")
	if err != nil {
		return nil, err
	}
	m := &Model{Image: v}
	if t.Classes > 0 {
		m.Heads[HeadImageClassifier] = &block.Head{Pool: block.PoolFirst, Last: l.At("head.").Linear(t.Dim, t.Classes, true)}
	}
	return m, nil
}

// loadViT returns the encoder whose tensors body has.
func (c *Checkpoint) loadViT(config vitConfig, body *transformer.Loader, names vitNames, activationField string) (*block.ImageTower, error) {
	activation, sharpness, err := c.doc.FeedActivation(activationField, config.Activation)
	if err != nil {
		return nil, err
	}
	if config.Dim%config.Heads != 0 {
		return nil, c.doc.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	}
	c.Config.Dim, c.Config.Layers = config.Dim, config.Layers
	side, err := config.Side(c.doc)
	if err != nil {
		return nil, err
	}
	return &block.ImageTower{
		Width: config.Dim, Pixels: config.Image, Side: side,
		Patches:   block.LoadPatches(body.At(names.patches), config.Dim, config.Channels, config.Patch, config.Patch, true),
		Class:     body.Tensor(names.class, 1, 1, config.Dim),
		Positions: body.Tensor(names.positions, 1, 1+side*side, config.Dim),
		Layers: body.Stack(transformer.StackConfig{Layers: config.Layers, FinalNorm: true, Layer: transformer.LayerConfig{
			Self:        transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, Bias: config.QKVBias, OutBias: true},
			FeedForward: transformer.FeedForwardConfig{Hidden: config.Hidden, Activation: activation, Sharpness: sharpness, Bias: true},
			Norm:        config.Norm(), NormFirst: true,
		}}, names.layers),
	}, nil
}
