package llamacpp_test

import (
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
)

// TestGGUFEncoders opens files that Python's gguf package wrote from model folders: they give what
// transformers computes from the folders and, in float32, the bits that the folders give.
func TestGGUFEncoders(t *testing.T) {
	files, err := filepath.Glob(modelstest.Testdata("gguf-encoders/*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".gguf")
		t.Run(name, func(t *testing.T) {
			tftest.EachTier(t, func(t *testing.T) {
				folder := filepath.Join(modelstest.Own, strings.TrimSuffix(name, "-older"))
				e := modelstest.OpenExpected(t, folder)
				m := tftest.Must(models.Open(path, models.Options{}))(t)
				exact := models.Options{WeightFormats: []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}}
				got, want := tftest.Must(models.Open(path, exact))(t), tftest.Must(models.Open(folder, exact))(t)
				vectors := m.Embedders.Sentence
				shorter := want.Embedders.Sentence != nil && !want.Embedders.Sentence.Normalized() // the folder's vectors have any length
				if shorter {
					m.Embedders.Sentence, e.Used["sentence_embedding"] = nil, true
				}
				if m.Heads[models.HeadPooler] == nil {
					e.Used["pooler_output"] = true // of jina_embeddings_v3: llama.cpp's files have no pooler
				}
				e.All(m)
				if len(m.Warnings) > 0 {
					t.Errorf("warnings %q", m.Warnings)
				}
				in := e.Tokens("input_ids", "attention_mask", "token_type_ids")
				for _, h := range got.Holdings { // names are those of patterns, not those of the file's tensors
					if h.Name == h.Tensor || h.Tensor == "" {
						t.Errorf("holding %+v", h)
					}
				}
				one := models.Options{WeightFormats: append([]models.NamedFormat{{Pattern: got.Holdings[0].Name, Format: kernels.FormatBF16}}, exact.WeightFormats...)}
				if h := tftest.Must(models.Open(path, one))(t).Holdings; h[0].Format != kernels.FormatBF16 || h[len(h)-1].Format != kernels.FormatF32 {
					t.Errorf("holdings %+v", h)
				}
				bits := func(m *models.Model) []float32 {
					if want.Embedders.Sentence == nil { // a folder without modules.json
						x := make([]float32, in.Batch.Rows()*m.Encoder.Dim())
						tftest.NoError(t, m.Encoder.Encode(new(models.Workspace), x, in.Tokens))
						return x
					}
					x := make([]float32, in.Batch.Len()*m.Embedders.Sentence.Dim())
					tftest.NoError(t, m.Embedders.Sentence.Embed(new(models.Workspace), x, in.Tokens))
					return x
				}
				x, y := bits(got), bits(want)
				if shorter {
					for at := 0; at < len(y); at += vectors.Dim() {
						unitLength(y[at : at+vectors.Dim()])
					}
				}
				if !slices.EqualFunc(x, y, func(a, b float32) bool { return a == b || shorter && math.Abs(float64(a-b)) < 1e-6 }) {
					t.Error("hidden states or vectors differ from the folder's")
				}
				if wanted := !strings.HasPrefix(name, "t5"); wanted != (vectors != nil) || wanted && !vectors.Normalized() {
					t.Errorf("vectors of texts: %v, want %v, of length 1", vectors != nil, wanted)
				}
			})
		})
	}
}

// unitLength divides x by its length.
func unitLength(x []float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	for i := range x {
		x[i] = float32(float64(x[i]) / math.Sqrt(sum))
	}
}

// TestGGUFPooling changes the metadata of an embedder.
func TestGGUFPooling(t *testing.T) {
	whole := tftest.Must(os.ReadFile(modelstest.Testdata("gguf-encoders/bert.gguf")))(t)
	path := filepath.Join(t.TempDir(), "model.gguf")
	for _, c := range []struct {
		old, new string
		want     error
	}{
		{"bert.pooling_type\x04\x00\x00\x00\x01", "bert.pooling_type\x04\x00\x00\x00\x02", nil},
		{"bert.pooling_type\x04\x00\x00\x00\x01", "bert.pooling_type\x04\x00\x00\x00\x00", nil},
		{"bert.pooling_type\x04\x00\x00\x00\x01", "bert.pooling_type\x04\x00\x00\x00\x04", fault.ErrConfig},
		{"bert.attention.causal\x07\x00\x00\x00\x00", "bert.attention.causal\x07\x00\x00\x00\x01", fault.ErrConfig},
	} {
		if strings.Count(string(whole), c.old) != 1 {
			t.Fatalf("the file does not have %q once", c.old)
		}
		tftest.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(whole), c.old, c.new, 1)), 0o600))
		m, err := models.Open(path, models.Options{})
		if !errors.Is(err, c.want) {
			t.Errorf("%q: error %v, want %v", c.new, err, c.want)
		}
		if none := strings.HasSuffix(c.new, "\x00"); err == nil && (m.Embedders.Sentence == nil) != none {
			t.Errorf("%q: embedder %v", c.new, m.Embedders.Sentence)
		}
	}
}
