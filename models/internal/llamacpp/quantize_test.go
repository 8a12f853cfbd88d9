package llamacpp_test

import (
	"bytes"
	"errors"
	"io"
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
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// TestQuantizeGGUF writes files again with weights in a format, and wants the bits that the file
// gives with the option for this format.
func TestQuantizeGGUF(t *testing.T) {
	for _, c := range []struct {
		path    string
		formats []string
		changed string // a tensor that gets the format, and one that stays
		stays   string
	}{
		{modelstest.Testdata("gguf/llama/f32.gguf"), []string{"q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4", "iq4_nl", "bf16", "f16"}, "blk.1.ffn_down.weight", "token_embd.weight"},
		{modelstest.Testdata("gguf/qwen2/f32.gguf"), []string{"q8_0"}, "blk.1.attn_q.weight", "token_embd.weight"},
		{modelstest.Testdata("gguf/qwen2/f32.gguf"), []string{"bf16"}, "token_embd.weight", "blk.0.attn_q.bias"}, // tied to the head
		{modelstest.Testdata("gguf/k/q6_k.gguf"), []string{"q4_k", "q5_k", "q8_0", "q6_k", "iq4_nl", "iq4_xs", "q3_k"}, "blk.0.attn_k.weight", "output_norm.weight"},
		{modelstest.Testdata("gguf-encoders/bert.gguf"), []string{"bf16"}, "blk.1.ffn_up.weight", "position_embd.weight"},
	} {
		for _, name := range c.formats {
			t.Run(filepath.Base(filepath.Dir(c.path))+"/"+name, func(t *testing.T) {
				f := tftest.Must(kernels.ParseFormat(name))(t)
				var b bytes.Buffer
				tftest.NoError(t, models.QuantizeGGUF(&b, c.path, models.Options{WeightFormat: f}))
				path := filepath.Join(t.TempDir(), "model.gguf")
				tftest.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
				old, written := tftest.Must(gguf.Open(c.path))(t), tftest.Must(gguf.Open(path))(t)
				defer old.Close()
				defer written.Close()
				for tensor, want := range map[string]bool{c.changed: true, c.stays: false} {
					before, _ := old.Info(tensor)
					after, _ := written.Info(tensor)
					if got := strings.EqualFold(after.Type.String(), name); got != want || !want && after.Type != before.Type {
						t.Errorf("%s is %v after %v", tensor, after.Type, before.Type)
					}
				}
				if !slices.Equal(written.Keys(), old.Keys()) {
					t.Errorf("keys %q, want %q", written.Keys(), old.Keys())
				}
				got, want := tftest.Must(models.Open(path, models.Options{}))(t), tftest.Must(models.Open(c.path, models.Options{WeightFormat: f}))(t)
				if !slices.Equal(outputs(t, got), outputs(t, want)) {
					t.Error("other results than those of the option")
				}
			})
		}
	}
	file := modelstest.Testdata("gguf/llama/f32.gguf")
	for _, o := range []models.Options{{}, {WeightFormat: kernels.FormatInt8}, {WeightFormat: kernels.FormatQ8_0, WeightFormats: []models.NamedFormat{{Pattern: "nothing.*", Format: kernels.FormatF16}}},
		{WeightFormat: kernels.FormatQ8_0, WeightFormats: []models.NamedFormat{{Pattern: "output.*", Format: kernels.FormatInt8}}}, {WeightFormat: kernels.FormatQ8_0, WeightFormats: []models.NamedFormat{{Pattern: "[", Format: kernels.FormatF16}}}} {
		if err := models.QuantizeGGUF(io.Discard, file, o); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%+v: error %v, want ErrOption", o, err)
		}
	}
	if err := models.QuantizeGGUF(io.Discard, modelstest.Testdata("folders/bert/model.safetensors"), models.Options{WeightFormat: kernels.FormatQ8_0}); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("another format: error %v, want fault.ErrFormat", err)
	}
}

// TestQuantizeGGUFFallback has formats whose blocks of 256 do not divide rows of 32 and 64
// elements, and formats by pattern: the file opens as the model with the formats that the weights
// have got.
func TestQuantizeGGUFFallback(t *testing.T) {
	t.Parallel()
	file := modelstest.Testdata("gguf/llama/f32.gguf")
	named := []models.NamedFormat{{Pattern: "token_embd.*", Format: kernels.FormatQ8_0}, {Pattern: "output.*", Format: kernels.FormatQ6_K}}
	for _, c := range []struct {
		o     models.Options
		types map[string]gguf.Type
		as    models.Options // what it amounts to
		said  string
	}{
		{models.Options{WeightFormat: kernels.FormatQ4_K}, map[string]gguf.Type{"blk.0.attn_k.weight": gguf.Q5_0, "token_embd.weight": gguf.F32, "output.weight": gguf.F32}, models.Options{WeightFormat: kernels.FormatQ5_0},
			"in q5_0 instead of q4_k, since 256 does not divide their rows: blk.0."},
		{models.Options{WeightFormat: kernels.FormatQ5_K}, map[string]gguf.Type{"blk.1.ffn_up.weight": gguf.Q5_1}, models.Options{WeightFormat: kernels.FormatQ5_1}, "in q5_1 instead of q5_k"},
		{models.Options{WeightFormat: kernels.FormatQ4_0, WeightFormats: named}, map[string]gguf.Type{"blk.0.attn_k.weight": gguf.Q4_0, "token_embd.weight": gguf.Q8_0, "output.weight": gguf.Q8_0},
			models.Options{WeightFormat: kernels.FormatQ4_0, WeightFormats: []models.NamedFormat{{Pattern: "*embed_tokens.*", Format: kernels.FormatQ8_0}, {Pattern: "lm_head.*", Format: kernels.FormatQ8_0}}}, "in q8_0 instead of q6_k, since 256 does not divide their rows: output.weight"},
	} {
		var b bytes.Buffer
		var said []string
		c.o.Warn = func(w string) { said = append(said, w) }
		tftest.NoError(t, models.QuantizeGGUF(&b, file, c.o))
		if len(said) != 1 || !strings.HasPrefix(said[0], c.said) {
			t.Errorf("%v: warnings %q, want one: %s...", c.o.WeightFormat, said, c.said)
		}
		path := filepath.Join(t.TempDir(), "model.gguf")
		tftest.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		written := tftest.Must(gguf.Open(path))(t)
		for name, want := range c.types {
			if info, _ := written.Info(name); info.Type != want {
				t.Errorf("%v: %s is %v, want %v", c.o.WeightFormat, name, info.Type, want)
			}
		}
		written.Close()
		got, want := tftest.Must(models.Open(path, models.Options{}))(t), tftest.Must(models.Open(file, c.as))(t)
		if !slices.Equal(outputs(t, got), outputs(t, want)) {
			t.Errorf("%v: other results than those of %+v", c.o.WeightFormat, c.as)
		}
	}
}

// outputs returns the logits or hidden states for some tokens.
func outputs(t *testing.T, m *models.Model) []float32 {
	ids := []int{5, 17, 3, 42, 8}
	ws, batch := new(models.Workspace), models.Tokens{IDs: ids, Batch: transformer.Ragged(len(ids))}
	if m.LM == nil {
		x := make([]float32, len(ids)*m.Encoder.Dim())
		tftest.NoError(t, m.Encoder.Encode(ws, x, batch))
		return x
	}
	x := make([]float32, len(ids)*m.Config.Dim)
	tftest.NoError(t, m.LM.Hidden(ws, x, ids, batch.Batch, nil, nil))
	y := make([]float32, len(ids)*m.LM.Vocab())
	tftest.NoError(t, m.LM.Logits(ws, y, x))
	return y
}
