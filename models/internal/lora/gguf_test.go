package lora_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer/gguf"
)

var ggufModel = modelstest.Testdata("gguf/llama/f32.gguf")

// ggufAdapted are weights of the model in ggufModel, [rows, columns].
var ggufAdapted = map[string][2]int{"blk.0.attn_q.weight": {32, 32}, "blk.1.attn_k.weight": {16, 32}, "blk.1.ffn_down.weight": {32, 64}, "token_embd.weight": {101, 32}}

// ggufAdapter writes an adapter of rank 2 for them, with keys and tensors that replace the usual
// ones.
func ggufAdapter(t *testing.T, alpha any, keys map[string]any, tensors func(f *modelstest.GGUF)) string {
	t.Helper()
	var f modelstest.GGUF
	all := map[string]any{"general.type": "adapter", "general.architecture": "llama", "adapter.type": "lora", "adapter.lora.alpha": alpha}
	for key, value := range keys {
		all[key] = value
	}
	for key, value := range all {
		if value != nil {
			f.Key(key, value)
		}
	}
	if tensors != nil {
		tensors(&f)
		return f.Write(t)
	}
	for name, shape := range ggufAdapted {
		left, right := ggufFactors(name, shape)
		if name == "token_embd.weight" {
			f.Tensor(name+".lora_a", left, shape[0], 2)
			f.Tensor(name+".lora_b", turned(right, 2, shape[1]), shape[1], 2)
			continue
		}
		f.Tensor(name+".lora_a", right, 2, shape[1])
		f.Tensor(name+".lora_b", left, shape[0], 2)
	}
	return f.Write(t)
}

// ggufFactors are [rows, 2] and [2, columns].
func ggufFactors(name string, shape [2]int) (left, right []float32) {
	return tftest.Normal(uint64(len(name)), shape[0]*2), tftest.Normal(uint64(shape[0]), 2*shape[1])
}

// turned is x, [rows, cols], as [cols, rows].
func turned(x []float32, rows, cols int) []float32 {
	var y []float32
	for c := range cols {
		for r := range rows {
			y = append(y, x[r*cols+c])
		}
	}
	return y
}

// merged returns the model's file in which the adapter's products, times scale, are in the weights.
func merged(t *testing.T, scale float32) string {
	t.Helper()
	data := tftest.Must(os.ReadFile(ggufModel))(t)
	file := tftest.Must(gguf.Parse(data))(t)
	for name, shape := range ggufAdapted {
		raw := tftest.Must(file.Bytes(name))(t)
		at := bytes.Index(data, raw)
		left, right := ggufFactors(name, shape)
		for i, w := range tftest.Must(file.Float32(name))(t) {
			row, col := i/shape[1], i%shape[1]
			w += scale * (left[2*row]*right[col] + left[2*row+1]*right[shape[1]+col])
			binary.LittleEndian.PutUint32(data[at+4*i:], math.Float32bits(w))
		}
	}
	path := filepath.Join(t.TempDir(), "merged.gguf")
	tftest.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// TestGGUFAdapter compares models in GGUF files and adapters with files that hold the sums.
func TestGGUFAdapter(t *testing.T) {
	e := modelstest.OpenExpected(t, filepath.Dir(ggufModel))
	in := e.Tokens("input_ids", "attention_mask", "")
	logits := func(path string, o models.Options) []float32 {
		m := tftest.Must(models.Open(path, o))(t)
		if len(m.Warnings) > 0 {
			t.Errorf("warnings %q", m.Warnings)
		}
		return e.Logits(new(models.Workspace), m, in, nil)
	}
	exact := []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}
	plain := logits(ggufModel, models.Options{WeightFormats: exact})
	for _, c := range []struct{ alpha, scale, sum float32 }{{3, 0.5, 0.75}, {0, 0.25, 0.25}} {
		o := models.Options{Adapters: []models.Adapter{{Path: ggufAdapter(t, c.alpha, nil, nil), Scale: c.scale}}, WeightFormats: exact}
		want := logits(merged(t, c.sum), models.Options{WeightFormats: exact})
		if off := modelstest.Distance(logits(ggufModel, o), want); !(off < 1e-5) {
			t.Errorf("alpha %v, scale %v: %.3g of the merged file's logits off", c.alpha, c.scale, off)
		}
		if off := modelstest.Distance(plain, want); off < 0.1 {
			t.Errorf("the adapter changes %.3g of the logits", off)
		}
		o.WeightFormats = nil
		const most = 2 * 0.04 // twice what q8_0 may be off
		blocks := strings.Replace(ggufModel, "f32", "q8_0", 1)
		if off := modelstest.Distance(logits(blocks, o), want); !(off < most) {
			t.Errorf("in blocks: %.3g of the merged file's logits off", off)
		}
	}
}

// TestGGUFAdapterRefused is adapters that do not fit, or ask for more than is done.
func TestGGUFAdapterRefused(t *testing.T) {
	zeros := make([]float32, 400)
	one := func(weight string, b, a []int) func(f *modelstest.GGUF) {
		return func(f *modelstest.GGUF) {
			if b != nil {
				f.Tensor(weight+".lora_b", zeros[:b[0]*b[1]], b...)
			}
			if a != nil {
				f.Tensor(weight+".lora_a", zeros[:a[0]*a[1]], a...)
			}
		}
	}
	for name, c := range map[string]struct {
		keys    map[string]any
		alpha   any
		tensors func(f *modelstest.GGUF)
		named   string
	}{
		"a model":           {map[string]any{"general.type": "model"}, float32(1), nil, "general.type"},
		"other kind":        {map[string]any{"adapter.type": "control_vector"}, float32(1), nil, "adapter.type"},
		"other model":       {map[string]any{"general.architecture": "qwen2"}, float32(1), nil, "general.architecture"},
		"no architecture":   {map[string]any{"general.architecture": nil}, float32(1), nil, "general.architecture"},
		"no alpha":          {nil, nil, nil, "adapter.lora.alpha"},
		"alpha below 0":     {nil, float32(-1), nil, "adapter.lora.alpha"},
		"alpha NaN":         {nil, float32(math.NaN()), nil, "adapter.lora.alpha"},
		"activated":         {map[string]any{"adapter.alora.invocation_tokens": 5}, float32(1), nil, "invocation_tokens"},
		"lacks lora_a":      {nil, float32(1), one("blk.0.attn_q.weight", []int{32, 2}, nil), "attn_q.weight.lora_a"},
		"lacks lora_b":      {nil, float32(1), one("blk.0.attn_q.weight", nil, []int{2, 32}), "attn_q.weight.lora_b"},
		"not a factor":      {nil, float32(1), func(f *modelstest.GGUF) { f.Tensor("blk.0.attn_norm.weight", zeros[:32], 32) }, "attn_norm.weight"},
		"no such weight":    {nil, float32(1), one("blk.2.attn_q.weight", []int{32, 2}, []int{2, 32}), "blk.2"},
		"norm":              {nil, float32(1), one("blk.0.attn_norm.weight", []int{32, 2}, []int{2, 32}), "attn_norm"},
		"other rows":        {nil, float32(1), one("blk.0.attn_k.weight", []int{32, 2}, []int{2, 32}), "attn_k"},
		"other ranks":       {nil, float32(1), one("blk.0.attn_k.weight", []int{16, 2}, []int{3, 32}), "attn_k"},
		"table as a linear": {nil, float32(1), one("token_embd.weight", []int{101, 2}, []int{2, 32}), "token_embd"},
	} {
		path := ggufAdapter(t, c.alpha, c.keys, c.tensors)
		if _, err := models.Open(ggufModel, models.Options{Adapters: []models.Adapter{{Path: path}}}); err == nil || !strings.Contains(err.Error(), c.named) {
			t.Errorf("%s: error %v, want one that names %s", name, err, c.named)
		}
	}
	path := ggufAdapter(t, float32(1), map[string]any{"adapter.lora.prompt_prefix": "Now:"}, nil)
	if m, err := models.Open(ggufModel, models.Options{Adapters: []models.Adapter{{Path: path}}}); err != nil || len(m.Warnings) != 1 {
		t.Errorf("a prompt: error %v, want a warning", err)
	}
	for model, adapter := range map[string]string{ggufModel: filepath.Join(modelstest.Adapters, "llama-linear"), filepath.Join(modelstest.Own, "llama"): path} {
		if _, err := models.Open(model, models.Options{Adapters: []models.Adapter{{Path: adapter}}}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s with %s: error %v, want ErrOption", model, adapter, err)
		}
	}
	data := tftest.Must(os.ReadFile(path))(t)
	for i := 0; i < 1200; i += 41 {
		changed := slices.Clone(data)
		changed[i] ^= 1 << (i % 8)
		for _, content := range [][]byte{changed, data[:i]} {
			tftest.NoError(t, os.WriteFile(path, content, 0o600))
			_, err := models.Open(ggufModel, models.Options{Adapters: []models.Adapter{{Path: path}}})
			if err == nil && len(content) < len(data) {
				t.Errorf("%d bytes of an adapter are read", i)
			}
		}
	}
}
