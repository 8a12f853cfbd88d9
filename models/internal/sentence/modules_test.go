package sentence_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// TestModulesOfClassifiers tells a cross-encoder, whose modules.json has one module beside a
// classifier, from an embedder whose weights are a classifier's, and from a mistake.
func TestModulesOfClassifiers(t *testing.T) {
	const first = `{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}`
	const one, two = "[" + first + "]", "[" + first + `, {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]`
	pooling := []byte(`{"word_embedding_dimension": 32, "pooling_mode_mean_tokens": true}`)

	cross := tftest.Must(models.OpenFS(modelstest.With(modelstest.Folder(t, "bert-classify"), "modules.json", []byte(one)), models.Options{}))(t)
	if cross.Embedders.Sentence != nil || cross.Heads[models.HeadClassifier] == nil {
		t.Error("a cross-encoder makes vectors of texts")
	}
	both := tftest.Must(models.OpenFS(modelstest.With(modelstest.With(modelstest.Folder(t, "bert-classify"), "modules.json", []byte(two)), "1_Pooling/config.json", pooling), models.Options{}))(t)
	if both.Embedders.Sentence == nil {
		t.Error("two modules beside a classifier make no vectors")
	}
	if _, err := models.OpenFS(modelstest.With(modelstest.Folder(t, "bert"), "modules.json", []byte(one)), models.Options{}); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("one module beside no classifier: error %v, want an ErrConfig", err)
	}
}

// TestNormalizeSmall normalizes vectors that have no length, or hardly any: as in torch, what is
// shorter than 1e-12 is divided by that.
func TestNormalizeSmall(t *testing.T) {
	m := tftest.Must(models.OpenFS(modelstest.Folder(t, "bert"), models.Options{}))(t)
	dim := m.Embedders.Sentence.Dim()
	x := make([]float32, 3*dim) // three texts of one token: zeros, and a number
	x[dim], x[2*dim] = 1e-13, -5
	y := make([]float32, len(x))
	tftest.NoError(t, m.Embedders.Sentence.Pool(new(models.Workspace), y, x, tf.Uniform(3, 1)))
	for i, v := range y {
		want := map[int]float64{dim: 0.1, 2 * dim: -1}[i]
		if !(math.Abs(float64(v)-want) <= 1e-6) {
			t.Errorf("element %d of vector %d is %v, want %v", i%dim, i/dim, v, want)
		}
	}
}

// TestLayerNorm has layer normalization after the pooling, and a module of weights of layers before
// it, which does nothing where the encoder gives the last layer alone.
func TestLayerNorm(t *testing.T) {
	list := `[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
		{"idx": 1, "name": "1", "path": "1_WeightedLayerPooling", "type": "sentence_transformers.models.WeightedLayerPooling"},
		{"idx": 2, "name": "2", "path": "2_Pooling", "type": "sentence_transformers.models.Pooling"},
		{"idx": 3, "name": "3", "path": "3_LayerNorm", "type": "sentence_transformers.models.LayerNorm"}]`
	weights := func(tensors map[string]safetensors.Tensor) []byte {
		var b bytes.Buffer
		tftest.NoError(t, safetensors.Write(&b, tensors, nil))
		return b.Bytes()
	}
	scale, shift := make([]float32, 32), make([]float32, 32)
	for i := range scale {
		scale[i], shift[i] = 2, float32(i)
	}
	norm := weights(map[string]safetensors.Tensor{"norm.weight": {Shape: []int{32}, Data: scale}, "norm.bias": {Shape: []int{32}, Data: shift}})
	layers := weights(map[string]safetensors.Tensor{"layer_weights": {Shape: []int{3}, Data: []float32{1, 2, 3}}})
	open := func(dimension, layerWeights string) (*models.Model, error) {
		f := modelstest.Folder(t, "bert")
		for name, text := range map[string][]byte{
			"modules.json": []byte(list), "2_Pooling/config.json": []byte(`{"word_embedding_dimension": 32, "pooling_mode": "cls"}`),
			"3_LayerNorm/config.json": []byte(`{"dimension": ` + dimension + `}`), "3_LayerNorm/model.safetensors": norm,
			"1_WeightedLayerPooling/config.json": []byte(layerWeights), "1_WeightedLayerPooling/model.safetensors": layers,
		} {
			f = modelstest.With(f, name, text)
		}
		return models.OpenFS(f, models.Options{})
	}
	const weighted = `{"word_embedding_dimension": 32, "layer_start": 1, "num_hidden_layers": 3}`
	m := tftest.Must(open("32", weighted))(t)
	x, y := make([]float32, 32), make([]float32, 32)
	x[5] = 1
	tftest.NoError(t, m.Embedders.Sentence.Pool(new(models.Workspace), y, x, tf.Uniform(1, 1)))
	mean, variance := 1./32, 1./32-1./(32*32)
	for i, v := range y {
		want := 2*(float64(x[i])-mean)/math.Sqrt(variance+1e-5) + float64(i)
		if !(math.Abs(float64(v)-want) <= 1e-4) {
			t.Errorf("element %d is %v, want %v", i, v, want)
		}
	}
	if m.Embedders.Sentence.Normalized() {
		t.Error("vectors after layer normalization count as of length 1")
	}
	for _, c := range [][2]string{{"31", weighted}, {"32", `{"layer_start": 0, "num_hidden_layers": 3}`}, {"32", `{"of_tomorrow": 1}`}} {
		if _, err := open(c[0], c[1]); err == nil {
			t.Errorf("dimension %s and layers %s open", c[0], c[1])
		}
	}
}

// TestLabelsBeyond has a label whose number is that of the labels, the first that there is not.
func TestLabelsBeyond(t *testing.T) {
	_, err := models.OpenFS(modelstest.WithField(t, "bert-classify", "id2label", `{"0": "a", "1": "b", "3": "c"}`), models.Options{})
	if !errors.Is(err, fault.ErrConfig) || !strings.Contains(err.Error(), "id2label") {
		t.Errorf("error %v, want an ErrConfig that names id2label", err)
	}
}
