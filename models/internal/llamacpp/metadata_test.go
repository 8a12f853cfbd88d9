package llamacpp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// ggufPair returns a key and its value as a GGUF file has them.
func ggufPair(key string, value any) []byte {
	text := func(s string) []byte { return append(binary.LittleEndian.AppendUint64(nil, uint64(len(s))), s...) }
	b := text(key)
	switch v := value.(type) {
	case float32:
		b = binary.LittleEndian.AppendUint32(b, 6)
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	case uint32:
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 4), v)
	case bool:
		b = binary.LittleEndian.AppendUint32(b, 7)
		return append(b, map[bool]byte{true: 1}[v])
	}
	return append(binary.LittleEndian.AppendUint32(b, 8), text(value.(string))...)
}

// TestGGUFMetadata changes the metadata of a file, whose frequencies of rotary positions in layers
// without a window are divided by 8. What llama.cpp does with each form is in its function that
// loads the hyperparameters.
func TestGGUFMetadata(t *testing.T) {
	file := modelstest.Testdata("gguf/gemma3/f32.gguf")
	whole := tftest.Must(os.ReadFile(file))(t)
	scaling := append(ggufPair("gemma3.rope.scaling.type", "linear"), ggufPair("gemma3.rope.scaling.factor", float32(8))...)
	if bytes.Count(whole, scaling) != 1 {
		t.Fatal("the file is not scaled as expected")
	}
	// open is the model of the file with another pair in place of the two, and one that fills.
	open := func(pair []byte) (*models.Model, error) {
		filler := "gemma3.filler"
		fill := len(scaling) - len(pair) - len(ggufPair(filler, ""))
		changed := bytes.Replace(whole, scaling, append(slices.Clone(pair), ggufPair(filler, strings.Repeat("-", fill))...), 1)
		path := filepath.Join(t.TempDir(), "model.gguf")
		tftest.NoError(t, os.WriteFile(path, changed, 0o600))
		return models.Open(path, models.Options{})
	}
	e := modelstest.OpenExpected(t, filepath.Dir(file))
	in := e.Tokens("input_ids", "attention_mask", "")
	logits := func(m *models.Model) []float32 { return e.Logits(new(models.Workspace), m, in, nil) }
	scaled := logits(tftest.Must(models.Open(file, models.Options{}))(t))
	for _, c := range []struct {
		key   string
		value any
		same  bool // as with the scaling
		want  error
	}{
		{"gemma3.rope.scaling.factor", float32(8), true, nil}, // without a type, which is linear
		{"gemma3.rope.scale_linear", float32(8), true, nil},   // the key's old name
		{"gemma3.rope.scaling.factor", float32(4), false, nil},
		{"gemma3.rope.scaling.factor", float32(0), false, nil}, // none
		{"gemma3.rope.scaling.type", "none", false, nil},
		{"gemma3.attention.causal", true, false, nil},
		{"gemma3.final_logit_softcapping", float32(0), false, nil}, // none
		{"gemma3.attention.causal", false, false, fault.ErrConfig},
		{"gemma3.rope.scaling.type", "spiral", false, fault.ErrConfig},
		{"gemma3.rope.scaling.factor", float32(-2), false, fault.ErrConfig},
		{"gemma3.rope.scaling.attn_factor", float32(2), false, fault.ErrConfig},
		{"gemma3.rope.scaling.factor", "8", false, fault.ErrType},
		{"gemma3.rope.scaling.type", true, false, fault.ErrType},
		{"gemma3.attention.causal", "no", false, fault.ErrType},
	} {
		m, err := open(ggufPair(c.key, c.value))
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.key) {
			t.Errorf("%s = %v: error %v, want %v that names it", c.key, c.value, err, c.want)
		}
		if err != nil {
			continue
		}
		if same := slices.Equal(logits(m), scaled); same != c.same {
			t.Errorf("%s = %v: logits as with the scaling: %v, want %v", c.key, c.value, same, c.same)
		}
		if len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], "gemma3.filler = ---") {
			t.Errorf("%s = %v: warnings %q, want one about the filler", c.key, c.value, m.Warnings)
		}
	}
}

// TestGGUFExpertGroups: groups of experts, of which some are picked first, are refused; one group
// means no groups.
func TestGGUFExpertGroups(t *testing.T) {
	whole := tftest.Must(os.ReadFile(modelstest.Testdata("gguf/qwen3moe/f32.gguf")))(t)
	for groups, want := range map[uint32]error{1: nil, 4: fault.ErrConfig} {
		more := ggufPair("qwen3moe.expert_group_count", groups)
		filler := ggufPair("filler", "")
		more = append(more, ggufPair("filler", strings.Repeat("-", 32-(len(more)+len(filler))%32))...) // tensors stay aligned
		const counts, pairs = 16, 24                                                                   // where the number of pairs stands, and they begin
		changed := slices.Concat(whole[:counts], binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64(whole[counts:])+2), more, whole[pairs:])
		path := filepath.Join(t.TempDir(), "model.gguf")
		tftest.NoError(t, os.WriteFile(path, changed, 0o600))
		if _, err := models.Open(path, models.Options{}); !errors.Is(err, want) {
			t.Errorf("%d groups: error %v, want %v", groups, err, want)
		}
	}
}

// TestGGUFGuessed wants a warning where a file leaves open how its texts are cut, or where they
// end.
func TestGGUFGuessed(t *testing.T) {
	tokens := make([]string, 101)
	for i := range tokens {
		tokens[i] = "t" + strconv.Itoa(i)
	}
	for name, c := range map[string]struct {
		change map[string]any
		want   string // part of the one warning; empty: none
	}{
		"as it is":                {nil, ""},
		"no way to cut texts":     {map[string]any{"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": nil}, `tokenizer.ggml.pre = ""`},
		"the default way":         {map[string]any{"tokenizer.ggml.model": "gpt2"}, `tokenizer.ggml.pre = "default"`},
		"a known way":             {map[string]any{"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm"}, ""},
		"no end":                  {map[string]any{"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.eos_token_id": nil}, "no token ends a text"},
		"an end by the token eot": {map[string]any{"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.eos_token_id": nil, "tokenizer.ggml.eot_token_id": uint32(7)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := tftest.Must(models.Open(tftest.RewriteGGUF(t, modelstest.Testdata("gguf/llama/f32.gguf"), c.change), models.Options{}))(t)
			if c.want == "" && len(m.Warnings) > 0 || c.want != "" && (len(m.Warnings) != 1 || !strings.Contains(m.Warnings[0], c.want)) {
				t.Errorf("warnings %q, want %q", m.Warnings, c.want)
			}
		})
	}
}

// TestGGUFDeepSeek changes what a file says about latent attention and the mixture.
func TestGGUFDeepSeek(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]any
		want   error
	}{
		"as it is":                           {nil, nil},
		"experts by softmax":                 {map[string]any{"deepseek2.expert_gating_func": uint32(1)}, fault.ErrConfig},
		"no word about scores of experts":    {map[string]any{"deepseek2.expert_gating_func": nil}, fault.ErrConfig},
		"keys that all turn":                 {map[string]any{"deepseek2.attention.key_length_mla": uint32(8)}, fault.ErrConfig},
		"keys and values that are not apart": {map[string]any{"deepseek2.attention.key_length_mla": nil, "deepseek2.attention.value_length_mla": nil}, fault.ErrConfig},
		"values of another width":            {map[string]any{"deepseek2.attention.value_length_mla": uint32(12)}, fault.ErrWeights},
		"a huge rank":                        {map[string]any{"deepseek2.attention.kv_lora_rank": uint32(1 << 31)}, fault.ErrConfig},
		"yarn without a factor for scores":   {map[string]any{"deepseek2.rope.scaling.yarn_log_multiplier": nil}, fault.ErrConfig},
		"no shared experts":                  {map[string]any{"deepseek2.expert_shared_count": nil}, fault.ErrConfig},
		"another number of groups":           {map[string]any{"deepseek2.expert_group_count": uint32(3)}, fault.ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := models.Open(tftest.RewriteGGUF(t, modelstest.Testdata("gguf/deepseek2/f32.gguf"), c.change), models.Options{})
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// TestGGUFNemotronExperts changes the mixture of experts.
func TestGGUFNemotronExperts(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]any
		want   error
	}{
		"as it is":                     {nil, nil},
		"experts by sigmoid, in words": {map[string]any{"nemotron_h_moe.expert_gating_func": uint32(2)}, nil},
		"experts by softmax":           {map[string]any{"nemotron_h_moe.expert_gating_func": uint32(1)}, fault.ErrConfig},
		"no experts":                   {map[string]any{"nemotron_h_moe.expert_count": nil}, fault.ErrConfig},
		"more experts than there are":  {map[string]any{"nemotron_h_moe.expert_count": uint32(6)}, fault.ErrWeights},
		"no width of experts":          {map[string]any{"nemotron_h_moe.expert_feed_forward_length": nil}, fault.ErrConfig},
		"no width of shared experts":   {map[string]any{"nemotron_h_moe.expert_shared_feed_forward_length": nil}, fault.ErrConfig},
		"another latent width":         {map[string]any{"nemotron_h_moe.moe_latent_size": uint32(12)}, fault.ErrWeights},
		"no latent width":              {map[string]any{"nemotron_h_moe.moe_latent_size": nil}, fault.ErrWeights},
		"a latent width of 0":          {map[string]any{"nemotron_h_moe.moe_latent_size": uint32(0)}, fault.ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := models.Open(tftest.RewriteGGUF(t, modelstest.Testdata("gguf/nemotron_h_moe/f32.gguf"), c.change), models.Options{})
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			} else if err == nil && len(m.Warnings) > 0 {
				t.Errorf("warnings %q, want none", m.Warnings)
			}
		})
	}
}

// TestGGUFMamba2 changes the sizes of Mamba-2.
func TestGGUFMamba2(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]any
		want   error
	}{
		"as it is":                         {nil, nil},
		"heads of attention":               {map[string]any{"mamba2.attention.head_count": uint32(4)}, nil}, // nothing reads them
		"no heads of Mamba-2":              {map[string]any{"mamba2.ssm.time_step_rank": uint32(0)}, fault.ErrConfig},
		"a width that heads do not fit":    {map[string]any{"mamba2.ssm.inner_size": uint32(60)}, fault.ErrConfig},
		"a width that rows do not fit":     {map[string]any{"mamba2.ssm.inner_size": uint32(72)}, fault.ErrConfig},
		"three times the width of rows":    {map[string]any{"mamba2.ssm.inner_size": uint32(96)}, fault.ErrWeights},
		"no width":                         {map[string]any{"mamba2.ssm.inner_size": nil}, fault.ErrConfig},
		"another number of groups":         {map[string]any{"mamba2.ssm.group_count": uint32(4)}, fault.ErrWeights},
		"groups that heads do not fit":     {map[string]any{"mamba2.ssm.group_count": uint32(3)}, fault.ErrConfig},
		"a huge state":                     {map[string]any{"mamba2.ssm.state_size": uint32(1 << 31)}, fault.ErrConfig},
		"a convolution of another length":  {map[string]any{"mamba2.ssm.conv_kernel": uint32(3)}, fault.ErrWeights},
		"no epsilon":                       {map[string]any{"mamba2.attention.layer_norm_rms_epsilon": nil}, fault.ErrConfig},
		"experts, which Mamba-2 never has": {map[string]any{"mamba2.expert_count": uint32(4)}, fault.ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := models.Open(tftest.RewriteGGUF(t, modelstest.Testdata("gguf/mamba2/f32.gguf"), c.change), models.Options{})
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			} else if err == nil && (len(m.Warnings) > 0 || m.Config.MaxLength != 0) {
				t.Errorf("warnings %q, at most %d tokens; want no warning and no limit", m.Warnings, m.Config.MaxLength)
			}
		})
	}
}

// TestGGUFNemotron changes which part each layer has: Mamba-2, a network, attention, Mamba-2.
func TestGGUFNemotron(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]any
		want   error
	}{
		"as it is":                      {nil, nil},
		"a network beside attention":    {map[string]any{"nemotron_h.feed_forward_length": []int32{0, 48, 48, 0}}, fault.ErrConfig},
		"networks of different widths":  {map[string]any{"nemotron_h.feed_forward_length": []int32{24, 48, 0, 0}}, fault.ErrConfig},
		"a network for Mamba-2":         {map[string]any{"nemotron_h.feed_forward_length": []int32{48, 48, 0, 0}}, fault.ErrWeights},
		"one width for all layers":      {map[string]any{"nemotron_h.feed_forward_length": uint32(48)}, fault.ErrConfig},
		"heads of keys by layer":        {map[string]any{"nemotron_h.attention.head_count_kv": []int32{0, 0, 2, 1}}, fault.ErrConfig},
		"lists for fewer layers":        {map[string]any{"nemotron_h.attention.head_count_kv": []int32{0, 0, 2}}, fault.ErrConfig},
		"no heads of Mamba-2":           {map[string]any{"nemotron_h.ssm.time_step_rank": uint32(0)}, fault.ErrConfig},
		"a width that heads do not fit": {map[string]any{"nemotron_h.ssm.inner_size": uint32(63)}, fault.ErrConfig},
		"no epsilon":                    {map[string]any{"nemotron_h.attention.layer_norm_rms_epsilon": nil}, fault.ErrConfig},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := models.Open(tftest.RewriteGGUF(t, modelstest.Testdata("gguf/nemotron_h/f32.gguf"), c.change), models.Options{})
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			} else if err == nil && len(m.Warnings) > 0 {
				t.Errorf("warnings %q, want none", m.Warnings)
			}
		})
	}
}
