package models

import (
	"cmp"
	"math"
	"slices"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// LFM2: Liquid AI, 2025, "LFM2 Technical Report". Most layers have a gated convolution over a few
// rows where the others have attention, whose queries and keys are normalized.

func init() {
	Register(newLFM2, "lfm2")
	registerGGUF("lfm2", llamacpp.Architecture{ByLayer: true, Read: readLFM2GGUF, Whole: lfm2GGUFWhole, Parts: lfm2GGUFParts})
}

// lfm2GGUFWhole and lfm2GGUFParts are llama.cpp's names of the tensors.
var (
	lfm2GGUFWhole = map[string]string{"embedding_norm": "token_embd_norm"}
	lfm2GGUFParts = map[string]string{
		"operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
		"feed_forward.w1": "ffn_gate", "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down",
		"conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj", "conv.conv": "shortconv.conv",
	}
)

// lfm2Fields has the fields that LFM2 and its mixture of experts have in common.
type lfm2Fields struct {
	llamaFields
	Eps        float32  `json:"norm_eps"`
	LayerTypes []string `json:"layer_types"`
	Taps       int      `json:"conv_L_cache"`
	Bias       bool     `json:"conv_bias"`
	TiedToo    *bool    `json:"tie_embedding"` // goes before tie_word_embeddings
}

type lfm2Config struct {
	lfm2Fields
	Attention []int `json:"full_attn_idxs"` // the layers with attention, where layer_types does not say; null: all

	// The width of the feed-forward network, as it came to be.
	FeedWidth int     `json:"block_ff_dim" min:"0"` // goes before intermediate_size; 0: absent
	Adjust    bool    `json:"block_auto_adjust_ff_dim"`
	Factor    float64 `json:"block_ffn_dim_multiplier"`
	Multiple  int     `json:"block_multiple_of"`
}

// lfm2Defaults returns transformers' defaults of fields that config.json lacks.
func lfm2Defaults() lfm2Fields {
	f := lfm2Fields{llamaFields: llamaDefaults, Eps: 1e-5, Taps: 3}
	f.Vocab, f.Layers, f.Heads, f.KVHeads = 65536, 32, 32, 8
	f.RopeTheta, f.MaxPositions, f.Tied = 1e6, 128000, true
	return f
}

// lfm2Layer is the names of a layer with attention.
var lfm2Layer = transformer.LayerNames{
	Self: "self_attn.", SelfNorm: "operator_norm.", FeedNorm: "ffn_norm.",
	Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "out_proj.", QueryNorm: "q_layernorm.", KeyNorm: "k_layernorm."},
	Feed:      transformer.FeedForwardNames{Gate: "feed_forward.w1.", Up: "feed_forward.w3.", Down: "feed_forward.w2."},
}

func newLFM2(c *Checkpoint) (*Model, error) {
	config := lfm2Config{lfm2Fields: lfm2Defaults(), Adjust: true, Factor: 1, Multiple: 256}
	config.Dim, config.Hidden = 2560, 12288
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if err := config.width(c.doc); err != nil {
		return nil, err
	}
	layer, err := config.layer(c)
	if err != nil {
		return nil, err
	}
	return c.lfm2(config.lfm2Fields, func(i int) (transformer.LayerConfig, bool) {
		if config.LayerTypes != nil {
			return layer, config.LayerTypes[i] == lfm2Convolves
		}
		return layer, config.Attention != nil && !slices.Contains(config.Attention, i)
	})
}

// lfm2Convolves is the name of a layer with a convolution in layer_types.
const lfm2Convolves = "conv"

// lfm2 returns the model whose layers are as layer says, with attention or with a convolution.
func (c *Checkpoint) lfm2(config lfm2Fields, layer func(i int) (layer transformer.LayerConfig, convolves bool)) (*Model, error) {
	if config.TiedToo != nil {
		config.Tied = *config.TiedToo
	}
	config.normName = "embedding_norm."
	return c.llama(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		own, convolves := layer(i)
		if convolves {
			return config.convolution(l, own), config.Taps
		}
		return l.Layer(own, lfm2Layer), 0
	})
}

// layer returns the configuration of a layer. It checks layer_types.
func (config *lfm2Fields) layer(c *Checkpoint) (transformer.LayerConfig, error) {
	for _, kind := range config.LayerTypes {
		if kind != configuration.FullAttention && kind != lfm2Convolves {
			return transformer.LayerConfig{}, c.doc.Errorf("layer_types", "want %q and %q", configuration.FullAttention, lfm2Convolves)
		}
	}
	if n := len(config.LayerTypes); config.LayerTypes != nil && n != config.Layers {
		return transformer.LayerConfig{}, c.doc.Errorf("layer_types", "want %d values, as many as layers", config.Layers)
	}
	config.llamaFields.Eps = config.Eps
	layer, err := config.llamaFields.layer(c, "")
	layer.Self.QKNorm = &transformer.NormConfig{Eps: config.Eps, RMS: true}
	return layer, err
}

// width sets Hidden to the width of the feed-forward network: two thirds of what is said, as of a
// network with two matrices that becomes one with three, rounded up to a multiple.
func (config *lfm2Config) width(d configuration.Document) error {
	config.Hidden = cmp.Or(config.FeedWidth, config.Hidden)
	if !config.Adjust {
		return nil
	}
	const most = 1 << 24 // of what configurations merely claim
	width := math.Floor(config.Factor * float64(2*config.Hidden/3))
	if !(width >= 1 && width <= most) || config.Multiple > most {
		return d.Errorf("intermediate_size", "becomes %g with block_ffn_dim_multiplier = %g and block_multiple_of = %d, want 1 to %d", width, config.Factor, config.Multiple, most)
	}
	config.Hidden = (int(width) + config.Multiple - 1) / config.Multiple * config.Multiple
	return nil
}

// lfm2Convolution is a layer with a convolution instead of attention.
type lfm2Convolution struct {
	norm, feedNorm *transformer.Norm
	convolution    *transformer.ShortConvolution
	feed           transformer.Feed
}

func (config *lfm2Fields) convolution(l *transformer.Loader, layer transformer.LayerConfig) *lfm2Convolution {
	layer.Norm.Shape, layer.FeedForward.Dim = []int{config.Dim}, config.Dim
	feed := layer.Feed
	if feed == nil {
		feed = func(l *transformer.Loader) transformer.Feed { return l.FeedForward(layer.FeedForward, lfm2Layer.Feed) }
	}
	return &lfm2Convolution{
		norm: l.At(lfm2Layer.SelfNorm).Norm(layer.Norm), feedNorm: l.At(lfm2Layer.FeedNorm).Norm(layer.Norm),
		convolution: l.At("conv.").ShortConvolution(config.Dim, config.Taps, config.Bias), feed: feed(l),
	}
}

func (l *lfm2Convolution) CacheBytes(f kernels.Format) int64 { return l.convolution.CacheBytes(f) }

// Forward sets dst, [rows, D], to the layer's output for in.X.
func (l *lfm2Convolution) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(len(dst))                             // [rows, D]
	if err := l.norm.Forward(ws, x, in.X); err != nil { // x = norm(in)  [rows, D]
		return err
	}
	if err := l.convolution.Forward(ws, x, x, in.Batch, cache); err != nil { // x = convolution(x)  [rows, D]
		return err
	}
	ws.Threads.Add(dst, in.X, x)                           // dst = in + x  [rows, D]
	if err := l.feedNorm.Forward(ws, x, dst); err != nil { // x = norm(dst)  [rows, D]
		return err
	}
	return l.feed.Forward(ws, dst, x, dst) // dst += down(silu(gate(x)) * up(x)) [rows, D]
}

// readLFM2GGUF reads what LFM2 has: the layers without heads of keys and values have a convolution.
func readLFM2GGUF(r *llamacpp.Reader) {
	readHeadsByLayer(r, lfm2Convolves)
	if r.Architecture == "lfm2" {
		r.Fields["block_auto_adjust_ff_dim"] = false
	}
	r.Integer("conv_L_cache", "shortconv.l_cache", true)
	r.Rename("norm_eps", "rms_norm_eps")
	r.Want("attention.sliding_window", 0)
}
