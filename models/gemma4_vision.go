package models

import (
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// The images of Gemma 4: patches of images of any shape, with a table of positions for columns and
// one for rows beside rotary positions of both axes, of which squares are averaged after the last
// layer.

func init() {
	Register(newGemma4Vision, "gemma4_vision")
	Describe(Traits{Use: UseImages}, "gemma4_vision")
}

type gemma4VisionConfig struct {
	Dim         int     `json:"hidden_size"`
	Hidden      int     `json:"intermediate_size"`
	Layers      int     `json:"num_hidden_layers"`
	Heads       int     `json:"num_attention_heads"`
	KVHeads     int     `json:"num_key_value_heads"`
	HeadDim     int     `json:"head_dim"`
	Activation  string  `json:"hidden_activation"`
	Eps         float32 `json:"rms_norm_eps"`
	Pool        int     `json:"pooling_kernel_size"`
	Patch       int     `json:"patch_size"`
	Positions   int     `json:"position_embedding_size"`
	Clipped     bool    `json:"use_clipped_linears"`
	Standardize bool    `json:"standardize"`
	// The projections have no biases, and the length no limit, whatever these say.
	Bias         bool `json:"attention_bias"`
	MaxPositions any  `json:"max_position_embeddings"`
}

// newGemma4Vision returns the tower of images as a model of its own.
func newGemma4Vision(c *Checkpoint) (*Model, error) {
	if c.Config.Head() != "Model" {
		return nil, c.unknownHead()
	}
	t, err := gemma4Vision(c.doc, c.Loader)
	if err != nil {
		return nil, err
	}
	c.Config.Dim, c.Config.Layers = t.Width, len(t.Layers)
	return &Model{Image: t}, nil
}

// gemma4Vision returns the tower of images that d describes.
func gemma4Vision(d configuration.Document, l *transformer.Loader) (*block.PooledTower, error) {
	config := gemma4VisionConfig{Dim: 768, Hidden: 3072, Layers: 16, Heads: 12, KVHeads: 12, HeadDim: 64, Activation: "gelu_pytorch_tanh", Eps: 1e-6, Pool: 3, Patch: 16, Positions: 10240}
	if err := d.Decode(&config); err != nil {
		return nil, err
	}
	theta, err := d.AxialTheta(100)
	if err != nil {
		return nil, err
	}
	activation, err := d.Activation("hidden_activation", config.Activation)
	if err != nil {
		return nil, err
	}
	const most = 1 << 10 // of what configurations merely claim
	switch {
	case config.HeadDim%4 != 0:
		return nil, d.Errorf("head_dim", "want a multiple of 4")
	case config.Heads%config.KVHeads != 0:
		return nil, d.Errorf("num_key_value_heads", "does not divide num_attention_heads = %d", config.Heads)
	case config.Patch > most:
		return nil, d.Errorf("patch_size", "want at most %d", most)
	case config.Pool > most:
		return nil, d.Errorf("pooling_kernel_size", "want at most %d", most)
	}
	const channels = 3
	area := config.Patch * config.Patch
	patch := l.At("patch_embedder.")
	t := &block.PooledTower{Width: config.Dim, Pool: config.Pool, Scale: float32(math.Sqrt(float64(config.Dim)))}
	weight := patch.Tensor("input_proj.weight", config.Dim, area*channels) // [D, height, width, channels]
	t.Patches = &block.Patches{Channels: channels, Height: config.Patch, Width: config.Patch, Project: patch.LinearOf(area*channels, config.Dim, block.StepsFirst(weight, area, channels), nil)}
	t.Positions = patch.Tensor("position_embedding_table", 2, config.Positions, config.Dim)
	for i := 0; i < config.Layers && !l.Stopped(); i++ {
		t.Layers = append(t.Layers, config.layer(l.At("encoder.layers.%d.", i), activation))
	}
	if config.Standardize {
		t.Bias, t.Factor = l.Tensor("std_bias", config.Dim), l.Tensor("std_scale", config.Dim)
	}
	if !l.Failed() { // the tensors confirm the size of a head
		t.Axial = &block.Axial{Frequencies: transformer.Frequencies(theta, config.HeadDim/2), AcrossFirst: true}
	}
	return t, nil
}

// layer takes the tensors of a layer.
func (config *gemma4VisionConfig) layer(l *transformer.Loader, activation kernels.Activation) *block.NormedLayer {
	norm := func(l *transformer.Loader, dim int) *transformer.Norm {
		return l.Norm(transformer.NormConfig{Shape: []int{dim}, Eps: config.Eps, RMS: true})
	}
	linear := func(l *transformer.Loader, in, out int) block.Projection {
		if !config.Clipped {
			return l.At("linear.").Linear(in, out, false)
		}
		return block.LoadClipped(l, in, out)
	}
	self, mlp := l.At("self_attn."), l.At("mlp.")
	return &block.NormedLayer{
		AttentionNorm: norm(l.At("input_layernorm."), config.Dim),
		Attention: &block.GridAttention{
			Query: linear(self.At("q_proj."), config.Dim, config.Heads*config.HeadDim), Key: linear(self.At("k_proj."), config.Dim, config.KVHeads*config.HeadDim),
			Value: linear(self.At("v_proj."), config.Dim, config.KVHeads*config.HeadDim), Out: linear(self.At("o_proj."), config.Heads*config.HeadDim, config.Dim),
			QueryNorm: norm(self.At("q_norm."), config.HeadDim), KeyNorm: norm(self.At("k_norm."), config.HeadDim),
			ValueNorm: self.At("v_norm.").Norm(transformer.NormConfig{Shape: []int{config.HeadDim}, Eps: config.Eps, RMS: true, NoWeight: true}),
			Heads:     config.Heads, KVHeads: config.KVHeads, HeadDim: config.HeadDim, Scale: 1, Split: true,
		},
		AttentionAfter: norm(l.At("post_attention_layernorm."), config.Dim),
		FeedNorm:       norm(l.At("pre_feedforward_layernorm."), config.Dim),
		Gate:           linear(mlp.At("gate_proj."), config.Dim, config.Hidden),
		Up:             linear(mlp.At("up_proj."), config.Dim, config.Hidden),
		Down:           linear(mlp.At("down_proj."), config.Hidden, config.Dim),
		Hidden:         config.Hidden, Activation: block.Activate(activation),
		FeedAfter: norm(l.At("post_feedforward_layernorm."), config.Dim),
	}
}

// gemma4Images reads images for the text that text_config describes.
func gemma4Images(c *Checkpoint, text configuration.Document, dim int) (*ImageReader, error) {
	const both = "use_bidirectional_attention"
	if way := ""; text.Has(both) && (text.Field(both, &way) != nil || way != "vision") {
		return nil, text.Errorf(both, `want "vision" or null with images`)
	}
	tokens := struct {
		Image int `json:"image_token_id" min:"0"`
		Begin int `json:"boi_token_id" min:"0"`
		End   int `json:"eoi_token_id" min:"0"`
	}{258880, 255999, 258882}
	for _, field := range []string{"image_token_id", "boi_token_id", "eoi_token_id"} {
		if c.doc.IsNull(field) {
			return nil, c.doc.Errorf(field, "want a token")
		}
	}
	if err := c.doc.Decode(&tokens); err != nil {
		return nil, err
	}
	vision, err := c.doc.Sub("vision_config")
	if err != nil {
		return nil, err
	}
	t, err := gemma4Vision(vision, c.Loader.At("vision_tower."))
	if err != nil {
		return nil, err
	}
	eps := struct {
		Eps float32 `json:"rms_norm_eps"`
	}{1e-6}
	if err := vision.Decode(&eps); err != nil {
		return nil, err
	}
	into := c.Loader.At("embed_vision.")
	t.Norm = into.At("embedding_pre_projection_norm.").Norm(transformer.NormConfig{Shape: []int{t.Width}, Eps: eps.Eps, RMS: true, NoWeight: true})
	t.Project = into.At("embedding_projection.").Linear(t.Width, dim, false)
	return &ImageReader{ImageEncoder: t, Token: tokens.Image, Begin: tokens.Begin, End: tokens.End, Processors: []string{"Gemma4"}}, nil
}
