package models_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/models"
)

// TestConfigErrors gives configurations values that are unknown or contradict others. The error
// names the file, the field and the value.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ folder, field, value string }{
		{"llama", "rope_scaling", `{"rope_type":"spiral"}`},
		{"llama", "rope_scaling", `{"rope_type":"linear","factor":-0.5}`},
		{"llama", "rope_scaling", `{"rope_type":"linear","factor":2,"partial_rotary_factor":0.5}`},
		{"qwen3", "rope_scaling", `{"full_attention":{"rope_type":"linear","factor":2}}`},
		{"gemma3_text-new", "rope_parameters", `{"sliding_attention":{"rope_type":"dynamic","factor":2}}`},
		{"llama", "rope_scaling", `{"rope_type":"llama3","factor":2,"low_freq_factor":4,"high_freq_factor":1,"original_max_position_embeddings":64}`},
		{"llama", "rope_scaling", `{"rope_type":"longrope","short_factor":[1,2],"long_factor":[1,2],"original_max_position_embeddings":64}`},
		{"llama", "quantization_config", `{"bits":4}`},
		{"llama", "hidden_act", `"swiglu"`},
		{"phi", "rope_parameters", `{"rope_type":"proportional","partial_rotary_factor":0.5}`},
		{"gpt_neox", "partial_rotary_factor", `0.5`},
		{"llama", "num_key_value_heads", `3`},
		{"llama", "sliding_window", `64`},
		{"llama", "is_causal", `false`},
		{"gpt2", "is_causal", `null`},
		{"t5", "is_causal", `0`},
		{"clip-text", "is_causal", `false`},
		{"bart-classify", "is_causal", `false`},
		{"llama", "attention_chunk_size", `4`},
		{"llama", "layer_types", `["full_attention","sliding_attention"]`},
		{"qwen2-tokens", "token_classification_bias", `false`},
		{"llama-tied-rope3", "original_max_position_embeddings", `0`},
		{"llama-yarn", "original_max_position_embeddings", `0`},
		{"llama", "rope_theta", `0.5`},
		{"modernbert-classify", "local_rope_theta", `0.001`},
		{"llama", "per_layer_config", `{"0":{"num_attention_heads":2}}`},
		{"qwen2-window", "layer_types", `["full_attention"]`},
		{"qwen2-window", "layer_types", `["full_attention","chunked_attention"]`},
		{"qwen2", "layer_types", `["full_attention","sliding_attention"]`},
		{"gemma2", "use_bidirectional_attention", `true`},
		{"gemma2", "attn_logit_softcapping", `0.0`},
		{"gemma2", "final_logit_softcapping", `0`},
		{"gemma3_text", "final_logit_softcapping", `0.0`},
		{"gpt2", "n_head", `5`},
		{"gpt2", "add_cross_attention", `true`},
		{"t5", "dense_act_fn", `"step"`},
		{"t5", "relative_attention_max_distance", `4`},
		{"bart", "decoder_attention_heads", `7`},
		{"whisper", "architectures", `["WhisperForAudioClassification"]`},
		{"llama", "architectures", `["LlamaForQuestionAnswering"]`},
		{"gemma3", "text_config", `null`},
		{"gemma3", "text_config", `{"model_type":"llama"}`},
		{"gemma3", "architectures", `["Gemma3ForSequenceClassification"]`},
		{"bert-alibi", "is_decoder", `true`},
		{"deberta-v3-classify", "pooler_hidden_size", `16`},
		{"gemma2", "sliding_window", `0`},
		{"gemma3n_text", "activation_sparsity_pattern", `[0.5, 1, 0, 0]`},
		{"gemma3n_text", "activation_sparsity_pattern", `[0.5, -0.5, 0, 0]`},
		{"gemma3n_text", "activation_sparsity_pattern", `[0.5]`},
		{"gemma3n_text", "activation_sparsity_pattern", `0.5`},
		{"gemma3n_text", "altup_active_idx", `4`},
		{"gemma3n_text", "altup_num_inputs", `65`},
		{"gemma3n_text", "final_logit_softcapping", `0`},
		{"gemma3n_text", "final_logit_softcapping", `null`},
		{"gemma3n_text", "hidden_activation", `"quick_gelu"`},
		{"gemma3n_text", "intermediate_size", `[48, 40, 56]`},
		{"gemma3n_text", "intermediate_size", `[48, 40, 56, 0]`},
		{"gemma3n_text", "intermediate_size", `"48"`},
		{"gemma3n_text", "num_kv_shared_layers", `3`},
		{"gemma3n_text", "sliding_window", `0`},
		{"gemma4_text", "hidden_activation", `"quick_gelu"`},
		{"gemma4_text", "num_kv_shared_layers", `4`},
		{"gemma4_text", "num_kv_shared_layers", `3`},
		{"gemma4_text", "final_logit_softcapping", `0`},
		{"gemma4_text", "use_bidirectional_attention", `"all"`},
		{"gemma4_text", "use_bidirectional_attention", `"text"`},
		{"gemma4_text", "per_layer_config", `{"1":{"head_dim":8}}`},
		{"gemma4_text", "per_layer_config", `{"1":{"head_dim":16,"intermediate_size":8},"3":{"head_dim":16}}`},
		{"gemma4_text", "per_layer_config", `{"4":{"head_dim":16}}`},
		{"gemma4_text", "rope_parameters", `{"full_attention":{"rope_type":"proportional"}}`},
		{"gemma4_text", "rope_parameters", `{"full_attention":{"rope_type":"proportional","partial_rotary_factor":1.5},"sliding_attention":{"rope_type":"default"}}`},
		{"gemma4_text", "enable_moe_block", `true`},
		{"gemma4_text-both", "is_causal", `true`},
		{"gemma4_text-moe", "top_k_experts", `null`},
		{"gemma4", "text_config", `{"model_type":"gemma3_text"}`},
		{"gemma4", "image_token_id", `"<image>"`},
		{"gemma4", "architectures", `["Gemma4ForSequenceClassification"]`},
		{"embedding_gemma2", "architectures", `["EmbeddingGemma2ForCausalLM"]`},
		{"embedding_gemma2_text", "hidden_size_per_layer_input", `0`},
		{"embedding_gemma2_text", "sliding_window", `0`},
		{"llama", "rms_norm_eps", `null`},
		{"llama", "hidden_act", `null`},
		{"llama", "max_position_embeddings", `null`},
		{"llama", "rope_theta", `null`},
		{"llama-yarn", "original_max_position_embeddings", `null`},
		{"bert", "tie_word_embeddings", `null`},
		{"bamba", "mamba_d_head", `7`},
		{"bamba", "mamba_n_heads", `5`},
		{"bamba", "mamba_n_groups", `3`},
		{"bamba", "hidden_act", `"gelu"`},
		{"bamba", "time_step_limit", `[1]`},
		{"bamba", "time_step_limit", `[2, 1]`},
		{"bamba", "time_step_limit", `[0, {"__float__": "much"}]`},
		{"bamba", "layer_types", `["full_attention", "full_attention"]`},
		{"bamba", "mamba_d_state", `2000000000`},
		{"granitemoehybrid", "layer_types", `["mamba"]`},
		{"granitemoehybrid", "layer_types", `["mamba", "conv"]`},
		{"granitemoehybrid", "position_embedding_type", `"alibi"`},
		{"mamba2", "head_dim", `4`},
		{"mamba2", "head_dim", `null`},
		{"mamba2", "expand", `2147483647`},
		{"mamba2", "num_heads", `null`},
		{"mamba2", "n_groups", `3`},
		{"mamba2", "state_size", `2000000000`},
		{"mamba2", "hidden_act", `"gelu"`},
		{"mamba2", "time_step_limit", `[2, 1]`},
		{"nemotron_h-latent", "moe_latent_size", `0`},
		{"nemotron_h-latent", "n_routed_experts", `0`},
		{"nemotron_h-latent", "mlp_hidden_act", `"quick_gelu"`},
		{"nemotron_h", "layers_block_type", `["mamba","conv"]`},
		{"nemotron_h", "layers_block_type", `[]`},
		{"nemotron_h-hub", "hybrid_override_pattern", `"*-X-"`},
		{"nemotron_h-hub", "num_hidden_layers", `3`},
		{"nemotron_h", "n_groups", `3`},
		{"nemotron_h", "mamba_conv_bias", `null`},
		{"nemotron_h", "mamba_hidden_act", `"gelu"`},
		{"nemotron_h", "attention_bias", `true`},
		{"falcon_h1", "mlp_multipliers", `[1]`},
		{"falcon_h1", "ssm_multipliers", `[1, 1, 1, 1, -1]`},
		{"falcon_h1", "key_multiplier", `null`},
		{"lfm2", "layer_types", `["conv"]`},
		{"lfm2", "layer_types", `["conv","full_attention","conv","mamba"]`},
		{"lfm2", "is_causal", `false`},
		{"lfm2", "sliding_window", `4`},
		{"lfm2-hub", "block_multiple_of", `0`},
		{"lfm2-hub", "block_ffn_dim_multiplier", `1e9`},
		{"qwen3_5_text", "hidden_act", `"gelu"`},
		{"qwen3_5_text", "linear_num_value_heads", `3`},
		{"qwen3_5_text", "linear_conv_kernel_dim", `0`},
		{"qwen3_5_text", "linear_key_head_dim", `2000000000`},
		{"qwen3_5_text", "layer_types", `["full_attention"]`},
		{"qwen3_5_text", "layer_types", `["linear_attention","full_attention","sliding_attention","full_attention"]`},
		{"qwen3_5_text", "sliding_window", `4`},
		{"qwen3_5", "architectures", `["Qwen3_5ForSequenceClassification"]`},
		{"qwen3_next", "num_experts_per_tok", `6`},
	} {
		_, err := models.OpenFS(modelstest.WithField(t, c.folder, c.field, c.value), models.Options{})
		if !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s with %s = %s: error %v, want ErrConfig", c.folder, c.field, c.value, err)
			continue
		}
		t.Log(err)
		for _, part := range []string{"config.json", c.field} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s with %s = %s: error %q does not name %s", c.folder, c.field, c.value, err, part)
			}
		}
	}
}

// TestWarnings gives configurations fields that transformers does not have, and fields that it has
// and that are without effect or at their default.
func TestWarnings(t *testing.T) {
	for _, c := range []struct{ folder, field, value, want string }{
		{"llama", "clip_qkv", `0.1`, "clip_qkv = 0.1"},
		{"llama", "logit_scale", `2.0`, "logit_scale = 2"},
		{"llama", "no_rope_layers", `[0,1]`, "no_rope_layers = [0,1]"},
		{"llama", "use_qk_norm", `true`, "use_qk_norm = true"},
		{"llama", "rope_interleaved", `true`, "rope_interleaved = true"},
		{"llama", "a_remark", `"of the author"`, "a_remark"},
		{"llama", "num_experts", `8`, "num_experts"},
		{"llama", "rope_scaling", `{"rope_type":"linear","factor":2,"twist":1}`, "twist"},
		{"gemma3_text-both", "rope_parameters", `{"full_attention":{"rope_type":"yarn","factor":4,"truncate":false}}`, "truncate = false"},
		{"mistral", "partial_rotary_factor", `0.1`, "partial_rotary_factor"},
		{"mistral", "partial_rotary_factor", `-1.0`, "partial_rotary_factor"},
		{"nomic_bert", "partial_rotary_factor", `[1.0]`, "partial_rotary_factor"},
		{"eurobert", "rope_theta", `-0.5`, ""}, // rope_parameters has another
		{"llama", "original_max_position_embeddings", `2048.5`, ""},
		{"bert", "problem_type", `1`, ""},
		{"bert", "bos_token_id", `1180591620717411303424`, ""},
		{"bert", "eos_token_id", `[1, 1180591620717411303424]`, ""},
		{"bert", "hidden_act", `"quick_gelu"`, ""},
		{"deberta-v3-tokens", "pooler_hidden_size", `16`, ""},
		{"deberta-v3", "share_att_key", `"yes"`, ""},
		{"vit", "encoder_stride", `15`, ""},
		{"qwen2-window", "max_window_layers", `-1`, ""},
		{"llama", "initializer_range", `0.5`, ""},
		{"llama", "is_causal", `true`, ""},
		{"bert", "is_causal", `false`, ""},
		{"mistral-embed", "is_causal", `false`, ""},
		{"modernbert", "is_causal", `false`, ""},
		{"vit", "is_causal", `false`, ""},
		{"llama-classify", "attention_chunk_size", `4`, ""},
		{"llama-classify", "sliding_window", `4`, ""},
		{"llama", "layer_types", `["full_attention","full_attention"]`, ""},
		{"llama", "token_classification_bias", `false`, ""},
		{"llama", "original_max_position_embeddings", `0`, ""},
		{"llama", "per_layer_config", `null`, ""},
		{"bart", "dropout", `0.9`, ""},
		{"bert", "no_repeat_ngram_size", `3`, ""},
	} {
		m, err := models.OpenFS(modelstest.WithField(t, c.folder, c.field, c.value), models.Options{})
		if err != nil {
			t.Errorf("%s with %s = %s: %v", c.folder, c.field, c.value, err)
			continue
		}
		if n := len(m.Warnings); c.want == "" && n > 0 || c.want != "" && (n != 1 || !strings.Contains(m.Warnings[0], c.want)) {
			t.Errorf("%s with %s = %s: warnings %q, want one with %q", c.folder, c.field, c.value, m.Warnings, c.want)
		}
	}
}
