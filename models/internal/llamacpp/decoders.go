package llamacpp

import (
	"maps"
	"slices"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// What the decoders of GGUF files have of their own: the names of their tensors, and what their metadata says. Source:
// llama.cpp's gguf-py, and what llama.cpp does with both.

// ggufDecoder is what an architecture of llama.cpp's has beside what all of them have.
type ggufDecoder struct {
	kind       string            // model_type; "": the same name
	parts      map[string]string // names of a layer's tensors; those of llama.cpp by ours
	whole      map[string]string // names of other tensors
	epsilon    string            // the field of the epsilon of layer normalizations; "": they are RMS normalizations
	neighbours bool              // rotary pairs of queries and keys are neighbours
	partial    string            // the field that says which part of a head turns, where that may be a part; "": all of it does
	experts    bool              // there may be experts
	byLayer    bool              // how many heads of keys and values there are differs from layer to layer, and read reads it
	read       func(r *Reader)
}

// ggufExperts are the names of a mixture's tensors after those of its router, gate, up and down.
func ggufExperts(router, gate, up, down string) map[string]string {
	return map[string]string{router: "ffn_gate_inp", gate: "ffn_gate_exps", up: "ffn_up_exps", down: "ffn_down_exps"}
}

var (
	ggufQwenExperts = ggufExperts("mlp.gate", "mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj")
	ggufPostNorms   = map[string]string{"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}
)

// ggufDecoders are the architectures.
var ggufDecoders = map[string]ggufDecoder{
	"llama": {neighbours: true, experts: true, parts: ggufExperts("block_sparse_moe.gate", "block_sparse_moe.experts.w1", "block_sparse_moe.experts.w3", "block_sparse_moe.experts.w2"), read: func(r *Reader) {
		if r.integerOf("expert_count") > 0 {
			r.fields["model_type"] = "mixtral"
			r.experts("num_local_experts", ggufOfAll)
			r.fields["sliding_window"] = nil
			return
		}
		r.fields["attention_bias"] = r.has("blk.0.attn_q.bias")
	}},
	"qwen2": {}, "qwen3": {}, "gemma": {},
	"phi3":   {partial: "partial_rotary_factor", read: func(r *Reader) { r.integer("sliding_window", "attention.sliding_window", false) }},
	"gemma2": {parts: ggufPostNorms, read: (*Reader).gemma},
	"gemma3": {kind: "gemma3_text", parts: ggufPostNorms, read: (*Reader).gemma},
	"smollm3": {neighbours: true, read: func(r *Reader) {
		r.fields["attention_bias"] = r.has("blk.0.attn_q.bias")
	}},
	"olmo2": {parts: ggufPostNorms, read: func(r *Reader) {
		r.want("attention.sliding_window", 0)
	}},
	"granite":    {neighbours: true, read: (*Reader).granite},
	"granitemoe": {neighbours: true, experts: true, parts: ggufExperts("block_sparse_moe.router.layer", "block_sparse_moe.gate_linear", "block_sparse_moe.up_linear", "block_sparse_moe.output_linear"), read: (*Reader).granite},
	"cohere2": {epsilon: "layer_norm_eps", read: func(r *Reader) {
		r.integer("sliding_window", "attention.sliding_window", true)
		r.number("logit_scale", "logit_scale", true)
	}},
	"phi2": {kind: "phi", epsilon: "layer_norm_eps", partial: "partial_rotary_factor",
		parts: map[string]string{"self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"}, whole: map[string]string{"final_layernorm": "output_norm"}},
	"gptneox": {kind: "gpt_neox", epsilon: "layer_norm_eps", partial: "rotary_pct",
		parts: map[string]string{"attention.query_key_value": "attn_qkv", "attention.dense": "attn_output", "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down"},
		whole: map[string]string{"embed_in": "token_embd", "final_layer_norm": "output_norm"},
		read: func(r *Reader) {
			r.fields["use_parallel_residual"] = r.flag("use_parallel_residual", true)
			for _, field := range []string{"num_key_value_heads", "head_dim"} {
				delete(r.fields, field)
			}
			r.fields["rotary_emb_base"] = r.numberOf("rope.freq_base", 10000)
			delete(r.fields, "rope_theta")
		}},
	"starcoder2": {epsilon: "norm_epsilon", parts: map[string]string{"mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}, read: func(r *Reader) {
		r.fields["use_bias"] = r.has("blk.0.attn_q.bias")
	}},
	"lfm2": {byLayer: true, whole: map[string]string{"embedding_norm": "token_embd_norm"}, parts: map[string]string{
		"operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
		"feed_forward.w1": "ffn_gate", "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down",
		"conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj", "conv.conv": "shortconv.conv",
	}, read: (*Reader).lfm2},
	"qwen2moe": {kind: "qwen2_moe", experts: true, parts: merged(ggufQwenExperts, map[string]string{
		"mlp.shared_expert_gate": "ffn_gate_inp_shexp", "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp", "mlp.shared_expert.down_proj": "ffn_down_shexp",
	}), read: func(r *Reader) {
		r.experts("num_experts", ggufOfAll)
		r.integer("shared_expert_intermediate_size", "expert_shared_feed_forward_length", true)
		r.integer("moe_intermediate_size", "expert_feed_forward_length", true)
		r.fields["norm_topk_prob"], r.fields["qkv_bias"] = r.flag("expert_weights_norm", false), r.has("blk.0.attn_q.bias")
	}},
	"qwen3moe": {kind: "qwen3_moe", experts: true, parts: ggufQwenExperts, read: func(r *Reader) {
		r.experts("num_local_experts", ggufOfAll)
		r.integer("moe_intermediate_size", "expert_feed_forward_length", true)
		r.fields["norm_topk_prob"] = r.flag("expert_weights_norm", true)
	}},
	"gpt-oss": {kind: "gpt_oss", experts: true, parts: merged(
		ggufExperts("mlp.router", "mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"),
		map[string]string{"post_attention_layernorm": "post_attention_norm", "self_attn.sinks": "attn_sinks.weight"},
	), read: func(r *Reader) {
		r.experts("num_local_experts", ggufOfPicked)
		r.integer("intermediate_size", "expert_feed_forward_length", true)
		r.integer("sliding_window", "attention.sliding_window", true)
		r.fields["attention_bias"] = r.has("blk.0.attn_q.bias")
	}},
}

// merged is one map of two.
func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// ggufArchitectures are llama.cpp's names of decoders.
var ggufArchitectures = slices.Sorted(maps.Keys(ggufDecoders))

// What a mixture's weights are the softmax of, as llama.cpp numbers it.
const (
	ggufOfAll    = 1 // scores
	ggufOfPicked = 3
)

// experts reads what mixtures of experts have in common. count is the field of their number, and softmax what their weights
// are the softmax of.
func (r *Reader) experts(count string, softmax float64) {
	r.integer(count, "expert_count", true)
	r.integer("num_experts_per_tok", "expert_used_count", true)
	r.want("expert_weights_scale", 1)
	r.want("expert_gating_func", softmax)
	for _, groups := range []string{"expert_group_count", "expert_group_used_count"} { // of which some are picked first
		if n := r.integerOf(groups); n > 1 {
			r.note(configuration.KeyError(r.key(groups), n, "not supported"))
		}
	}
}

// lfm2 reads what LFM2 has: the layers without heads of keys and values have a convolution.
func (r *Reader) lfm2() {
	key := r.key("attention.head_count_kv")
	heads, err := r.file.Ints(key)
	r.note(err)
	kinds := make([]string, len(heads))
	for i, n := range heads {
		if kinds[i] = "conv"; n != 0 {
			kinds[i] = configuration.FullAttention
			if own, ok := r.fields["num_key_value_heads"]; ok && own != n {
				r.note(configuration.KeyError(key, heads, "not supported: the heads of layers differ"))
			}
			r.fields["num_key_value_heads"] = n
		}
	}
	r.fields["layer_types"], r.fields["block_auto_adjust_ff_dim"] = kinds, false
	r.integer("conv_L_cache", "shortconv.l_cache", true)
	r.rename("norm_eps", "rms_norm_eps")
	r.want("attention.sliding_window", 0)
}

// granite reads Granite's factors.
func (r *Reader) granite() {
	r.fields["attention_bias"] = r.has("blk.0.attn_q.bias")
	r.number("embedding_multiplier", "embedding_scale", false)
	r.number("residual_multiplier", "residual_scale", false)
	r.number("attention_multiplier", "attention.scale", true)
	r.number("logits_scaling", "logit_scale", false)
	if r.Architecture == "granitemoe" {
		r.experts("num_local_experts", ggufOfAll)
		r.want("expert_shared_feed_forward_length", 0)
	}
}

// gemma reads what versions 2 and 3 have.
func (r *Reader) gemma() {
	r.integer("sliding_window", "attention.sliding_window", true)
	for _, cap := range []string{"attn_logit_softcapping", "final_logit_softcapping"} {
		if r.number(cap, cap, false); r.fields[cap] == 0.0 { // none
			r.fields[cap] = nil
		}
	}
	if r.Architecture == "gemma3" {
		r.number("rope_local_base_freq", "rope.freq_base_swa", false)
		r.integer("sliding_window_pattern", "attention.sliding_window_pattern", false)
	}
	// Not among the metadata: of the published sizes, the largest of each version (46
	// and 62 layers) alone scales queries by the width of a head's share of the rows.
	scale, _ := r.fields["head_dim"].(int64)
	layers := r.integerOf("block_count")
	if heads := r.integerOf("attention.head_count"); (layers == 46 || layers == 62) && heads > 0 {
		scale = r.integerOf("embedding_length") / heads
	}
	r.fields["query_pre_attn_scalar"] = scale
}
