package models

import (
	"maps"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
)

// Gemma 4 in GGUF files.

func init() {
	registerGGUF("gemma4", llamacpp.Architecture{ModelType: "gemma4_text", Experts: true, Varying: true, Read: readGemma4GGUF, Whole: perLayerWhole, Parts: llamacpp.Merged(
		llamacpp.Merged(llamacpp.PostNorms, perLayerParts),
		map[string]string{
			"pre_feedforward_layernorm_2": "pre_ffw_norm_2", "post_feedforward_layernorm_1": "post_ffw_norm_1", "post_feedforward_layernorm_2": "post_ffw_norm_2",
			".layer_scalar": "layer_output_scale.weight", "router.proj": "ffn_gate_inp", "router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale",
			"experts.gate_up_proj": "ffn_gate_up_exps", "experts.gate_proj": "ffn_gate_exps", "experts.up_proj": "ffn_up_exps", "experts.down_proj": "ffn_down_exps",
		},
	)})
}

// perLayerParts are the names of what layers do with per-layer embeddings, and perLayerWhole those
// of what makes them.
var (
	perLayerParts = map[string]string{"per_layer_input_gate": "inp_gate", "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm"}
	perLayerWhole = map[string]string{"embed_tokens_per_layer": "per_layer_token_embd", "per_layer_model_projection": "per_layer_model_proj", "per_layer_projection_norm": "per_layer_proj_norm"}
)

// readGemma4GGUF reads what Gemma 4 has.
func readGemma4GGUF(r *llamacpp.Reader) {
	r.Windows(6)
	kinds, _ := r.Fields["layer_types"].([]string)
	readPerLayerGGUF(r)
	r.Rename("global_head_dim", "head_dim")
	r.Integer("head_dim", "attention.key_length_swa", true)
	if v, k := r.IntegerOf("attention.value_length_swa"), r.IntegerOf("attention.key_length_swa"); v != k {
		r.Refuse("attention.value_length_swa", v, "want key_length_swa = %d", k)
	}
	for _, of := range [][2]string{{"rope.dimension_count", "attention.key_length"}, {"rope.dimension_count_swa", "attention.key_length_swa"}} {
		if n, want := r.IntegerOf(of[0]), r.IntegerOf(of[1]); n > 0 && n != want {
			r.Refuse(of[0], n, "heads of %d are not supported", want)
		}
	}
	r.RopeByKind(r.IntegerOf("attention.key_length"))
	widths, heads, own := r.Integers("feed_forward_length"), r.Integers("attention.head_count_kv"), len(kinds)-int(r.IntegerOf("attention.shared_kv_layers"))
	if len(widths) != len(kinds) || len(heads) != len(kinds) || own < 1 || own > len(kinds) {
		return // which is an error
	}
	if last := kinds[len(kinds)-1]; last != configuration.FullAttention {
		r.Refuse("attention.sliding_window_pattern", kinds, "not supported: the last layer has a window")
	}
	r.Fields["intermediate_size"], r.Fields["use_double_wide_mlp"] = widths[0], own < len(kinds) && widths[own] != widths[0]
	for i, n := range widths {
		if wide := i >= own && widths[own] != widths[0]; wide && n != 2*widths[0] || !wide && n != widths[0] {
			r.Refuse("feed_forward_length", widths, "layer %d: want %d, or twice that in layers that share keys and values", i, widths[0])
		}
	}
	byKind := map[string]int64{}
	for i, kind := range kinds {
		if n, ok := byKind[kind]; ok && n != heads[i] {
			r.Refuse("attention.head_count_kv", heads, "not supported: layers of one kind have the same number")
		}
		byKind[kind] = heads[i]
	}
	all := slices.Collect(maps.Values(byKind))
	r.Fields["num_key_value_heads"] = all[0]
	if n, ok := byKind[configuration.SlidingAttention]; ok {
		r.Fields["num_key_value_heads"] = n
	}
	r.Fields["num_global_key_value_heads"] = byKind[configuration.FullAttention]
	if i := slices.Index(kinds[:own], configuration.FullAttention); i >= 0 {
		r.Fields["attention_k_eq_v"] = !r.Has("blk." + strconv.Itoa(i) + ".attn_v.weight")
	}
	if r.IntegerOf("expert_count") > 0 {
		r.Fields["enable_moe_block"] = true
		r.Experts("num_experts", llamacpp.SoftmaxOfAll)
		r.Rename("top_k_experts", "num_experts_per_tok")
		r.Integer("moe_intermediate_size", "expert_feed_forward_length", true)
	}
}

// readPerLayerGGUF reads what Gemma 3n and Gemma 4 have.
func readPerLayerGGUF(r *llamacpp.Reader) {
	r.Integer("hidden_size_per_layer_input", "embedding_length_per_layer_input", true)
	r.Integer("num_kv_shared_layers", "attention.shared_kv_layers", false)
	if r.Number("final_logit_softcapping", "final_logit_softcapping", false); r.Fields["final_logit_softcapping"] == 0.0 { // none
		r.Fields["final_logit_softcapping"] = nil
	}
	if table, ok := r.File.Info("per_layer_token_embd.weight"); ok && len(table.Shape) == 2 {
		r.Fields["vocab_size_per_layer_input"] = table.Shape[0]
	}
}
