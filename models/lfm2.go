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

// LFM2: Liquid AI, 2025, "LFM2 Technical Report". Most layers have a gated convolution over a few rows where the others have
// attention, whose queries and keys are normalized.

func init() {
	Register(newLFM2, "lfm2")
	registerGGUF("lfm2", llamacpp.Architecture{ByLayer: true, Read: readLFM2GGUF, Whole: map[string]string{"embedding_norm": "token_embd_norm"}, Parts: map[string]string{
		"operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
		"feed_forward.w1": "ffn_gate", "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down",
		"conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj", "conv.conv": "shortconv.conv",
	}})
}

type lfm2Config struct {
	llamaFields
	Eps        float32  `json:"norm_eps"`
	LayerTypes []string `json:"layer_types"`
	Attention  []int    `json:"full_attn_idxs"` // the layers with attention, where layer_types does not say; null: all
	Taps       int      `json:"conv_L_cache"`
	Bias       bool     `json:"conv_bias"`

	// The width of the feed-forward network, as it came to be.
	FeedWidth int     `json:"block_ff_dim" min:"0"` // goes before intermediate_size; 0: absent
	Adjust    bool    `json:"block_auto_adjust_ff_dim"`
	Factor    float64 `json:"block_ffn_dim_multiplier"`
	Multiple  int     `json:"block_multiple_of"`

	TiedToo *bool `json:"tie_embedding"` // goes before tie_word_embeddings
}

// lfm2Layer is the names of a layer with attention.
var lfm2Layer = transformer.LayerNames{
	Self: "self_attn.", SelfNorm: "operator_norm.", FeedNorm: "ffn_norm.",
	Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "out_proj.", QueryNorm: "q_layernorm.", KeyNorm: "k_layernorm."},
	Feed:      transformer.FeedForwardNames{Gate: "feed_forward.w1.", Up: "feed_forward.w3.", Down: "feed_forward.w2."},
}

func newLFM2(c *Checkpoint) (*Model, error) {
	config := lfm2Config{llamaFields: llamaDefaults, Eps: 1e-5, Taps: 3, Adjust: true, Factor: 1, Multiple: 256}
	config.Vocab, config.Dim, config.Layers, config.Heads, config.KVHeads, config.Hidden = 65536, 2560, 32, 32, 8, 12288
	config.RopeTheta, config.MaxPositions, config.Tied = 1e6, 128000, true
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	convolves, err := config.convolves(c.doc)
	if err != nil {
		return nil, err
	}
	if config.TiedToo != nil {
		config.Tied = *config.TiedToo
	}
	if err := config.width(c.doc); err != nil {
		return nil, err
	}
	config.llamaFields.Eps, config.normName = config.Eps, "embedding_norm."
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	layer.Self.QKNorm = &transformer.NormConfig{Eps: config.Eps, RMS: true}
	return c.llama(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		if convolves(i) {
			return config.convolution(l, layer), config.Taps
		}
		return l.Layer(layer, lfm2Layer), 0
	})
}

// convolves says which layers have a convolution.
func (config *lfm2Config) convolves(d configuration.Document) (func(layer int) bool, error) {
	const convolution = "conv"
	for _, kind := range config.LayerTypes {
		if kind != configuration.FullAttention && kind != convolution {
			return nil, d.Errorf("layer_types", "want %q and %q", configuration.FullAttention, convolution)
		}
	}
	if n := len(config.LayerTypes); config.LayerTypes != nil && n != config.Layers {
		return nil, d.Errorf("layer_types", "want %d values, as many as layers", config.Layers)
	}
	return func(i int) bool {
		if config.LayerTypes != nil {
			return config.LayerTypes[i] == convolution
		}
		return config.Attention != nil && !slices.Contains(config.Attention, i)
	}, nil
}

// width sets Hidden to the width of the feed-forward network: two thirds of what is said, as of a network with two matrices that
// becomes one with three, rounded up to a multiple.
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
	convolution    transformer.ShortConvolution
	feed           *transformer.FeedForward
}

func (config *lfm2Config) convolution(l *transformer.Loader, layer transformer.LayerConfig) *lfm2Convolution {
	dim, own := config.Dim, l.At("conv.")
	layer.Norm.Shape, layer.FeedForward.Dim = []int{dim}, dim
	shape := []int{dim, 1, config.Taps}
	if stored, ok := own.Shape("conv.weight"); ok && len(stored) == 2 { // in GGUF files
		shape = []int{dim, config.Taps}
	}
	weight := own.Tensor("conv.weight", shape...) // [D, taps]
	return &lfm2Convolution{
		norm: l.At(lfm2Layer.SelfNorm).Norm(layer.Norm), feedNorm: l.At(lfm2Layer.FeedNorm).Norm(layer.Norm),
		convolution: transformer.ShortConvolution{
			In: own.At("in_proj.").Linear(dim, 3*dim, config.Bias), Out: own.At("out_proj.").Linear(dim, dim, config.Bias),
			Weight: block.StepsFirst(weight, dim, config.Taps), // [taps, D]
			Bias:   own.Optional(config.Bias, "conv.bias", dim),
		},
		feed: l.FeedForward(layer.FeedForward, lfm2Layer.Feed),
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
	key := r.Key("attention.head_count_kv")
	heads, err := r.File.Ints(key)
	r.Note(err)
	kinds := make([]string, len(heads))
	for i, n := range heads {
		if kinds[i] = "conv"; n != 0 {
			kinds[i] = configuration.FullAttention
			if own, ok := r.Fields["num_key_value_heads"]; ok && own != n {
				r.Note(configuration.KeyError(key, heads, "not supported: the heads of layers differ"))
			}
			r.Fields["num_key_value_heads"] = n
		}
	}
	r.Fields["layer_types"], r.Fields["block_auto_adjust_ff_dim"] = kinds, false
	r.Integer("conv_L_cache", "shortconv.l_cache", true)
	r.Rename("norm_eps", "rms_norm_eps")
	r.Want("attention.sliding_window", 0)
}
