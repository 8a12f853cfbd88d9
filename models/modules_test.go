package models_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestModulesOfClassifiers tells a cross-encoder, whose modules.json has one module beside a
// classifier, from an embedder whose weights are a classifier's, and from a mistake.
func TestModulesOfClassifiers(t *testing.T) {
	const first = `{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}`
	const one, two = "[" + first + "]", "[" + first + `, {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]`
	pooling := []byte(`{"word_embedding_dimension": 32, "pooling_mode_mean_tokens": true}`)

	cross := tftest.Must(models.OpenFS(with(folder(t, "bert-classify"), "modules.json", []byte(one))))(t)
	if cross.Sentence != nil || cross.Classifier == nil {
		t.Error("a cross-encoder makes vectors of texts")
	}
	both := tftest.Must(models.OpenFS(with(with(folder(t, "bert-classify"), "modules.json", []byte(two)), "1_Pooling/config.json", pooling)))(t)
	if both.Sentence == nil {
		t.Error("two modules beside a classifier make no vectors")
	}
	if _, err := models.OpenFS(with(folder(t, "bert"), "modules.json", []byte(one))); !errors.Is(err, models.ErrConfig) {
		t.Errorf("one module beside no classifier: error %v, want an ErrConfig", err)
	}
}

// TestNormalizeSmall normalizes vectors that have no length, or hardly any: as in torch, what
// is shorter than 1e-12 is divided by that.
func TestNormalizeSmall(t *testing.T) {
	m := tftest.Must(models.OpenFS(folder(t, "bert")))(t)
	dim := m.Sentence.Dim()
	x := make([]float32, 3*dim) // three texts of one token: zeros, and a number
	x[dim], x[2*dim] = 1e-13, -5
	y := make([]float32, len(x))
	tftest.NoError(t, m.Sentence.Pool(new(models.Workspace), y, x, tf.Uniform(3, 1)))
	for i, v := range y {
		want := map[int]float64{dim: 0.1, 2 * dim: -1}[i]
		if !(math.Abs(float64(v)-want) <= 1e-6) {
			t.Errorf("element %d of vector %d is %v, want %v", i%dim, i/dim, v, want)
		}
	}
}

// TestLabelsBeyond has a label whose number is that of the labels, the first that there is
// not.
func TestLabelsBeyond(t *testing.T) {
	_, err := models.OpenFS(withField(t, "bert-classify", "id2label", `{"0": "a", "1": "b", "3": "c"}`))
	if !errors.Is(err, models.ErrConfig) || !strings.Contains(err.Error(), "id2label") {
		t.Errorf("error %v, want an ErrConfig that names id2label", err)
	}
}
