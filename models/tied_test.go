package models

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// TestTiedFolders opens folders whose tie_word_embeddings is true with a projection of its own
// beside the embedding, and with the projection alone.
func TestTiedFolders(t *testing.T) {
	for folder, names := range map[string][2]string{ // of the embedding and the projection
		"llama-tied-rope3": {"model.embed_tokens.weight", "lm_head.weight"},
		"gpt2":             {"transformer.wte.weight", "lm_head.weight"},
		"bert-masked":      {"bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
	} {
		file := tftest.Must(safetensors.Open(filepath.Join("testdata/folders", folder, "model.safetensors")))(t)
		defer file.Close()
		fields := map[string]any{}
		tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join("testdata/folders", folder, "config.json")))(t), &fields))
		logits := func(tied bool, tensors map[string][]float32) []float32 {
			t.Helper()
			fields["tie_word_embeddings"] = tied
			all := transformer.TensorMap{}
			for _, name := range file.Names() {
				info, _ := file.Info(name)
				all[name] = safetensors.Tensor{Shape: info.Shape, Data: tftest.Must(file.Float32(name))(t)}
			}
			shape := all[names[0]].Shape
			delete(all, names[0])
			delete(all, "cls.predictions.decoder.bias")
			for name, data := range tensors {
				all[name] = safetensors.Tensor{Shape: shape, Data: data}
			}
			m := tftest.Must(New(tftest.Must(json.Marshal(fields))(t), all, Options{}))(t)
			ws, x := new(Workspace), results(t, m)
			if m.LM != nil {
				y := make([]float32, m.LM.Vocab())
				tftest.NoError(t, m.LM.Logits(ws, y, x[:m.LM.Dim()]))
				return y
			}
			y := make([]float32, m.Heads[HeadMaskedLM].Out())
			tftest.NoError(t, m.Heads[HeadMaskedLM].Forward(ws, y, x[:m.Encoder.Dim()], Tokens{IDs: []int{1}, Batch: transformer.Uniform(1, 1)}))
			return y
		}
		table := tftest.Must(file.Float32(names[0]))(t)
		other := slices.Clone(table)
		for i := range other {
			other[i] *= float32(1 + i%3)
		}
		want := logits(true, map[string][]float32{names[0]: table})
		for name, got := range map[string][]float32{
			"the projection alone": logits(true, map[string][]float32{names[1]: table}),
			"a copy":               logits(true, map[string][]float32{names[0]: table, names[1]: table}),
		} {
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s gives other logits", folder, name)
			}
		}
		apart := logits(false, map[string][]float32{names[0]: table, names[1]: other})
		if got := logits(true, map[string][]float32{names[0]: table, names[1]: other}); !slices.Equal(got, apart) || slices.Equal(got, want) {
			t.Errorf("%s: a projection of its own is not used", folder)
		}
	}
}

// TestOneMissing opens a folder that lacks a tensor of an early layer: the error names it, and none
// of the later layers.
func TestOneMissing(t *testing.T) {
	dir := filepath.Join("testdata/folders", "llama")
	file := tftest.Must(safetensors.Open(filepath.Join(dir, "model.safetensors")))(t)
	defer file.Close()
	weights := transformer.Hide(transformer.FromSafetensors(file), "model.layers.0.mlp.up_proj.weight")
	_, err := New(tftest.Must(os.ReadFile(filepath.Join(dir, "config.json")))(t), weights, Options{})
	if err == nil || !strings.Contains(err.Error(), "layers.0.mlp.up_proj") || strings.Contains(err.Error(), "left over") || strings.Contains(err.Error(), "layers.1") {
		t.Errorf("error %v, want one about the missing tensor", err)
	}
}
