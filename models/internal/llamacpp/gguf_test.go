package llamacpp_test

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// quantizationError bounds how far the logits of quantized weights, multiplied in float32, may be
// from those of the folder they were made from, as the quotient of their norms. The weights are
// random and attention is sharp: the errors of trained models are far smaller.
var quantizationError = map[string]float64{"f32": 1e-5, "mxfp4": 1e-5, "q8_0": 0.04, "q6_k": 0.08, "q4_k": 0.25, "q5_0": 0.25, "q4_0": 0.5,
	"qwen3moe/q8_0": 0.15} // where some tokens go to other experts

// integerError bounds how far logits may be from those of the same weights in float32, where rows
// become integers to be multiplied with blocks.
const integerError = 0.04

// TestGGUF opens files that Python's gguf package wrote from model folders, on every tier, and
// compares with what transformers computes from the weights as they are read back: of a file in
// F32, the folder's own logits and greedy tokens.
func TestGGUF(t *testing.T) {
	files, err := filepath.Glob(modelstest.Testdata("gguf/*/*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, path := range files {
		kind := strings.TrimSuffix(filepath.Base(path), ".gguf")
		t.Run(filepath.Base(filepath.Dir(path))+"/"+kind, func(t *testing.T) {
			tftest.EachTier(t, func(t *testing.T) {
				e := modelstest.OpenExpected(t, filepath.Dir(path))
				ws := new(models.Workspace)
				in := e.Tokens("input_ids", "attention_mask", "")
				exact := tftest.Must(models.Open(path, models.Options{WeightFormats: []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}}))(t)
				whole := in.Pad(e.Logits(ws, exact, in, nil))
				e.Check("logits_"+kind, whole)
				most := cmp.Or(quantizationError[filepath.Base(filepath.Dir(path))+"/"+kind], quantizationError[kind])
				if off := modelstest.Distance(whole, e.Floats("logits_folder")); !(off <= most) {
					t.Errorf("%.3g of the folder's logits off, want at most %g", off, most)
				}
				m := tftest.Must(models.Open(path, models.Options{}))(t)
				logits := in.Pad(e.Logits(ws, m, in, nil))
				if off := modelstest.Distance(logits, e.Floats("logits_"+kind)); !(off <= integerError) {
					t.Errorf("%.3g of the logits in float32 off, want at most %g", off, integerError)
				}
				if kind == "f32" {
					e.Greedy(ws, m, nil)
				}
				if unread := "metadata: olmo2.rope.scaling.yarn_beta_fast = 16: ignored"; slices.ContainsFunc(m.Warnings, func(w string) bool { return w != unread }) {
					t.Errorf("warnings %q, want at most one about a key that llama.cpp does not read, either", m.Warnings)
				}
				if c := m.Config; c.Vocab != 101 || c.BOSToken != 1 || !slices.Equal(c.EOSTokens, []int{2, 100}) {
					t.Errorf("configuration %+v", c)
				}
			})
		})
	}
}

// TestGGUFErrors opens files that lack something, or are not files of a model.
func TestGGUFErrors(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("too slow in an emulator, and no kernel runs")
	}
	whole, err := os.ReadFile(modelstest.Testdata("gguf/llama/q8_0.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	open := func(data []byte) error {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := models.Open(path, models.Options{})
		return err
	}
	if err := open(whole); err != nil {
		t.Fatal(err)
	}
	replace := func(old, new string) []byte {
		if len(old) != len(new) || bytes.Count(whole, []byte(old)) == 0 {
			t.Fatalf("%q to %q", old, new)
		}
		return bytes.ReplaceAll(whole, []byte(old), []byte(new))
	}
	for name, c := range map[string]struct {
		data []byte
		want error
		text string
	}{
		"another architecture": {replace("\x05\x00\x00\x00\x00\x00\x00\x00llama", "\x05\x00\x00\x00\x00\x00\x00\x00bloom"), fault.ErrModelType, "bloom"},
		"a key":                {replace("llama.block_count", "llama.block_tally"), fault.ErrAbsent, "block_count"},
		"a tensor":             {replace("blk.1.ffn_up.weight", "blk.1.ffn_on.weight"), fault.ErrMissing, "blk.1.ffn_up.weight"},
		"an unknown scaling":   {replace("rope_freqs.weight", "rope_fREQs.weight"), fault.ErrLeftOver, "rope_fREQs.weight"},
	} {
		if err := open(c.data); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want %v that names %s", name, err, c.want, c.text)
		}
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/97 {
		if err := open(whole[:n]); err == nil {
			t.Errorf("no error for the first %d bytes", n)
		}
	}
}
