package models_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// further are the models whose layers for further tokens testdata/mtp has: the weights, and what
// PyTorch computes with them.
var further = []string{"qwen3_5_text", "qwen3_5_moe_text", "qwen3_next", "deepseek_v3"}

// withFurther opens a folder with the weights of the layer for further tokens of another one, which
// may be the same. expected has the tokens and logits.
func withFurther(t *testing.T, folder, name string, o models.Options) (m *models.Model, expected *safetensors.File) {
	t.Helper()
	weights := tf.TensorMap{}
	open := func(path string) *safetensors.File {
		f := tftest.Must(safetensors.Open(path))(t)
		t.Cleanup(func() { f.Close() })
		for _, tensor := range f.Names() {
			if info, _ := f.Info(tensor); strings.Contains(tensor, ".") {
				weights[tensor] = safetensors.Tensor{Shape: info.Shape, Data: tftest.Must(f.Float32(tensor))(t)}
			}
		}
		return f
	}
	dir := filepath.Join(own, folder)
	open(filepath.Join(dir, "model.safetensors"))
	expected = open(filepath.Join("testdata", "mtp", name+".safetensors"))
	return tftest.Must(models.New(tftest.Must(os.ReadFile(filepath.Join(dir, "config.json")))(t), weights, o))(t), expected
}

// TestMTP: the logits for the token after the next one are those that PyTorch computes, in one pass
// and piece by piece, and the model's own logits do not depend on the layer.
func TestMTP(t *testing.T) {
	tftest.EachTier(t, func(t *testing.T) {
		for _, name := range further {
			m, expected := withFurther(t, name, name, models.Options{MTP: true})
			noise := tftest.Must(strconv.ParseFloat(expected.Metadata()["noise"], 64))(t)
			ids, want := tftest.Must(expected.Int64("input_ids"))(t), tftest.Must(expected.Float32("logits"))(t)
			tokens := make([]int, len(ids))
			for i, id := range ids {
				tokens[i] = int(id)
			}
			p := m.LM.(models.MultiTokenPredictor).Predictor()
			ws, dim, n := new(tf.Workspace), m.LM.Dim(), len(tokens)-1
			hidden := make([]float32, len(tokens)*dim)
			tftest.NoError(t, m.LM.Hidden(ws, hidden, tokens, tf.Uniform(1, len(tokens)), nil, nil))
			for _, piece := range []int{n, 5, 1} {
				cache, got := p.NewPages(0).Cache(1), make([]float32, n*m.LM.Vocab())
				for at := 0; at < n; at += piece {
					to := min(at+piece, n)
					x := make([]float32, (to-at)*dim)
					tftest.NoError(t, p.Predict(ws, x, hidden[at*dim:to*dim], tokens[at+1:to+1], tf.Uniform(1, to-at), cache))
					tftest.NoError(t, p.Logits(ws, got[at*m.LM.Vocab():to*m.LM.Vocab()], x))
				}
				if d := farthest(got, want); !(d <= 20*noise) {
					t.Errorf("%s in pieces of %d: logits differ by %g, the noise is %g", name, piece, d, noise)
				}
			}
			without, _ := withFurther(t, name, name, models.Options{})
			if without.LM.(models.MultiTokenPredictor).Predictor() != nil {
				t.Errorf("%s has the layer without being asked", name)
			}
			same := make([]float32, len(hidden))
			tftest.NoError(t, without.LM.Hidden(ws, same, tokens, tf.Uniform(1, len(tokens)), nil, nil))
			if d := farthest(same, hidden); d != 0 {
				t.Errorf("%s: hidden states differ by %g without the layer", name, d)
			}
		}
	})
}

// farthest returns the largest difference of two slices; NaN counts as infinite.
func farthest(a, b []float32) (most float64) {
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		most = max(most, d)
	}
	return most
}

// TestMTPInside: the model of text within a model that reads images, as Qwen3.5 is published, also
// has the layer.
func TestMTPInside(t *testing.T) {
	for folder, name := range map[string]string{"qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text"} {
		for _, with := range []bool{true, false} {
			m, _ := withFurther(t, folder, name, models.Options{MTP: with})
			if has := m.LM.(models.MultiTokenPredictor).Predictor() != nil; has != with {
				t.Errorf("%s has the layer: %t, want %t", folder, has, with)
			}
		}
	}
}

// TestNoMTP: a model without such a layer is an error that names the option.
func TestNoMTP(t *testing.T) {
	for _, name := range []string{"llama", "qwen3_5_text", "bert"} {
		if _, err := models.Open(filepath.Join(own, name), models.Options{MTP: true}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestMTPRefused: layers that are not supported are errors that name the option, and the model
// opens without it.
func TestMTPRefused(t *testing.T) {
	weights := tf.TensorMap{"mtp.fc.weight": {Shape: []int{1}, Data: []float32{1}}}
	for field, value := range map[string]string{"mtp_num_hidden_layers": "2", "mtp_use_dedicated_embeddings": "true"} {
		config := `{"model_type": "qwen3_5_text", "architectures": ["Qwen3_5ForCausalLM"], "vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "layer_types": ["full_attention"],
			"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 24, "` + field + `": ` + value + `}`
		_, err := models.New([]byte(config), weights, models.Options{MTP: true})
		if of := new(fault.Error); !errors.Is(err, fault.ErrOption) || !errors.As(err, &of) || of.Field != "MTP" || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v, want an ErrOption that names the field", field, err)
		}
		if _, err := models.New([]byte(config), tf.Random(1), models.Options{}); err != nil {
			t.Errorf("%s without the option: %v", field, err)
		}
	}
}
