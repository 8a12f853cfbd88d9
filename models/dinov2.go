package models

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// DINOv2: Oquab et al., 2023, "DINOv2: Learning Robust Visual Features without Supervision". ViT
// whose layers scale what each part adds, element by element; its largest size has gated
// feed-forward networks.

func init() {
	Register(newDINOv2, "dinov2")
	Describe(Traits{Use: UseImages}, "dinov2")
}

type dinov2Config struct {
	Dim        int     `json:"hidden_size"`
	Layers     int     `json:"num_hidden_layers"`
	Heads      int     `json:"num_attention_heads"`
	HiddenBy   int     `json:"mlp_ratio"` // times Dim
	Activation string  `json:"hidden_act"`
	Eps        float32 `json:"layer_norm_eps"`
	QKVBias    bool    `json:"qkv_bias"`
	Gated      bool    `json:"use_swiglu_ffn"`
	MaskToken  bool    `json:"use_mask_token"`
	block.ImageTowerConfig
}

var dinov2AttentionNames = transformer.AttentionNames{Query: "attention.query.", Key: "attention.key.", Value: "attention.value.", Out: "output.dense."}

func newDINOv2(c *Checkpoint) (*Model, error) {
	config := dinov2Config{
		Dim: 768, Layers: 12, Heads: 12, HiddenBy: 4, Activation: "gelu", Eps: 1e-6, QKVBias: true, MaskToken: true,
		ImageTowerConfig: block.ImageTowerConfig{Image: 224, Patch: 14, Channels: 3},
	}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	activation, err := c.doc.Activation("hidden_act", config.Activation)
	if err != nil {
		return nil, err
	}
	if config.Dim%config.Heads != 0 {
		return nil, c.doc.Errorf("num_attention_heads", "does not divide hidden_size = %d", config.Dim)
	}
	side, err := config.Side(c.doc)
	if err != nil {
		return nil, err
	}
	c.Config.Dim, c.Config.Layers = config.Dim, config.Layers
	body := c.Loader.Under("embeddings.cls_token", "dinov2.", "")
	if config.MaskToken {
		body.Ignore("embeddings.mask_token") // of training
	}
	feed := transformer.FeedForwardConfig{Dim: config.Dim, Hidden: config.HiddenBy * config.Dim, Activation: activation, Bias: true}
	names := transformer.FeedForwardNames{Up: "fc1.", Down: "fc2."}
	if config.Gated {
		names = transformer.FeedForwardNames{Packed: "weights_in.", Down: "weights_out."}
		feed.Hidden = (feed.Hidden*2/3 + 7) / 8 * 8
		feed.Activation, feed.Gated = kernels.ActSiLU, true
	}
	norm := transformer.NormConfig{Shape: []int{config.Dim}, Eps: config.Eps}
	stack := &dinov2Stack{norm: body.At("layernorm.").Norm(norm)}
	attention := transformer.AttentionConfig{Dim: config.Dim, Heads: config.Heads, Bias: config.QKVBias, OutBias: true}
	for i := 0; i < config.Layers && !body.Stopped(); i++ {
		l := body.At("encoder.layer.%d.", i)
		stack.layers = append(stack.layers, &dinov2Layer{
			attentionNorm:  l.At("norm1.").Norm(norm),
			attention:      dinov2Attention{l.At("attention.").Attention(attention, dinov2AttentionNames)},
			attentionScale: l.Tensor("layer_scale1.lambda1", config.Dim),
			feedNorm:       l.At("norm2.").Norm(norm),
			feed:           l.At("mlp.").FeedForward(feed, names),
			feedScale:      l.Tensor("layer_scale2.lambda1", config.Dim),
		})
	}
	m := &Model{
		Image: &block.ImageTower{
			Width: config.Dim, Pixels: config.Image, Side: side,
			Patches:   block.LoadPatches(body.At("embeddings.patch_embeddings.projection."), config.Dim, config.Channels, config.Patch, config.Patch, true),
			Class:     body.Tensor("embeddings.cls_token", 1, 1, config.Dim),
			Positions: body.Tensor("embeddings.position_embeddings", 1, 1+side*side, config.Dim),
			Layers:    stack,
		},
		Heads: Heads{HeadImagePooler: &block.Head{Dim: config.Dim, Pool: block.PoolFirst}},
	}
	switch c.Config.Head() {
	case "Model":
	case "ForImageClassification":
		m.Heads[HeadImageClassifier] = &classAndMean{c.classify(c.Loader.At("classifier."), 2*config.Dim, true)}
	default:
		return nil, c.unknownHead()
	}
	return m, nil
}

// dinov2Stack is layers and the normalization after them.
type dinov2Stack struct {
	layers []*dinov2Layer
	norm   *transformer.Norm
}

// Forward sets dst, [rows, D], to the output of the last layer, normalized.
func (s *dinov2Stack) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, _ *Cache) error {
	for _, l := range s.layers {
		if err := l.forward(ws, dst, in); err != nil { // [rows, D]
			return err
		}
		in.X = dst
	}
	return s.norm.Forward(ws, dst, dst) // [rows, D]
}

// dinov2Attention is self-attention without positions.
type dinov2Attention struct {
	*transformer.MultiHeadAttention
}

func (a dinov2Attention) Forward(ws *Workspace, dst, x []float32, batch Batch, _ []float32) error {
	return a.MultiHeadAttention.Forward(ws, dst, transformer.AttentionInput{Query: x, Batch: batch}, nil)
}

// dinov2Layer scales what each part adds.
type dinov2Layer struct {
	attentionNorm, feedNorm *transformer.Norm
	attention               interface {
		// Forward sets dst, [rows, D], to the attention of x, [rows, D], at the positions in turns;
		// nil: none.
		Forward(ws *Workspace, dst, x []float32, batch Batch, turns []float32) error
	}
	feed                      *transformer.FeedForward
	attentionScale, feedScale []float32 // [D]
}

// forward sets dst, [rows, D], to the layer's output for in.X, which may be dst.
func (l *dinov2Layer) forward(ws *Workspace, dst []float32, in transformer.LayerInput) error {
	defer ws.Release(ws.Mark())
	x, y := ws.Alloc(len(dst)), ws.Alloc(len(dst))               // [rows, D]
	if err := l.attentionNorm.Forward(ws, x, in.X); err != nil { // x = norm(in)  [rows, D]
		return err
	}
	if err := l.attention.Forward(ws, y, x, in.Batch, in.Beside); err != nil { // y = attention(x)  [rows, D]
		return err
	}
	addScaled(dst, in.X, y, l.attentionScale)              // dst = in + y*scale  [rows, D]
	if err := l.feedNorm.Forward(ws, x, dst); err != nil { // x = norm(dst)  [rows, D]
		return err
	}
	if err := l.feed.Forward(ws, y, x, nil); err != nil { // y = feed(x)  [rows, D]
		return err
	}
	addScaled(dst, dst, y, l.feedScale) // dst += y*scale       [rows, D]
	return nil
}

// addScaled sets dst to x + y*scale, the scale of each column, for [rows, D]. dst may be x.
func addScaled(dst, x, y, scale []float32) {
	for ; len(dst) > 0; dst, x, y = dst[len(scale):], x[len(scale):], y[len(scale):] {
		for i, s := range scale {
			dst[i] = x[i] + float32(y[i]*s)
		}
	}
}

// classAndMean is a classifier of the row of the class, followed by the mean of the patches.
type classAndMean struct{ out *transformer.Linear }

func (h *classAndMean) Out() int { return h.out.Out }

func (h *classAndMean) Forward(ws *Workspace, dst, x []float32, in Tokens) error {
	dim, n := h.out.In/2, in.Batch.Len()
	defer ws.Release(ws.Mark())
	class, mean, both := ws.Alloc(n*dim), ws.Alloc(n*dim), ws.Alloc(2*n*dim) // [images, D], [images, D], [images, 2D]
	err := block.PoolFirst(class, x, in, dim, 0)
	if err == nil {
		err = block.PoolMean(mean, x, in, dim, 1)
	}
	if err != nil {
		return check.Errorf(fault.ErrShape, "class and mean of patches: %w", err)
	}
	for i := range n {
		copy(both[2*i*dim:], class[i*dim:(i+1)*dim])
		copy(both[(2*i+1)*dim:], mean[i*dim:(i+1)*dim])
	}
	return h.out.Forward(ws, dst, both) // [images, labels]
}
