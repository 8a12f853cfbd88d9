package models

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Falcon-H1: TII, 2025, "Falcon-H1: A Family of Hybrid-Head Language Models". Attention and Mamba-2
// work side by side in each layer. Multipliers take the place of what training would otherwise have
// to find.

func init() {
	Register(newFalconH1, "falcon_h1")
	registerGGUF("falcon-h1", llamacpp.Architecture{ModelType: "falcon_h1", Read: readFalconH1GGUF, Whole: map[string]string{"final_layernorm": "output_norm"}, Parts: mambaParts("mamba.", map[string]string{
		"pre_ff_layernorm.weight": "ffn_norm", "feed_forward.gate_proj": "ffn_gate", "feed_forward.up_proj": "ffn_up", "feed_forward.down_proj": "ffn_down",
	})})
}

type falconH1Config struct {
	llamaConfig
	mambaFields
	Inner     int  `json:"mamba_d_ssm"` // channels of all heads; null: what Expand gives
	Norm      bool `json:"mamba_rms_norm"`
	NormFirst bool `json:"mamba_norm_before_gate"`
	OutBias   bool `json:"projectors_bias"`

	Embedding    float32   `json:"embedding_multiplier"`
	Logits       float32   `json:"lm_head_multiplier"`
	Feed         []float32 `json:"mlp_multipliers"` // of the gate and of what leaves the network
	Keys         float32   `json:"key_multiplier"`
	AttentionIn  float32   `json:"attention_in_multiplier"`
	AttentionOut float32   `json:"attention_out_multiplier"`
	Parts        []float32 `json:"ssm_multipliers"` // of z, x, B, C and the time steps
	MambaIn      float32   `json:"ssm_in_multiplier"`
	MambaOut     float32   `json:"ssm_out_multiplier"`
}

func newFalconH1(c *Checkpoint) (*Model, error) {
	config := falconH1Config{llamaConfig: llamaConfig{llamaFields: llamaDefaults}, mambaFields: mambaDefaults(c), Inner: 1024, NormFirst: !c.doc.IsNull("mamba_norm_before_gate")}
	config.Vocab, config.Hidden, config.KVHeads, config.Eps, config.MaxPositions = 128000, 14336, 8, 1e-5, 8192
	config.normName = "final_layernorm."
	config.Embedding, config.Logits, config.Keys, config.AttentionIn, config.AttentionOut, config.MambaIn, config.MambaOut = 1, 1, 1, 1, 1, 1, 1
	config.Feed = []float32{1, 1}
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.Bias, layer.Self.OutBias, layer.FeedForward.Bias = config.Bias, config.Bias, config.MLPBias
	if err := config.scale(c, &layer); err != nil {
		return nil, err
	}
	mamba, err := config.mamba(c)
	if err != nil {
		return nil, err
	}
	d := c.llamaDecoder(config.llamaFields, func(l *transformer.Loader, _ int) (block.DecoderLayer, int) {
		return config.load(l, layer, mamba), 0
	})
	d.Tokens.Scale, d.Scale = config.Embedding, config.Logits
	return c.decoderModel(d, config.Tied)
}

// falconH1Multipliers are the fields that multiply something.
var falconH1Multipliers = []string{
	"embedding_multiplier", "lm_head_multiplier", "key_multiplier", "attention_in_multiplier", "attention_out_multiplier", "ssm_in_multiplier", "ssm_out_multiplier",
}

// scale checks the multipliers, and gives the layer those of its gate and its keys.
func (config *falconH1Config) scale(c *Checkpoint, layer *transformer.LayerConfig) error {
	if err := c.doc.NoneNull(falconH1Multipliers...); err != nil {
		return err
	}
	for _, list := range []struct {
		field  string
		values []float32
		n      int
	}{{"mlp_multipliers", config.Feed, 2}, {"ssm_multipliers", config.Parts, 5}} {
		if list.values != nil && len(list.values) != list.n {
			return c.doc.Errorf(list.field, "want %d numbers", list.n)
		}
		for _, v := range list.values {
			if !(v > 0 && v <= math.MaxFloat32) {
				return c.doc.Errorf(list.field, "want numbers above 0")
			}
		}
	}
	layer.Self.Scale = config.Keys / float32(math.Sqrt(float64(config.HeadDim)))
	if gate := config.Feed[0]; gate != 1 {
		layer.FeedForward.Sharpness = gate // divides what the network gives, too
	}
	return nil
}

// mamba returns the configuration of the blocks of Mamba-2.
func (config *falconH1Config) mamba(c *Checkpoint) (transformer.Mamba2Config, error) {
	inner := config.Inner
	if c.doc.IsNull("mamba_d_ssm") {
		inner = config.Expand * config.Dim
	}
	m, err := config.block(c, hybridNames, config.Dim, inner, config.Activation, config.Eps)
	m.OutBias, m.NormFirst, m.InScale, m.Scales = config.OutBias, config.NormFirst, config.MambaIn, config.Parts
	if !config.Norm {
		m.Eps = 0
	}
	return m, err
}

// falconH1Layer is a layer whose attention and Mamba-2 see the same rows, normalized.
type falconH1Layer struct {
	*block.Layer              // without Mamba-2
	mamba                     *transformer.Mamba2
	mambaOut                  float32
	attentionIn, attentionOut float32
	feedOut                   float32
}

func (config *falconH1Config) load(l *transformer.Loader, layer transformer.LayerConfig, mamba transformer.Mamba2Config) *falconH1Layer {
	layer.Feed = func(l *transformer.Loader) transformer.Feed {
		feed := layer.FeedForward
		feed.Dim = config.Dim
		f := l.FeedForward(feed, bambaLayer.Feed)
		if f != nil && f.Down != nil && f.Down.Bias != nil && feed.Sharpness != 0 {
			f.Down.Bias = slices.Clone(f.Down.Bias) // feedOut multiplies it by Sharpness, too
			kernels.Scale(f.Down.Bias, f.Down.Bias, 1/feed.Sharpness)
		}
		return f
	}
	return &falconH1Layer{
		Layer: block.LoadLayer(l, layer, bambaLayer), mamba: l.At("mamba.").Mamba2(mamba),
		mambaOut: config.MambaOut, attentionIn: config.AttentionIn, attentionOut: config.AttentionOut, feedOut: config.Feed[0] * config.Feed[1],
	}
}

// StateBytes returns the memory of a sequence's state in a cache.
func (l *falconH1Layer) StateBytes() int64 { return l.mamba.StateBytes() }

// Forward sets dst, [rows, D], to the layer's output for in.X, which may be dst.
func (l *falconH1Layer) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	x, y := ws.Alloc(len(dst)), ws.Alloc(len(dst))      // [rows, D] each
	if err := l.Norm.Forward(ws, x, in.X); err != nil { // x = norm(in)  [rows, D]
		return err
	}
	if err := l.mamba.Forward(ws, y, x, in.Batch, cache); err != nil { // y = mamba(x)  [rows, D]
		return err
	}
	ws.Threads.Scale(y, y, l.mambaOut)    // y *= mambaOut
	ws.Threads.Scale(x, x, l.attentionIn) // x *= attentionIn
	z := ws.Alloc(len(dst))
	if err := l.Attention.Forward(ws, z, transformer.AttentionInput{Query: x, Batch: in.Batch, Mask: in.Mask}, cache); err != nil { // z = attention(x)  [rows, D]
		return err
	}
	ws.Threads.AXPY(l.attentionOut, z, y)                  // y += attentionOut*z
	ws.Threads.Add(dst, in.X, y)                           // dst = in + y  [rows, D]
	if err := l.FeedNorm.Forward(ws, x, dst); err != nil { // x = norm(dst)  [rows, D]
		return err
	}
	if err := l.Feed.Forward(ws, y, x, nil); err != nil { // y = feed(x)  [rows, D]
		return err
	}
	ws.Threads.AXPY(l.feedOut, y, dst) // dst += feedOut*y
	return nil
}
