package lora_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// lora returns the folder of an adapter with fields beside those that every adapter has, and
// tensors whose elements are all equal.
func lora(t *testing.T, fields map[string]any, tensors map[string][]int) string {
	t.Helper()
	config := map[string]any{"peft_type": "LORA", "r": 1, "lora_alpha": 1}
	for name, value := range fields {
		config[name] = value
	}
	filled := map[string]safetensors.Tensor{}
	for name, shape := range tensors {
		n := 1
		for _, d := range shape {
			n *= d
		}
		filled["base_model.model."+name] = safetensors.Tensor{Shape: shape, Data: slices.Repeat([]float32{0.25}, n)}
	}
	var b bytes.Buffer
	tftest.NoError(t, safetensors.Write(&b, filled, nil))
	return written(t, tftest.Must(json.Marshal(config))(t), b.Bytes())
}

// TestEnsureWeightTying has copies of tables, and what is added to tables, in the projection that
// is tied to them where modules_to_save or target_modules name embed_tokens or lm_head, and not
// where they name another table: as peft 0.21 does.
func TestEnsureWeightTying(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model   string
		fields  map[string]any
		tensors map[string][]int
		tied    bool // ensure_weight_tying changes what is computed
	}{
		"a copy of embed_tokens": {"qwen2", map[string]any{"target_modules": []string{"q_proj"}, "modules_to_save": []string{"embed_tokens"}}, map[string][]int{"model.embed_tokens.weight": {101, 32}}, true},
		"a copy of wte":          {"gpt2", map[string]any{"target_modules": []string{"c_attn"}, "modules_to_save": []string{"wte"}}, map[string][]int{"transformer.wte.weight": {101, 32}}, false},
		"added to embed_tokens":  {"qwen2", map[string]any{"target_modules": []string{"embed_tokens"}}, map[string][]int{"model.embed_tokens.lora_embedding_A": {1, 101}, "model.embed_tokens.lora_embedding_B": {32, 1}}, true},
		"by an expression":       {"qwen2", map[string]any{"target_modules": ".*embed_tokens"}, map[string][]int{"model.embed_tokens.lora_embedding_A": {1, 101}, "model.embed_tokens.lora_embedding_B": {32, 1}}, true},
		"added to wte":           {"gpt2", map[string]any{"target_modules": []string{"wte"}}, map[string][]int{"transformer.wte.lora_embedding_A": {1, 101}, "transformer.wte.lora_embedding_B": {32, 1}}, false},
	} {
		var got [2][]float32
		for i := range got {
			c.fields["ensure_weight_tying"] = i == 1
			m := tftest.Must(models.Open(filepath.Join(modelstest.Own, c.model), models.Options{Adapters: []models.Adapter{{Path: lora(t, c.fields, c.tensors)}}}))(t)
			got[i] = make([]float32, 4*m.LM.Vocab())
			tftest.NoError(t, m.Logits(new(models.Workspace), got[i], []int{1, 5, 9, 3}, tf.Uniform(1, 4), nil, nil))
		}
		if slices.Equal(got[0], got[1]) == c.tied {
			t.Errorf("%s: tied %t, want %t", name, !c.tied, c.tied)
		}
	}
}

// TestTiedFactors has factors of a projection that ensure_weight_tying ties to the table: they must
// be those of the table.
func TestTiedFactors(t *testing.T) {
	t.Parallel()
	table := map[string][]int{"model.embed_tokens.lora_embedding_A": {2, 101}, "model.embed_tokens.lora_embedding_B": {32, 2}}
	for name, c := range map[string]struct {
		tie     bool
		tensors map[string][]int
		want    error
	}{
		"the table's":   {true, map[string][]int{"lm_head.lora_A.weight": {2, 32}, "lm_head.lora_B.weight": {101, 2}}, nil},
		"another rank":  {true, map[string][]int{"lm_head.lora_A.weight": {3, 32}, "lm_head.lora_B.weight": {101, 3}}, fault.ErrMisshapen},
		"not tied":      {false, map[string][]int{"lm_head.lora_A.weight": {2, 32}, "lm_head.lora_B.weight": {101, 2}}, fault.ErrLeftOver},
		"of a layer":    {true, map[string][]int{"model.layers.0.lm_head.lora_A.weight": {2, 32}, "model.layers.0.lm_head.lora_B.weight": {101, 2}}, fault.ErrLeftOver},
		"without A":     {true, map[string][]int{"lm_head.lora_B.weight": {101, 2}}, fault.ErrMissing},
		"one more part": {true, map[string][]int{"lm_head.lora_A.weight": {2, 32}, "lm_head.lora_B.weight": {101, 2}, "lm_head.lora_magnitude_vector": {101}}, fault.ErrLeftOver},
	} {
		tensors := maps.Clone(table)
		maps.Copy(tensors, c.tensors)
		_, err := withAdapter(lora(t, map[string]any{"r": 2, "target_modules": []string{"embed_tokens"}, "ensure_weight_tying": c.tie}, tensors), "qwen2")
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

// TestTiedFactorsDiffer changes the last number of a file, which is of one of the two modules.
func TestTiedFactorsDiffer(t *testing.T) {
	t.Parallel()
	saved, dir := filepath.Join(modelstest.Adapters, "llama-tied-ensured-head"), t.TempDir()
	tftest.NoError(t, os.CopyFS(dir, os.DirFS(saved)))
	weights := filepath.Join(dir, "adapter_model.safetensors")
	data := tftest.Must(os.ReadFile(weights))(t)
	data[len(data)-1] ^= 1
	tftest.NoError(t, os.WriteFile(weights, data, 0o600))
	if _, err := models.Open(baseOf(t, saved), models.Options{Adapters: []models.Adapter{{Path: dir}}}); !errors.Is(err, fault.ErrLeftOver) || !strings.Contains(err.Error(), "differs from") {
		t.Errorf("error %v", err)
	}
}

// TestAdapterWhole has a whole tensor of a module. Where the adapter adds to the module too, peft
// looks for the tensor below base_layer, and leaves this one out.
func TestAdapterWhole(t *testing.T) {
	t.Parallel()
	const weight = "model.layers.1.self_attn.q_proj.weight"
	for target, want := range map[string]error{"q_proj": fault.ErrLeftOver, "k_proj": nil} {
		_, err := withAdapter(lora(t, map[string]any{"target_modules": []string{target}}, map[string][]int{weight: {32, 32}}), "qwen2")
		if !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), weight) {
			t.Errorf("target_modules = %s: error %v", target, err)
		}
	}
}

// TestTableOfEncoder adds to the table of T5's encoder where the checkpoint has only the one that
// is shared: the encoder then has a table of its own, and the decoder that of the checkpoint.
func TestTableOfEncoder(t *testing.T) {
	t.Parallel()
	folder := modelstest.Folder(t, "t5")
	file := tftest.Must(safetensors.Parse(folder["model.safetensors"].Data))(t)
	shared := map[string]safetensors.Tensor{}
	for _, name := range file.Names() {
		if info, _ := file.Info(name); !strings.HasSuffix(name, "embed_tokens.weight") {
			shared[name] = safetensors.Tensor{Shape: info.Shape, Data: tftest.Must(file.Float32(name))(t)}
		}
	}
	var b bytes.Buffer
	tftest.NoError(t, safetensors.Write(&b, shared, nil))
	bases := []fstest.MapFS{folder, modelstest.With(folder, "model.safetensors", b.Bytes())}
	adapter := lora(t, map[string]any{"target_modules": []string{"encoder.embed_tokens"}}, map[string][]int{"encoder.embed_tokens.lora_embedding_A": {1, 101}, "encoder.embed_tokens.lora_embedding_B": {32, 1}})
	var states [3][]float32
	for i := range states {
		var o models.Options
		if i < 2 {
			o.Adapters = []models.Adapter{{Path: adapter}}
		}
		m := tftest.Must(models.OpenFS(bases[i%2], o))(t)
		states[i] = make([]float32, 4*m.Encoder.Dim())
		tftest.NoError(t, m.Encoder.Encode(new(models.Workspace), states[i], models.Tokens{IDs: []int{1, 5, 9, 3}, Batch: tf.Uniform(1, 4)}))
	}
	if !slices.Equal(states[0], states[1]) || slices.Equal(states[0], states[2]) {
		t.Error("the encoder of a checkpoint with one table is another one than that of a checkpoint with copies, or the adapter has no effect")
	}
}
