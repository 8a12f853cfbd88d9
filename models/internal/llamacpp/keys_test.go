package llamacpp_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// TestGGUFKeys changes keys of files. The log-probabilities of four tokens are those of llama.cpp
// (llama-cpp-python 0.3.36), which make compare WHAT=llama-cpp compares for all keys.
func TestGGUFKeys(t *testing.T) {
	for _, c := range []struct {
		file, key string
		value     any        // nil: the key is left out
		want      [4]float64 // 0: less than llama-perplexity tells
	}{
		{"olmo3", "olmo2.rope.freq_base", float32(10000), [4]float64{-3.532, -4.159, -6.380, -5.327}}, // in layers with windows too
		{"olmo3", "olmo2.rope.freq_base", nil, [4]float64{-3.532, -4.159, -6.380, -5.327}},
		{"olmo2", "olmo2.attention.sliding_window", uint32(6), [4]float64{-4.745, -6.234, -4.477, -8.111}},
		{"glm4", "glm4.rope.dimension_count", nil, [4]float64{-2.243, -5.597, -5.040, -5.118}}, // the whole head turns
		{"gptneox", "gptneox.rope.dimension_count", nil, [4]float64{-5.602, -5.662, -3.686, -6.201}},
		{"phi2", "phi2.rope.dimension_count", nil, [4]float64{-6.012, -5.072, -8.958, -5.657}},
		{"qwen35", "qwen35.rope.dimension_count", nil, [4]float64{-4.826, -5.162, -7.088, -4.818}},
		{"deepseek2", "deepseek2.attention.layer_norm_rms_epsilon", float32(0.1), [4]float64{-4.880, -4.943, -4.330, -3.781}}, // of all norms
		{"qwen35", "qwen35.attention.layer_norm_rms_epsilon", float32(0.1), [4]float64{-4.199, -5.006, -6.648, -4.171}},
		{"qwen2", "qwen2.rope.scaling.yarn_log_multiplier", float32(0.5), [4]float64{0, -13.741, -13.937, -11.556}}, // no effect
		{"qwen2moe", "qwen2moe.expert_weights_norm", true, [4]float64{-6.859, -5.424, -7.010, -4.427}},
		{"qwen3moe", "qwen3moe.expert_weights_norm", false, [4]float64{-5.068, -6.716, -4.637, -4.718}},
		{"hunyuan-dense", "hunyuan-dense.rope.scaling.alpha", float32(2), [4]float64{-11.904, -11.689, -7.687, -10.028}},
		{"gemma2", "gemma2.attention.sliding_window_pattern", uint32(3), [4]float64{-4.370, -5.215, -5.166, -5.028}},
		{"cohere2", "cohere2.attention.sliding_window_pattern", []bool{true, false, true, false}, [4]float64{-9.054, -5.910, -5.960, -6.672}},
		{"gemma4", "gemma4.rope.freq_base_swa", nil, [4]float64{-4.414, -4.716, -5.144, -4.882}}, // 10000, whatever the other base is
		{"granite", "granite.attention.scale", nil, [4]float64{-3.527, -4.765, -5.803, -4.100}},
	} {
		m := tftest.Must(models.Open(tftest.RewriteGGUF(t, modelstest.Testdata("gguf/"+c.file+"/f32.gguf"), map[string]any{c.key: c.value}), models.Options{}))(t)
		tokens, vocab := peerTokens(m.LM.Vocab())[:peerLength], m.LM.Vocab()
		x := make([]float32, peerLength*vocab)
		tftest.NoError(t, m.Logits(new(models.Workspace), x, tokens, transformer.Ragged(peerLength), nil, nil))
		row := x[(peerLength-2)*vocab:][:vocab]
		kernels.LogSoftmax(row, row, 1, vocab)
		for i, want := range c.want {
			if d := math.Abs(float64(row[3+i]) - want); !(d <= 4e-3) && want != 0 { // llama.cpp looks GELU up in a table of 16 bits
				t.Errorf("%s with %s = %v: log-probability of token %d is %.3f, want %.3f", c.file, c.key, c.value, 3+i, row[3+i], want)
			}
		}
	}
}

// TestGGUFKeysRefused changes keys that llama.cpp acts on and that are not supported here.
func TestGGUFKeysRefused(t *testing.T) {
	for _, c := range []struct {
		file, key string
		value     any
	}{
		{"llama", "llama.rope.scaling.attn_factor", float32(0)},
		{"qwen2", "qwen2.rope.scaling.attn_factor", float32(0)},
		{"olmo3", "olmo2.rope.scaling.attn_factor", float32(math.NaN())},
		{"gemma4", "gemma4.rope.scaling.attn_factor", float32(1.5)},
		{"gemma4", "gemma4.rope.scale_linear", float32(3)},
		{"deepseek2", "deepseek2.rope.scaling.attn_factor", float32(1.5)},
		{"deepseek2", "deepseek2.rope.scaling.factor", float32(0.5)},
		{"deepseek2", "deepseek2.rope.scaling.type", "linear"},
		{"granite", "granite.rope.scaling.finetuned", false},
		{"glm4", "glm4.rope.dimension_sections", []int32{1, 1, 0, 0}},
		{"qwen35", "qwen35.rope.dimension_sections", []int32{0, 0, 1, 1}},
		{"gemma2", "gemma2.rope.freq_base_swa", float32(300)},
		{"gemma2", "gemma2.rope.dimension_count_swa", uint32(4)},
		{"gemma2", "gemma2.final_logit_softcapping", float32(0)},
		{"gemma3", "gemma3.rope.dimension_count_swa", uint32(8)},
		{"gemma3", "gemma3.attention.key_length_swa", uint32(8)},
		{"cohere2", "cohere2.rope.dimension_count_swa", uint32(4)},
	} {
		_, err := models.Open(tftest.RewriteGGUF(t, modelstest.Testdata("gguf/"+c.file+"/f32.gguf"), map[string]any{c.key: c.value}), models.Options{})
		if _, end, _ := strings.Cut(c.key, "."); !errors.Is(err, fault.ErrConfig) || !strings.Contains(err.Error(), end[:strings.LastIndex(end, ".")+1]) {
			t.Errorf("%s with %s = %v: error %v, want ErrConfig that names the key", c.file, c.key, c.value, err)
		}
	}
}
