package models

import (
	"slices"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Qwen's mixtures of experts: version 3, and version 2, which adds an expert that every row takes,
// weighted by a gate of its own. Qwen Team, 2024, "Qwen1.5-MoE", and Yang et al., 2025, "Qwen3
// Technical Report".

func init() {
	Register(newQwen2MoE, "qwen2_moe")
	Register(newQwen3MoE, "qwen3_moe")
	registerGGUF("qwen2moe", llamacpp.Architecture{ModelType: "qwen2_moe", Experts: true, Read: readQwen2MoEGGUF, Parts: qwen2GGUFExperts})
	registerGGUF("qwen3moe", llamacpp.Architecture{ModelType: "qwen3_moe", Experts: true, Read: readQwen3MoEGGUF, Parts: qwenGGUFExperts})
}

type qwenMoEConfig struct {
	qwenConfig
	TopK         int   `json:"num_experts_per_tok"`
	ExpertHidden int   `json:"moe_intermediate_size"`
	Normalize    bool  `json:"norm_topk_prob"`
	Every        int   `json:"decoder_sparse_step"`
	Dense        []int `json:"mlp_only_layers"` // layers without experts
}

type qwen2MoEConfig struct {
	qwenMoEConfig
	Experts int  `json:"num_experts" min:"0"`
	Shared  int  `json:"shared_expert_intermediate_size"`
	QKVBias bool `json:"qkv_bias"`
}

type qwen3MoEConfig struct {
	qwenMoEConfig
	Experts int `json:"num_local_experts" min:"0"` // num_experts, which stands for it
}

// qwenExperts are the names of the experts; in GGUF files they are stacked.
var qwenExperts = transformer.MixtureNames{Router: "mlp.gate.", Each: "mlp.experts.%d.", All: "mlp.experts.", Expert: transformer.FeedForwardNames{Gate: "gate_proj.", Up: "up_proj.", Down: "down_proj."}}

func qwenMoEDefaults() qwenMoEConfig {
	config := qwenMoEConfig{qwenConfig: qwenDefaults(), Every: 1}
	config.Dim, config.Layers = 2048, 24
	return config
}

func newQwen2MoE(c *Checkpoint) (*Model, error) {
	config := qwen2MoEConfig{qwenMoEConfig: qwenMoEDefaults(), Experts: 60, Shared: 5632, QKVBias: true}
	config.Heads, config.KVHeads, config.Hidden, config.TopK, config.ExpertHidden = 16, 16, 5632, 4, 1408
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	windows, err := config.windows(c, func(i int) bool { return i%2 == 0 && i < config.WindowLayers })
	if err != nil {
		return nil, err
	}
	layer, err := config.layer(c, 2)
	if err != nil {
		return nil, err
	}
	layer.Self.Bias = config.QKVBias
	shared := layer.FeedForward
	shared.Dim, shared.Hidden = config.Dim, config.Shared
	return c.qwenMoE(config.qwenMoEConfig, config.Experts, layer, windows, func(l *transformer.Loader, m *transformer.Mixture) transformer.Feed {
		return c.sharedExpert(l, m, shared)
	})
}

func newQwen3MoE(c *Checkpoint) (*Model, error) {
	config := qwen3MoEConfig{qwenMoEConfig: qwenMoEDefaults(), Experts: 128}
	config.KVHeads, config.Hidden, config.TopK, config.ExpertHidden = 4, 6144, 8, 768
	if err := c.doc.Decode(&config); err != nil {
		return nil, err
	}
	windows, err := config.windows(c, func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	layer, err := config.layer(c, 3)
	if err != nil {
		return nil, err
	}
	return c.qwenMoE(config.qwenMoEConfig, config.Experts, layer, windows, func(_ *transformer.Loader, m *transformer.Mixture) transformer.Feed { return m })
}

// qwenMoE returns the model whose layers have a mixture of experts, as which complete makes the
// layer's feed-forward network, except for those that the configuration leaves without.
func (c *Checkpoint) qwenMoE(config qwenMoEConfig, experts int, layer transformer.LayerConfig, windows func(layer int) int, complete func(l *transformer.Loader, m *transformer.Mixture) transformer.Feed) (*Model, error) {
	mixture := transformer.MixtureConfig{
		Dim: config.Dim, Hidden: config.ExpertHidden, Experts: experts, TopK: config.TopK, Normalize: config.Normalize, Activation: layer.FeedForward.Activation, Sharpness: layer.FeedForward.Sharpness,
	}
	sparse := layer
	sparse.Feed = func(l *transformer.Loader) transformer.Feed { return complete(l, l.Mixture(mixture, qwenExperts)) }
	return c.llama(config.llamaFields, func(l *transformer.Loader, i int) (block.DecoderLayer, int) {
		if experts == 0 || (i+1)%config.Every != 0 || slices.Contains(config.Dense, i) {
			return l.Layer(layer, qwenLayer), windows(i)
		}
		return l.Layer(sparse, qwenLayer), windows(i)
	})
}

// sharedExpert returns the mixture m together with an expert that every row takes.
func (c *Checkpoint) sharedExpert(l *transformer.Loader, m *transformer.Mixture, shared transformer.FeedForwardConfig) transformer.Feed {
	return &sharedExpert{
		mixture: m,
		shared:  l.FeedForward(shared, transformer.FeedForwardNames{Gate: "mlp.shared_expert.gate_proj.", Up: "mlp.shared_expert.up_proj.", Down: "mlp.shared_expert.down_proj."}),
		gate:    c.sharedGate(l.At("mlp.shared_expert_gate.").RowByRow(), shared.Dim),
	}
}

// sharedGate returns the layer with one output, which llama.cpp stores as a vector.
func (c *Checkpoint) sharedGate(l *transformer.Loader, dim int) *transformer.Linear {
	if c.convention.Converted {
		return l.LinearOf(dim, 1, l.Tensor("weight", dim), nil)
	}
	return l.Linear(dim, 1, false)
}

// sharedExpert is a mixture of experts and one that every row takes: sigmoid(gate(x))*shared(x) +
// mixture(x).
type sharedExpert struct {
	mixture *transformer.Mixture
	shared  *transformer.FeedForward
	gate    *transformer.Linear // [rows, 1]
}

// Forward sets dst, [rows, D], to the value at x, [rows, D], plus residual, nil or [rows, D].
func (s *sharedExpert) Forward(ws *Workspace, dst, x, residual []float32) error {
	defer ws.Release(ws.Mark())
	y, by := ws.Alloc(len(dst)), ws.Alloc(len(x)/s.mixture.Dim) // [rows, D], [rows]
	if err := check.Len("shared expert: dst", dst, len(x), "rows*dim"); err != nil {
		return err
	}
	if err := s.shared.Forward(ws, y, x, nil); err != nil { // y = shared(x)  [rows, D]
		return err
	}
	if err := s.gate.Forward(ws, by, x); err != nil { // by = gate(x)  [rows]
		return err
	}
	if err := s.mixture.Forward(ws, dst, x, residual); err != nil { // dst = mixture(x) + residual  [rows, D]
		return err
	}
	ws.Threads.Sigmoid(by, by)
	for r, b := range by {
		row := y[r*s.mixture.Dim : (r+1)*s.mixture.Dim]
		ws.Threads.AXPY(b, row, dst[r*s.mixture.Dim:(r+1)*s.mixture.Dim]) // dst += sigmoid(by)*y
	}
	return nil
}

// qwenGGUFExperts are llama.cpp's names of the experts, and qwen2GGUFExperts those with the shared
// one.
var (
	qwen2GGUFExperts = llamacpp.Merged(qwenGGUFExperts, map[string]string{
		"mlp.shared_expert_gate": "ffn_gate_inp_shexp", "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp", "mlp.shared_expert.down_proj": "ffn_down_shexp",
	})
	qwenGGUFExperts = llamacpp.Experts("mlp.gate", "mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj")
)

// readQwen2MoEGGUF reads what version 2 has.
func readQwen2MoEGGUF(r *llamacpp.Reader) {
	r.Experts("num_experts", llamacpp.SoftmaxOfAll)
	r.Integer("shared_expert_intermediate_size", "expert_shared_feed_forward_length", true)
	r.Integer("moe_intermediate_size", "expert_feed_forward_length", true)
	r.Fields["norm_topk_prob"], r.Fields["qkv_bias"] = false, r.Has("blk.0.attn_q.bias")
}

// readQwen3MoEGGUF reads what version 3 has.
func readQwen3MoEGGUF(r *llamacpp.Reader) {
	r.Experts("num_local_experts", llamacpp.SoftmaxOfAll)
	r.Integer("moe_intermediate_size", "expert_feed_forward_length", true)
	r.Fields["norm_topk_prob"] = true
}
