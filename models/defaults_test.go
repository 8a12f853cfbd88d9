package models

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/transformer"
)

// TestSizesByDefault leaves sizes out of small configurations, which are then what transformers has
// by default.
func TestSizesByDefault(t *testing.T) {
	if testing.Short() || testenv.Emulated() {
		t.Skip("takes long, in emulators minutes, and no tier has sizes of its own")
	}
	type sizes = map[string]int
	bert := sizes{"num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
	bart := sizes{"encoder_layers": 12, "decoder_layers": 12, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096}
	decoder := func(layers, heads, kvHeads, hidden int) sizes {
		s := sizes{"num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": hidden}
		if kvHeads > 0 { // 0: as many as heads
			s["num_key_value_heads"] = kvHeads
		}
		return s
	}
	for kind, want := range map[string]sizes{
		"bert": bert, "roberta": bert, "xlm-roberta": bert, "camembert": bert, "mpnet": bert, "nomic_bert": bert, "vit": bert,
		"clip_vision_model": bert, "siglip_text_model": bert, "siglip_vision_model": bert, "siglip2_text_model": bert, "siglip2_vision_model": bert,
		"dinov2":             {"num_hidden_layers": 12, "num_attention_heads": 12, "mlp_ratio": 4},
		"dinov3_vit":         {"num_hidden_layers": 12, "num_attention_heads": 6, "intermediate_size": 1536},
		"electra":            {"num_hidden_layers": 12, "num_attention_heads": 4, "intermediate_size": 1024, "embedding_size": 128},
		"albert":             {"num_hidden_layers": 12, "num_attention_heads": 64, "intermediate_size": 16384, "embedding_size": 128},
		"deberta-v2":         {"num_hidden_layers": 24, "num_attention_heads": 24, "intermediate_size": 6144},
		"gte":                bert,
		"eurobert":           {"num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
		"jina_embeddings_v3": {"num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
		"smollm3":            decoder(36, 16, 4, 11008),
		"olmo2":              decoder(32, 32, 0, 11008),
		"olmo3":              decoder(32, 32, 0, 11008),
		"ministral3":         decoder(34, 32, 8, 14336),
		"ernie4_5":           decoder(18, 16, 2, 3072),
		"exaone4":            decoder(32, 32, 0, 16384),
		"hunyuan_v1_dense":   decoder(32, 32, 0, 11008),
		"glm4":               decoder(40, 32, 2, 13696),
		"granite":            decoder(32, 32, 0, 11008),
		"granite_swa":        decoder(24, 20, 4, 8192),
		"starcoder2":         decoder(30, 24, 2, 12288),
		"phi":                decoder(24, 32, 0, 8192),
		"gpt_neox":           decoder(44, 64, 0, 24576),
		"cohere2":            decoder(40, 64, 0, 22528),
		"clip_text_model":    {"num_hidden_layers": 12, "num_attention_heads": 8, "intermediate_size": 2048},
		"distilbert":         {"n_layers": 6, "n_heads": 12, "hidden_dim": 3072},
		"modernbert":         {"num_hidden_layers": 22, "num_attention_heads": 12, "intermediate_size": 1152},
		"gpt2":               {"n_layer": 12, "n_head": 12},
		"llama":              decoder(32, 32, 0, 11008),
		"mistral":            decoder(32, 32, 8, 14336),
		"qwen2":              decoder(32, 32, 32, 22016),
		"qwen3":              decoder(32, 32, 32, 22016),
		"mixtral":            decoder(32, 32, 8, 14336),
		"qwen2_moe":          {"num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632},
		"qwen3_moe":          {"num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 4, "moe_intermediate_size": 768},
		"granitemoe":         decoder(32, 32, 0, 11008),
		"gpt_oss":            decoder(36, 64, 8, 2880),
		"gemma":              decoder(28, 16, 16, 24576),
		"gemma2":             decoder(26, 8, 4, 9216),
		"gemma3_text":        decoder(26, 8, 4, 9216),
		"gemma3n_text":       decoder(35, 8, 2, 16384),
		"gemma4_text":        decoder(30, 8, 4, 9216),
		"lfm2":               decoder(32, 32, 8, 12288),
		"bamba":              {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "mamba_n_heads": 128},
		"granitemoehybrid":   {"num_hidden_layers": 32, "intermediate_size": 11008, "shared_intermediate_size": 1024},
		"mamba2":             {"num_hidden_layers": 64, "state_size": 128, "n_groups": 8, "conv_kernel": 4},
		"nemotron_h":         {"num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 21504, "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8, "moe_intermediate_size": 7688, "moe_shared_expert_intermediate_size": 7688},
		"falcon_h1":          {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "mamba_n_heads": 128, "mamba_d_ssm": 1024},
		"qwen3_5_text":       {"num_hidden_layers": 32, "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 12288},
		"qwen3_5_moe_text":   {"num_hidden_layers": 40, "num_attention_heads": 16, "num_key_value_heads": 2},
		"qwen3_next":         {"num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2},
		"phi3":               decoder(32, 32, 0, 8192),
		"t5":                 {"num_layers": 6, "num_heads": 8, "d_kv": 64, "d_ff": 2048, "relative_attention_num_buckets": 32},
		"mt5":                {"num_layers": 8, "num_heads": 6, "d_kv": 64, "d_ff": 1024, "relative_attention_num_buckets": 32},
		"bart":               bart, "mbart": bart, "m2m_100": bart, "marian": bart,
		"parakeet_encoder": {"num_hidden_layers": 24, "num_attention_heads": 8, "intermediate_size": 4096, "conv_kernel_size": 9, "subsampling_conv_channels": 256, "num_mel_bins": 80},
		"whisper":          {"encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 6, "decoder_attention_heads": 6, "encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536, "num_mel_bins": 80},
		"moonshine":        {"encoder_num_hidden_layers": 6, "decoder_num_hidden_layers": 6, "intermediate_size": 1152},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			checkSizes(t, kind, want)
		})
	}
}

// checkSizes computes with each size that want has by default said, left out, and changed.
func checkSizes(t *testing.T, kind string, want map[string]int) {
	small := map[string]any{"model_type": kind, "vocab_size": 67, "max_position_embeddings": 64, "image_size": 8, "patch_size": 4, "max_source_positions": 8, "max_target_positions": 64}
	for _, width := range []string{"hidden_size", "d_model", "dim"} {
		small[width] = 96
	}
	switch kind {
	case "gpt2":
		small["n_embd"] = 96
	case "phi", "gpt_neox", "cohere2":
		small["hidden_size"] = 512 // of heads of which a part has an even size
	case "olmo2", "olmo3", "exaone4", "hunyuan_v1_dense", "granite", "granitemoe", "llama", "phi3", "albert":
		small["hidden_size"] = 192 // of an even size for each head of 32, of 3 for 64
	case "gemma3n_text":
		small["num_kv_shared_layers"] = 0        // of one layer
		small["vocab_size_per_layer_input"] = 67 // by default, a table of 9 GB
	case "bamba":
		small["hidden_size"], small["attn_layer_indices"] = 192, []int{0}
	case "granitemoehybrid":
		small["hidden_size"] = 192
	case "falcon_h1":
		small["mamba_d_head"] = "auto"
	case "mamba2":
		small["num_heads"], small["head_dim"] = 16, 12
	case "nemotron_h":
		small["layers_block_type"] = []string{"mamba", "moe", "attention", "mlp"}
	case "gemma4_text":
		small["vocab_size_per_layer_input"] = 67 // by default, a table of 8 GB
	case "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next":
		small["full_attention_interval"] = 1
		small["moe_intermediate_size"], small["shared_expert_intermediate_size"] = 8, 8
	}
	for _, name := range []string{"num_experts", "num_local_experts", "num_experts_per_tok"} {
		small[name] = 2 // the folders of defaults have as many as by default
	}
	for name, size := range want {
		small[name] = 4
		if strings.Contains(name, "layer") {
			small[name] = 1
		} else if name == "num_key_value_heads" && size == 4 {
			small[name] = 2 // divides any number of heads here
		} else if size == 4 {
			small[name] = 8
		}
	}
	switch kind {
	case "parakeet_encoder":
		small["conv_kernel_size"], small["num_mel_bins"] = 5, 16
	case "bamba":
		small["num_hidden_layers"] = 2 // one with attention, and one without
	case "falcon_h1":
		small["mamba_d_ssm"] = 256
	case "nemotron_h":
		small["mamba_num_heads"] = 16
	}
	if n := want["num_key_value_heads"]; n > 0 {
		small["head_dim"], small["num_attention_heads"] = 8, 2*max(n, want["num_attention_heads"])
	}
	compute := func(name string, value any) []float32 {
		t.Helper()
		config := maps.Clone(small)
		if config[name] = value; value == nil {
			delete(config, name)
		}
		m, err := New(tftest.Must(json.Marshal(config))(t), transformer.Random(1), Options{})
		if err != nil {
			t.Fatalf("%s: %s = %v: %v", kind, name, value, err)
		}
		return results(t, m)
	}
	for name, size := range want {
		silent := compute(name, nil)
		if !slices.Equal(silent, compute(name, size)) {
			t.Errorf("%s: without %s it computes something else than with %d", kind, name, size)
		}
		if slices.Equal(silent, compute(name, small[name])) {
			t.Errorf("%s: %s has no effect", kind, name)
		}
	}
}
