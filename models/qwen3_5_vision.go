package models

import (
	"slices"
	"strings"

	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// This file has the images of Qwen3.5. Patches of images of any shape have a table of positions,
// resized to the shape, and rotary positions on both axes. Squares of patches become rows of the
// text, whose positions have an axis for the row and one for the column in the image.

func init() {
	for _, name := range []string{"qwen3_5_vision", "qwen3_5_moe_vision"} {
		Register(newQwen35Vision, name)
		Describe(Traits{Use: UseImages}, name)
	}
}

type qwen35VisionConfig struct {
	Dim        int    `json:"hidden_size"`
	Hidden     int    `json:"intermediate_size"`
	Layers     int    `json:"depth"`
	Heads      int    `json:"num_heads"`
	Activation string `json:"hidden_act"`
	Channels   int    `json:"in_channels"`
	Patch      int    `json:"patch_size"`
	Frames     int    `json:"temporal_patch_size"`
	Square     int    `json:"spatial_merge_size"`
	Out        int    `json:"out_hidden_size"`
	Positions  int    `json:"num_position_embeddings"`
	Deep       []int  `json:"deepstack_visual_indexes"` // of Qwen3-VL; empty in published models
}

// qwen35Images reads images for a text of dim features.
func qwen35Images(c *Checkpoint, _ configuration.Document, dim int) (*ImageReader, error) {
	tokens := struct {
		Image int `json:"image_token_id" min:"0"`
		Video int `json:"video_token_id" min:"0"`
	}{248056, 248057}
	for _, field := range []string{"image_token_id", "video_token_id"} {
		if c.doc.IsNull(field) {
			return nil, c.doc.Errorf(field, "want a token")
		}
	}
	if err := c.doc.Decode(&tokens); err != nil {
		return nil, err
	}
	d, err := c.doc.Sub("vision_config")
	if err != nil {
		return nil, err
	}
	kind := strings.TrimSuffix(c.Config.ModelType, "_text") + "_vision" // of GGUF files, the type is that of the text
	if err := ofModelType(d, kind, c.Config.ModelType); err != nil {    // the second is that of early checkpoints
		return nil, err
	}
	d.AsClass(kind)
	config, t, err := qwen35Tower(d, c.Loader.At("visual."))
	if err != nil {
		return nil, err
	}
	if config.Out != dim {
		return nil, d.Errorf("out_hidden_size", "want hidden_size of text_config = %d", dim)
	}
	l, in := c.Loader.At("visual.merger."), config.Square*config.Square*config.Dim
	t.After = l.At("norm.").Norm(config.norm())
	activation, err := d.Activation("hidden_act", "gelu")
	if err != nil {
		return nil, err
	}
	feed := transformer.FeedForwardConfig{Dim: in, Hidden: in, OutDim: dim, Activation: activation, Bias: true}
	joined := &block.JoinedTower{ImageTower: t, Square: config.Square, Project: &projector{feed: l.FeedForward(feed, qwen35VisionFeed)}, Out: dim}
	return &ImageReader{ImageEncoder: joined, Token: tokens.Image, Begin: -1, End: -1, Videos: []int{tokens.Video}, Side: config.Square * config.Patch, Processors: []string{"Qwen2VL"}}, nil
}

// qwen35VisionFeed are the names of tensors of feed-forward networks.
var qwen35VisionFeed = transformer.FeedForwardNames{Up: "linear_fc1.", Down: "linear_fc2."}

// norm returns the configuration of all norms.
func (config *qwen35VisionConfig) norm() transformer.NormConfig {
	return transformer.NormConfig{Shape: []int{config.Dim}, Eps: 1e-6}
}

// newQwen35Vision returns the tower of images as a model of its own.
func newQwen35Vision(c *Checkpoint) (*Model, error) {
	if c.Config.Head() != "Model" {
		return nil, c.unknownHead()
	}
	c.Loader.Ignore("merger.*") // makes rows of a text
	config, t, err := qwen35Tower(c.doc, c.Loader)
	if err != nil {
		return nil, err
	}
	c.Config.Dim, c.Config.Layers = config.Dim, config.Layers
	return &Model{Image: t}, nil
}

// qwen35Tower returns the tower of images that d describes.
func qwen35Tower(d configuration.Document, l *transformer.Loader) (qwen35VisionConfig, *block.ImageTower, error) {
	config := qwen35VisionConfig{Dim: 1152, Hidden: 4304, Layers: 27, Heads: 16, Activation: "gelu_pytorch_tanh", Channels: 3, Patch: 16, Frames: 2, Square: 2, Out: 3584, Positions: 2304}
	if err := d.Decode(&config); err != nil {
		return config, nil, err
	}
	t, err := config.tower(d, l)
	return config, t, err
}

// tower returns the encoder of images.
func (config *qwen35VisionConfig) tower(d configuration.Document, l *transformer.Loader) (*block.ImageTower, error) {
	theta, err := d.AxialTheta(10000)
	if err != nil {
		return nil, err
	}
	if config.Dim%config.Heads != 0 || config.Dim/config.Heads%4 != 0 {
		return nil, d.Errorf("num_heads", "want heads whose size is a multiple of 4, hidden_size is %d", config.Dim)
	}
	const most = 1 << 10 // for sizes that no tensor confirms yet
	for _, size := range []struct {
		field string
		n     int
	}{{"patch_size", config.Patch}, {"temporal_patch_size", config.Frames}, {"in_channels", config.Channels}, {"spatial_merge_size", config.Square}} {
		if size.n > most {
			return nil, d.Errorf(size.field, "want at most %d", most)
		}
	}
	side := 1
	for (side+1)*(side+1) <= config.Positions && side < 1<<15 {
		side++
	}
	if len(config.Deep) > 0 {
		return nil, d.Errorf("deepstack_visual_indexes", "not supported by this model_type")
	}
	layers, err := config.layers(d, l)
	if err != nil {
		return nil, err
	}
	t := &block.ImageTower{Width: config.Dim, Pixels: side * config.Patch, Side: side, Depth: config.Layers, Layers: layers, Resize: resizeCorners}
	t.Patches = config.patches(l.At("patch_embed.proj."))
	table := l.Tensor("pos_embed.weight", config.Positions, config.Dim)
	if !l.Failed() { // the tensors confirm the sizes of the table and of a head
		t.Positions = table[:side*side*config.Dim] // those of the largest square
		t.Axial = &block.Axial{Frequencies: transformer.Frequencies(theta, config.Dim/config.Heads/2)}
	}
	return t, nil
}

// patches returns the projection of patches of several frames. All frames of an image are the same,
// so their weights can be added. GGUF files have a tensor for each of two frames.
func (config *qwen35VisionConfig) patches(l *transformer.Loader) *block.Patches {
	area, channels := config.Patch*config.Patch, config.Channels
	var frames [][]float32 // each [D, channels, height, width]
	if second := "weight.1"; l.Has(second) {
		for _, name := range []string{"weight", second} {
			frames = append(frames, l.Tensor(name, config.Dim, channels, config.Patch, config.Patch))
		}
	} else {
		all := l.Tensor("weight", config.Dim, channels, config.Frames, config.Patch, config.Patch)
		frames = make([][]float32, config.Frames)
		for i, one := range slices.Collect(slices.Chunk(all, area)) {
			frames[i%config.Frames] = append(frames[i%config.Frames], one...)
		}
	}
	var weight []float32 // [D, channels, height, width]
	if !l.Failed() {
		weight = make([]float32, len(frames[0]))
	}
	for i := range weight {
		sum := 0.0
		for _, frame := range frames {
			sum += float64(frame[i])
		}
		weight[i] = float32(sum)
	}
	return &block.Patches{Channels: channels, Height: config.Patch, Width: config.Patch, Project: l.LinearOf(channels*area, config.Dim, weight, l.Tensor("bias", config.Dim))}
}

// layers returns the layers of the tower.
func (config *qwen35VisionConfig) layers(d configuration.Document, l *transformer.Loader) (axialStack, error) {
	feed := transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.Hidden, Bias: true}
	var err error
	if feed.Activation, feed.Sharpness, err = d.FeedActivation("hidden_act", config.Activation); err != nil {
		return nil, err
	}
	var stack axialStack
	for i := 0; i < config.Layers && !l.Stopped(); i++ {
		l := l.At("blocks.%d.", i)
		part := func(i int) *transformer.Linear {
			return l.At("attn.").Stacked(config.Dim, true, transformer.Part{Name: "qkv.", Rows: config.Dim, From: i * config.Dim, Of: 3 * config.Dim})
		}
		stack = append(stack, &axialLayer{
			attentionNorm: l.At("norm1.").Norm(config.norm()),
			attention: &block.GridAttention{
				Query: part(0), Key: part(1), Value: part(2), Out: l.At("attn.proj.").Linear(config.Dim, config.Dim, true), Heads: config.Heads, KVHeads: config.Heads, HeadDim: config.Dim / config.Heads,
			},
			feedNorm: l.At("norm2.").Norm(config.norm()),
			feed:     l.At("mlp.").FeedForward(feed, qwen35VisionFeed),
		})
	}
	return stack, nil
}

// axialStack are layers whose positions have two axes.
type axialStack []*axialLayer

// Forward sets dst, [rows, D], to the output of the last layer. in.Beside has the positions.
func (s axialStack) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, _ *Cache) error {
	for _, l := range s {
		if err := l.forward(ws, dst, in); err != nil { // [rows, D]
			return err
		}
		in.X = dst
	}
	return nil
}

// axialLayer is a layer of an axialStack.
type axialLayer struct {
	attentionNorm, feedNorm *transformer.Norm
	attention               *block.GridAttention
	feed                    *transformer.FeedForward
}

// forward sets dst, [rows, D], to the layer's output for in.X, which may be dst.
func (l *axialLayer) forward(ws *Workspace, dst []float32, in transformer.LayerInput) error {
	defer ws.Release(ws.Mark())
	x, y := ws.Alloc(len(dst)), ws.Alloc(len(dst))               // [rows, D]
	if err := l.attentionNorm.Forward(ws, x, in.X); err != nil { // x = norm(in)
		return err
	}
	if err := l.attention.Forward(ws, y, x, in.Batch, in.Beside); err != nil { // y = attention(x)
		return err
	}
	ws.Threads.Add(dst, in.X, y)                           // dst = in + y
	if err := l.feedNorm.Forward(ws, x, dst); err != nil { // x = norm(dst)
		return err
	}
	return l.feed.Forward(ws, dst, x, dst) // dst += feed(x)
}

// resizeCorners resizes a table of positions linearly, so that its corners stay where they are.
// Places are computed in float32, as transformers does, since rounding decides between two rows.
var resizeCorners = block.ResizeBy(neighbours)

// neighbours returns the two places of n between which place i of to lies, and their weights.
func neighbours(i, to, n int) (at []int, weights []float32) {
	source := float32(i*(n-1)) / float32(max(to-1, 1))
	first := int(source)
	part := source - float32(first)
	return []int{first, min(first+1, n-1)}, []float32{1 - part, part}
}
