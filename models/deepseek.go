package models

import (
	"fmt"
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// DeepSeek V3: DeepSeek-AI, 2024, "DeepSeek-V3 Technical Report": latent attention, and a mixture
// of experts that are picked by sigmoids in groups, beside experts that every row takes.

func init() {
	Register(newDeepSeekV3, "deepseek_v3")
	registerGGUF("deepseek2", llamacpp.Architecture{
		ModelType: "deepseek_v3", Latent: true, Experts: true, Read: readDeepSeekGGUF,
		Parts: llamacpp.Merged(llamacpp.Experts("mlp.gate", "mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"), map[string]string{
			"self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm", "self_attn.q_b_proj": "attn_q_b",
			"self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa", "self_attn.kv_a_layernorm": "attn_kv_a_norm",
			"self_attn.k_b_proj": "attn_k_b", "self_attn.v_b_proj": "attn_v_b", "mlp.gate.e_score_correction_bias": "exp_probs_b.bias",
			"mlp.shared_experts.gate_proj": "ffn_gate_shexp", "mlp.shared_experts.up_proj": "ffn_up_shexp", "mlp.shared_experts.down_proj": "ffn_down_shexp",
		}),
	})
}

type deepSeekConfig struct {
	llamaFields
	Bias         bool    `json:"attention_bias"`
	QueryRank    int     `json:"q_lora_rank" min:"0"` // 0: null
	Rank         int     `json:"kv_lora_rank"`
	Turned       int     `json:"qk_rope_head_dim"`
	Plain        int     `json:"qk_nope_head_dim"`
	ValueDim     int     `json:"v_head_dim"`
	Interleaved  bool    `json:"rope_interleave"`
	Experts      int     `json:"n_routed_experts"`
	Shared       int     `json:"n_shared_experts"`
	ExpertHidden int     `json:"moe_intermediate_size"`
	TopK         int     `json:"num_experts_per_tok"`
	Groups       int     `json:"n_group"`
	TopGroups    int     `json:"topk_group"`
	Dense        int     `json:"first_k_dense_replace" min:"0"` // the first layers, which have no experts
	Normalize    bool    `json:"norm_topk_prob"`
	Scale        float32 `json:"routed_scaling_factor"`
	More         int     `json:"num_nextn_predict_layers" min:"0"` // layers after the last, which predict further tokens
	oneEpsilon   bool    // of all norms; else those of latent vectors have their own
}

var deepSeekNames = transformer.LatentNames{
	Query: "q_proj.", QueryDown: "q_a_proj.", QueryNorm: "q_a_layernorm.", QueryUp: "q_b_proj.",
	Down: "kv_a_proj_with_mqa.", Norm: "kv_a_layernorm.", Up: "kv_b_proj.", KeyUp: "k_b_proj.", ValueUp: "v_b_proj.", Out: "o_proj.",
}

func newDeepSeekV3(c *Checkpoint) (*Model, error) {
	config := deepSeekConfig{
		llamaFields: llamaDefaults, QueryRank: 1536, Rank: 512, Turned: 64, Plain: 128, ValueDim: 128,
		Experts: 256, Shared: 1, ExpertHidden: 2048, TopK: 8, Groups: 8, TopGroups: 4, Dense: 3, Scale: 2.5, More: 1,
	}
	config.Vocab, config.Dim, config.Layers, config.Heads, config.KVHeads, config.Hidden, config.MaxPositions = 129280, 7168, 61, 128, 128, 18432, 4096
	config.Sharpens, config.oneEpsilon = true, c.convention.Converted
	if c.doc.IsNull("q_lora_rank") {
		config.QueryRank = 0
	}
	config.Interleaved, config.Normalize = !c.doc.IsNull("rope_interleave"), !c.doc.IsNull("norm_topk_prob")
	if err := c.doc.NoneNull("v_head_dim", "n_group", "topk_group", "num_experts_per_tok", "first_k_dense_replace"); err != nil {
		return nil, err
	}
	c.doc.Note("qk_head_dim") // the sum of two others
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	if config.HeadDim != 0 && config.HeadDim != config.Turned {
		return nil, c.doc.Errorf("head_dim", "want qk_rope_head_dim = %d", config.Turned)
	}
	config.HeadDim = config.Turned
	layer, err := config.layer(c, "")
	if err != nil {
		return nil, err
	}
	if config.KVHeads != config.Heads {
		return nil, c.doc.Errorf("num_key_value_heads", "want num_attention_heads = %d", config.Heads)
	}
	if layer.Self.Rotary.Pairing = transformer.PairHalves; config.Interleaved {
		layer.Self.Rotary.Pairing = transformer.PairNeighbours
	}
	d := c.llamaDecoder(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		return config.load(l, layer, i), 0
	})
	read := 0
	if l := c.Loader.At("model.layers.%d.", config.Layers); c.options.MTP && config.More > 0 && l.Has("eh_proj.weight") {
		read, d.Next = 1, config.predictor(l, d, layer)
		l.Ignore("embed_tokens.*", "shared_head.head.*") // copies of those of the model
	}
	c.Loader.Ignore(config.further(read)...)
	return c.decoderModel(d, config.Tied)
}

// predictor returns the layer that predicts the token after the next one.
func (config *deepSeekConfig) predictor(l *transformer.Loader, d *block.Decoder, layer transformer.LayerConfig) *block.Predictor {
	norm := layer.Norm
	norm.Shape = []int{config.Dim}
	return &block.Predictor{
		Tokens: d.Tokens, TokenNorm: l.At("enorm.").Norm(norm), HiddenNorm: l.At("hnorm.").Norm(norm), Norm: l.At("shared_head.norm.").Norm(norm),
		Project: l.At("eh_proj.").Linear(2*config.Dim, config.Dim, false), Layer: config.load(l, layer, config.Layers),
	}
}

// readDeepSeekGGUF reads the sizes of latent attention and the mixture. Keys and values count as
// those of one head there, of the latent vector and the features with positions.
func readDeepSeekGGUF(r *llamacpp.Reader) {
	for _, field := range []string{"head_dim", "num_key_value_heads", "partial_rotary_factor"} {
		delete(r.Fields, field)
	}
	r.Fields["num_key_value_heads"], r.Fields["num_nextn_predict_layers"] = r.Fields["num_attention_heads"], 0
	r.Fields["q_lora_rank"], r.Fields["rope_interleave"] = nil, true
	r.Integer("q_lora_rank", "attention.q_lora_rank", false)
	r.Integer("kv_lora_rank", "attention.kv_lora_rank", true)
	r.Integer("qk_rope_head_dim", "rope.dimension_count", true)
	r.Integer("v_head_dim", "attention.value_length_mla", true)
	key, turned := r.IntegerOf("attention.key_length_mla"), r.IntegerOf("rope.dimension_count")
	if r.Fields["qk_nope_head_dim"] = key - turned; key <= turned {
		r.Refuse("attention.key_length_mla", key, "want more than rope.dimension_count = %d", turned)
	}
	r.SigmoidExperts(llamacpp.SoftmaxOfAll)
	r.Fields["first_k_dense_replace"] = r.IntegerOf("leading_dense_block_count")
	r.Want("rope.scaling.attn_factor", 1) // which multiplies features with positions, and all scores
	switch scaling, ok := r.Fields["rope_scaling"].(map[string]any); {
	case ok && scaling["rope_type"] == "yarn":
		const key = "rope.scaling.yarn_log_multiplier" // 0.1 times mscale_all_dim, which llama.cpp takes for mscale, too
		multiplier := r.NumberOf(key, 0)
		if !(multiplier > 0) {
			r.Refuse(key, multiplier, "want a number above 0")
		}
		scale := llamacpp.Shortest(10 * multiplier)
		scaling["mscale"], scaling["mscale_all_dim"], scaling["attention_factor"] = scale, scale, 1.0
	case ok:
		r.Refuse("rope.scaling.factor", r.NumberOf("rope.scaling.factor", 1), "want rope.scaling.type = yarn as well")
	}
}

// further returns the tensors of the layers that predict further tokens and are not read.
func (config *deepSeekConfig) further(read int) (patterns []string) {
	const most = 16 // of what configurations merely claim
	for i := read; i < min(config.More, most); i++ {
		patterns = append(patterns, fmt.Sprintf("model.layers.%d.*", config.Layers+i))
	}
	return patterns
}

// load loads layer i.
func (config *deepSeekConfig) load(l *transformer.Loader, layer transformer.LayerConfig, i int) *deepSeekLayer {
	norm := layer.Norm
	norm.Shape = []int{config.Dim}
	latentNorm := transformer.NormConfig{Eps: 1e-6, RMS: true}
	if config.oneEpsilon {
		latentNorm.Eps = norm.Eps
	}
	latent := transformer.LatentConfig{
		Dim: config.Dim, Heads: config.Heads, QueryRank: config.QueryRank, Rank: config.Rank, Plain: config.Plain, Turned: config.Turned, ValueDim: config.ValueDim,
		Scale: float32(1 / math.Sqrt(float64(config.Plain+config.Turned))), Norm: latentNorm, Rotary: layer.Self.Rotary, Bias: config.Bias,
	}
	own := &deepSeekLayer{
		norm: l.At(llamaLayer.SelfNorm).Norm(norm), feedNorm: l.At(llamaLayer.FeedNorm).Norm(norm),
		attention: l.At(llamaLayer.Self).Latent(latent, deepSeekNames),
	}
	dense := layer.FeedForward
	if dense.Dim = config.Dim; i < config.Dense {
		own.feed = l.FeedForward(dense, llamaLayer.Feed)
		return own
	}
	experts := l.Mixture(transformer.MixtureConfig{
		Dim: config.Dim, Hidden: config.ExpertHidden, Experts: config.Experts, TopK: config.TopK, Activation: dense.Activation, Sharpness: dense.Sharpness,
		Sigmoid: true, Normalize: config.Normalize, Epsilon: 1e-20, Groups: config.Groups, TopGroups: config.TopGroups, Scale: config.Scale,
	}, transformer.MixtureNames{Router: "mlp.gate.", Each: "mlp.experts.%d.", All: "mlp.experts.", Correction: "mlp.gate.e_score_correction_bias", Expert: qwenExperts.Expert})
	dense.Hidden = config.ExpertHidden * config.Shared
	shared := l.FeedForward(dense, transformer.FeedForwardNames{Gate: "mlp.shared_experts.gate_proj.", Up: "mlp.shared_experts.up_proj.", Down: "mlp.shared_experts.down_proj."})
	own.feed = feeds{shared, experts}
	return own
}

// deepSeekLayer is a layer with latent attention.
type deepSeekLayer struct {
	norm, feedNorm *transformer.Norm
	attention      *transformer.LatentAttention
	feed           transformer.Feed
}

func (l *deepSeekLayer) CacheBytes(f kernels.Format) int64 { return l.attention.CacheBytes(f) }

// Forward sets dst, [rows, D], to the layer's output for in.X.
func (l *deepSeekLayer) Forward(ws *Workspace, dst []float32, in transformer.LayerInput, cache *transformer.LayerCache) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(len(dst))                             // [rows, D]
	if err := l.norm.Forward(ws, x, in.X); err != nil { // x = norm(in)  [rows, D]
		return err
	}
	if err := l.attention.Forward(ws, dst, transformer.AttentionInput{Query: x, Batch: in.Batch, Mask: in.Mask, Residual: in.X}, cache); err != nil { // dst = in + attention(x)  [rows, D]
		return err
	}
	if err := l.feedNorm.Forward(ws, x, dst); err != nil { // x = norm(dst)  [rows, D]
		return err
	}
	return l.feed.Forward(ws, dst, x, dst) // dst += feed(x)  [rows, D]
}
