package models

import (
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Qwen3-Next and Qwen3.5: Qwen Team, 2025, "Qwen3-Next: Towards Ultimate Training & Inference
// Efficiency", and 2026. Three of four layers have a gated DeltaNet, and the fourth attention with
// a gate; normalizations hold w for 1+w. Qwen3.5 is published with a tower of images beside the
// text.

func init() {
	Register(newQwen35, "qwen3_5_text")
	Register(newQwen35MoE, "qwen3_5_moe_text")
	Register(newQwen3Next, "qwen3_next")
	for kind, text := range map[string]string{"qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text"} {
		registerWrapper(kind, wrapper{
			kinds: []string{text}, head: "ForConditionalGeneration", tied: "false", towers: []string{"visual.*", "model.visual.*"}, images: qwen35Images,
			fields: []string{"vision_config", "image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id"},
		})
	}
	registerProjector("qwen3vl_merger", qwen35Images, "qwen3_5_text", "qwen3_5_moe_text")
	registerGGUF("qwen35", llamacpp.Architecture{ModelType: "qwen3_5_text", Partial: "partial_rotary_factor", Read: readQwen35GGUF, Parts: qwen35GGUF})
	registerGGUF("qwen35moe", llamacpp.Architecture{ModelType: "qwen3_5_moe_text", Partial: "partial_rotary_factor", Experts: true, Read: readQwen35MoEGGUF, Parts: llamacpp.Merged(qwen35GGUF, qwen2GGUFExperts)})
	registerGGUF("qwen3next", llamacpp.Architecture{ModelType: "qwen3_next", Partial: "partial_rotary_factor", Experts: true, Read: readQwen35MoEGGUF, Parts: llamacpp.Merged(qwen35GGUF, qwen2GGUFExperts)})
}

// qwen35Config has the fields that the versions have in common.
type qwen35Config struct {
	llamaFields
	Bias       bool     `json:"attention_bias"`
	LayerTypes []string `json:"layer_types"`
	Interval   int      `json:"full_attention_interval"` // every so many layers one has attention, where layer_types does not say

	KeyHeads   int `json:"linear_num_key_heads"`
	ValueHeads int `json:"linear_num_value_heads"`
	KeyDim     int `json:"linear_key_head_dim"`
	ValueDim   int `json:"linear_value_head_dim"`
	Taps       int `json:"linear_conv_kernel_dim"`

	More     int  `json:"mtp_num_hidden_layers" min:"0"` // that predict further tokens
	OwnTable bool `json:"mtp_use_dedicated_embeddings"`  // of these layers
}

// qwen35MoEConfig has the further fields of models with experts.
type qwen35MoEConfig struct {
	TopK         int `json:"num_experts_per_tok"`
	Experts      int `json:"num_experts" min:"0"`
	ExpertHidden int `json:"moe_intermediate_size"`
	Shared       int `json:"shared_expert_intermediate_size"`
}

// qwen35Experts are the names of the experts. Qwen3.5 is published with all of a layer in two
// tensors, as transformers holds them.
var qwen35Experts = func() transformer.MixtureNames {
	names := qwenExperts
	names.Expert.Packed = "gate_up_proj."
	return names
}()

// qwen35Defaults returns transformers' defaults of fields that config.json lacks.
func qwen35Defaults() qwen35Config {
	c := qwen35Config{llamaFields: llamaDefaults, Interval: 4, KeyHeads: 16, ValueHeads: 32, KeyDim: 128, ValueDim: 128, Taps: 4}
	c.Vocab, c.Heads, c.KVHeads, c.HeadDim, c.Hidden, c.MaxPositions = 248320, 16, 4, 256, 12288, 32768
	c.Part, c.Partial = 0.25, true
	return c
}

func newQwen35(c *Checkpoint) (*Model, error) {
	config := qwen35Defaults()
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	layer, err := config.layer(c)
	if err != nil {
		return nil, err
	}
	return c.qwen35(config, layer, func(int) bool { return false })
}

func newQwen35MoE(c *Checkpoint) (*Model, error) {
	config, moe := qwen35Defaults(), qwen35MoEConfig{TopK: 8, Experts: 256, ExpertHidden: 512, Shared: 512}
	config.Dim, config.Layers, config.KVHeads, config.Hidden = 2048, 40, 2, 5632
	return c.qwen35MoE(config, moe, true)
}

func newQwen3Next(c *Checkpoint) (*Model, error) {
	config, moe := qwen35Defaults(), qwen35MoEConfig{TopK: 10, Experts: 512, ExpertHidden: 512, Shared: 512}
	config.Vocab, config.Dim, config.Layers, config.KVHeads, config.Hidden = 151936, 2048, 48, 2, 5632
	return c.qwen35MoE(config, moe, false)
}

// qwen35MoE returns the model with experts. always says that all layers have them, whose weights
// add up to 1.
func (c *Checkpoint) qwen35MoE(config qwen35Config, moe qwen35MoEConfig, always bool) (*Model, error) {
	sparse := struct {
		Normalize bool  `json:"norm_topk_prob"`
		Every     int   `json:"decoder_sparse_step"`
		Dense     []int `json:"mlp_only_layers"` // layers without experts
	}{true, 1, nil}
	fields := []any{&config, &moe}
	if !always {
		fields = append(fields, &sparse)
	}
	for _, f := range fields {
		if err := c.doc.Decode(f); err != nil {
			return nil, err
		}
	}
	layer, err := config.layer(c)
	if err != nil {
		return nil, err
	}
	if !c.convention.Converted {
		c.nameStackedExperts()
	}
	if moe.TopK > moe.Experts && moe.Experts > 0 {
		return nil, c.doc.Errorf("num_experts_per_tok", "want at most num_experts = %d", moe.Experts)
	}
	mixture := transformer.MixtureConfig{
		Dim: config.Dim, Hidden: moe.ExpertHidden, Experts: moe.Experts, TopK: moe.TopK, Normalize: sparse.Normalize, Activation: layer.FeedForward.Activation, Sharpness: layer.FeedForward.Sharpness,
	}
	shared := layer.FeedForward
	shared.Dim, shared.Hidden = config.Dim, moe.Shared
	layer.Feed = func(l *transformer.Loader) transformer.Feed {
		return c.sharedExpert(l, l.Mixture(mixture, qwen35Experts), shared)
	}
	return c.qwen35(config, layer, func(i int) bool {
		return !always && (moe.Experts == 0 || (i+1)%sparse.Every != 0 || slices.Contains(sparse.Dense, i))
	})
}

// layer returns the configuration of a layer.
func (config *qwen35Config) layer(c *Checkpoint) (transformer.LayerConfig, error) {
	if c.options.Images {
		config.Sections = []int{11, 11, 10}
	}
	layer, err := config.llamaFields.layer(c, "")
	if err != nil {
		return layer, err
	}
	if config.Activation != "silu" && config.Activation != "swish" {
		return layer, c.doc.Errorf("hidden_act", "want silu, which is the activation of the convolutions too")
	}
	const most = 1 << 12 // of what configurations merely claim
	for _, size := range []struct {
		field string
		n     int
	}{
		{"linear_num_key_heads", config.KeyHeads}, {"linear_num_value_heads", config.ValueHeads}, {"linear_key_head_dim", config.KeyDim}, {"linear_value_head_dim", config.ValueDim},
		{"linear_conv_kernel_dim", config.Taps},
	} {
		if size.n > most {
			return layer, c.doc.Errorf(size.field, "want at most %d", most)
		}
	}
	if config.ValueHeads%config.KeyHeads != 0 {
		return layer, c.doc.Errorf("linear_num_value_heads", "want a multiple of linear_num_key_heads = %d", config.KeyHeads)
	}
	layer.Self.Bias, layer.Self.OutBias, layer.Self.Gated = config.Bias, config.Bias, true
	layer.Self.QKNorm = &transformer.NormConfig{Eps: config.Eps, RMS: true}
	return layer, nil
}

// attends says which layers have attention.
func (config *qwen35Config) attends(d configuration.Document) (func(layer int) bool, error) {
	const linear = "linear_attention"
	if config.LayerTypes == nil {
		return func(i int) bool { return (i+1)%config.Interval == 0 }, nil
	}
	if len(config.LayerTypes) != config.Layers {
		return nil, d.Errorf("layer_types", "want %d values, as many as layers", config.Layers)
	}
	for _, kind := range config.LayerTypes {
		if kind != configuration.FullAttention && kind != linear {
			return nil, d.Errorf("layer_types", "want %q and %q", configuration.FullAttention, linear)
		}
	}
	return func(i int) bool { return config.LayerTypes[i] == configuration.FullAttention }, nil
}

// qwen35 returns the model. dense says which layers have a feed-forward network in place of what
// the configuration of the layers has.
func (c *Checkpoint) qwen35(config qwen35Config, layer transformer.LayerConfig, dense func(layer int) bool) (*Model, error) {
	attends, err := config.attends(c.doc)
	if err != nil {
		return nil, err
	}
	d := c.llamaDecoder(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		layer := layer
		if dense(i) {
			layer.Feed = nil
		}
		if !attends(i) {
			return c.deltaLayer(l, layer, config.delta(c)), 0
		}
		attention := l.Layer(layer, qwenLayer)
		if attention != nil && attention.Self != nil {
			c.onePlus(attention.SelfNorm, attention.FeedNorm, attention.Self.QueryNorm, attention.Self.KeyNorm)
		}
		return attention, 0
	})
	c.onePlus(d.Norm)
	d.Axes = c.options.Images
	if !c.options.MTP {
		c.Loader.Ignore("mtp.*")
	} else if d.Next, err = c.qwen35Predictor(d, config, layer); err != nil {
		return nil, err
	}
	return c.decoderModel(d, config.Tied)
}

// qwen35Predictor returns the layer that predicts the token after the next one, nil if the
// checkpoint has none. It has attention.
func (c *Checkpoint) qwen35Predictor(d *block.Decoder, config qwen35Config, layer transformer.LayerConfig) (*block.Predictor, error) {
	l := c.Loader.At("mtp.")
	if !l.Has("fc.weight") {
		return nil, nil
	}
	if c.options.Images {
		return nil, check.Option("MTP", true, "not together with Images")
	}
	if config.More > 1 {
		return nil, check.Option("MTP", true, "mtp_num_hidden_layers is %d, want 1", config.More)
	}
	if config.OwnTable {
		return nil, check.Option("MTP", true, "mtp_use_dedicated_embeddings is true, want false")
	}
	norm := layer.Norm
	norm.Shape = []int{config.Dim}
	one := l.At("layers.0.").Layer(layer, qwenLayer)
	p := &block.Predictor{
		Tokens: d.Tokens, TokenNorm: l.At("pre_fc_norm_embedding.").Norm(norm), HiddenNorm: l.At("pre_fc_norm_hidden.").Norm(norm), Norm: l.At("norm.").Norm(norm),
		Project: l.At("fc.").Linear(2*config.Dim, config.Dim, false), Layer: one,
	}
	c.onePlus(p.TokenNorm, p.HiddenNorm, p.Norm)
	if one != nil && one.Self != nil {
		c.onePlus(one.SelfNorm, one.FeedNorm, one.Self.QueryNorm, one.Self.KeyNorm)
	}
	return p, nil
}

// delta returns the configuration of a gated DeltaNet. Its projections are apart in Qwen3.5. In
// Qwen3-Next they are by key head: a query, a key, the values that belong to it and their gates;
// and beta and decay of these values.
func (config *qwen35Config) delta(c *Checkpoint) transformer.GatedDeltaNetConfig {
	d := transformer.GatedDeltaNetConfig{
		Dim: config.Dim, KeyHeads: config.KeyHeads, ValueHeads: config.ValueHeads, KeyDim: config.KeyDim, ValueDim: config.ValueDim, Taps: config.Taps, Eps: config.Eps,
		Alternate: c.convention.Converted && c.Config.ModelType != "qwen3_next", Negative: c.convention.Converted,
	}
	if c.convention.Converted { // whose files have one epsilon
		d.LengthEps = llamacpp.Shortest(float64(config.Eps))
	}
	keys, values := d.KeyHeads*d.KeyDim, d.ValueHeads*d.ValueDim
	d.QKV, d.Gate = []transformer.Part{{Name: "in_proj_qkv.", Rows: 2*keys + values}}, []transformer.Part{{Name: "in_proj_z.", Rows: values}}
	d.Beta, d.Decay = []transformer.Part{{Name: "in_proj_b.", Rows: d.ValueHeads}}, []transformer.Part{{Name: "in_proj_a.", Rows: d.ValueHeads}}
	if c.Config.ModelType != "qwen3_next" {
		return d
	}
	each := config.ValueHeads / config.KeyHeads // values of a key head
	byHead := func(name string, rows ...int) (parts [][]transformer.Part) {
		all := 0
		for _, n := range rows {
			all += n
		}
		from := 0
		for _, n := range rows {
			var heads []transformer.Part
			for h := range config.KeyHeads {
				heads = append(heads, transformer.Part{Name: name, Rows: n, From: h*all + from, Of: config.KeyHeads * all})
			}
			parts, from = append(parts, heads), from+n
		}
		return parts
	}
	ba := byHead("in_proj_ba.", each, each)
	d.Beta, d.Decay = ba[0], ba[1]
	if !c.convention.Converted {
		qkvz := byHead("in_proj_qkvz.", d.KeyDim, d.KeyDim, each*d.ValueDim, each*d.ValueDim)
		d.QKV, d.Gate = slices.Concat(qkvz[0], qkvz[1], qkvz[2]), qkvz[3]
	}
	return d
}

// deltaLayer is a layer with a gated DeltaNet in place of attention.
type deltaLayer struct {
	norm, feedNorm *transformer.Norm
	delta          *transformer.GatedDeltaNet
	feed           transformer.Feed
}

func (c *Checkpoint) deltaLayer(l *transformer.Loader, layer transformer.LayerConfig, delta transformer.GatedDeltaNetConfig) *deltaLayer {
	layer.Norm.Shape, layer.FeedForward.Dim = []int{delta.Dim}, delta.Dim
	d := &deltaLayer{norm: l.At(llamaLayer.SelfNorm).Norm(layer.Norm), feedNorm: l.At(llamaLayer.FeedNorm).Norm(layer.Norm), delta: l.At("linear_attn.").GatedDeltaNet(delta)}
	if layer.Feed != nil {
		d.feed = layer.Feed(l)
	} else {
		d.feed = l.FeedForward(layer.FeedForward, llamaLayer.Feed)
	}
	c.onePlus(d.norm, d.feedNorm)
	return d
}

// CacheBytes is 0: a row leaves only its part of the state.
func (l *deltaLayer) CacheBytes(kernels.Format) int64 { return 0 }

// StateBytes returns the memory of a sequence's state in a cache.
func (l *deltaLayer) StateBytes() int64 { return l.delta.StateBytes() }

// Forward sets dst, [rows, D], to the layer's output for in.X.
func (l *deltaLayer) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(len(dst))                             // [rows, D]
	if err := l.norm.Forward(ws, x, in.X); err != nil { // x = norm(in)  [rows, D]
		return err
	}
	if err := l.delta.Forward(ws, x, x, in.Batch, cache); err != nil { // x = delta(x)  [rows, D]
		return err
	}
	ws.Threads.Add(dst, in.X, x)                           // dst = in + x  [rows, D]
	if err := l.feedNorm.Forward(ws, x, dst); err != nil { // x = norm(dst)  [rows, D]
		return err
	}
	return l.feed.Forward(ws, dst, x, dst) // dst += feed(x)  [rows, D]
}
