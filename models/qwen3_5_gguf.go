package models

import (
	"cmp"

	"github.com/avoformer/avoformer/models/internal/llamacpp"
)

// qwen35GGUF are llama.cpp's names of what the layers of Qwen3.5 and Qwen3-Next have.
var qwen35GGUF = map[string]string{
	"post_attention_layernorm": "post_attention_norm",
	"linear_attn.in_proj_qkv":  "attn_qkv", "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_b": "ssm_beta", "linear_attn.in_proj_a": "ssm_alpha", "linear_attn.in_proj_ba": "ssm_ba",
	"linear_attn.conv1d": "ssm_conv1d", "linear_attn.dt_bias": "ssm_dt.bias", "linear_attn.A_log": "ssm_a", "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out",
}

// readQwen35GGUF reads what Qwen3.5 has.
func readQwen35GGUF(r *llamacpp.Reader) {
	r.Integer("linear_conv_kernel_dim", "ssm.conv_kernel", true)
	r.Integer("linear_key_head_dim", "ssm.state_size", true)
	r.Integer("linear_num_key_heads", "ssm.group_count", true)
	r.Integer("linear_num_value_heads", "ssm.time_step_rank", true)
	inner, heads := r.IntegerOf("ssm.inner_size"), r.IntegerOf("ssm.time_step_rank")
	if heads < 1 || inner%heads != 0 {
		r.Refuse("ssm.inner_size", inner, "want a multiple of ssm.time_step_rank = %d", heads)
		return
	}
	r.Fields["linear_value_head_dim"] = inner / heads
	r.Integer("full_attention_interval", "full_attention_interval", false)
	readSections(r)
}

// readSections reads which axis of an image turns which pair of features. In text all pairs turn
// alike, except those of no axis, which llama.cpp does not turn.
func readSections(r *llamacpp.Reader) {
	const key = "rope.dimension_sections"
	sections, _ := r.File.Ints(r.Key(key))
	if len(sections) == 0 {
		return
	}
	pairs, all := cmp.Or(r.IntegerOf("rope.dimension_count"), r.HeadWidth())/2, int64(0)
	for _, n := range sections {
		if n < 0 || n > 1<<16 {
			r.Refuse(key, sections, "want numbers of pairs")
			return
		}
		all += n
	}
	for i := range min(pairs, all) {
		if axis := i % 3; axis >= int64(len(sections)) || i >= 3*sections[axis] {
			r.Refuse(key, sections, "want an axis for each of %d pairs, which take turns with the three axes", pairs)
			return
		}
	}
	scaling, ok := r.Fields["rope_scaling"].(map[string]any)
	if !ok {
		scaling = map[string]any{"rope_type": "default"}
		r.Fields["rope_scaling"] = scaling
	}
	scaling["mrope_section"] = sections
}

// readQwen35MoEGGUF reads what Qwen3.5 with experts has, and Qwen3-Next.
func readQwen35MoEGGUF(r *llamacpp.Reader) {
	readQwen35GGUF(r)
	r.Experts("num_experts", llamacpp.SoftmaxOfAll)
	r.Integer("moe_intermediate_size", "expert_feed_forward_length", true)
	r.Integer("shared_expert_intermediate_size", "expert_shared_feed_forward_length", true)
	if !r.Flag("expert_weights_norm", true) {
		r.Refuse("expert_weights_norm", false, "not supported")
	}
}
