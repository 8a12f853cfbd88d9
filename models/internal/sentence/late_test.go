package sentence_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestScoreNames opens folders for late interaction with other names of how scores are made.
func TestScoreNames(t *testing.T) {
	for name, want := range map[string]error{`"maxsim"`: nil, `"meanmaxsim"`: nil, "null": nil, `"cosine"`: fault.ErrConfig, "3": fault.ErrConfig} {
		text := `{"model_type": "MultiVectorEncoder", "prompts": {}, "similarity_fn_name": ` + name + `}`
		m, err := models.OpenFS(modelstest.With(modelstest.Folder(t, "colbert"), "config_sentence_transformers.json", []byte(text)), models.Options{})
		if !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), "similarity_fn_name") {
			t.Errorf("%s: error %v, want %v", name, err, want)
		} else if err == nil && m.Embedders.Tokens.MeanScore != (name == `"meanmaxsim"`) {
			t.Errorf("%s: MeanScore = %v", name, m.Embedders.Tokens.MeanScore)
		}
	}
}

// TestSparseEdges weighs no tokens, tokens whose states are not numbers, and without a head.
func TestSparseEdges(t *testing.T) {
	ws := new(models.Workspace)
	if err := new(models.Model).Splade().Weigh(ws, nil, models.Tokens{}, nil); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("without a head: error %v", err)
	}
	for _, name := range []string{"splade", "bge-m3"} {
		m := tftest.Must(models.OpenFS(modelstest.Folder(t, name), models.Options{}))(t)
		empty := 0
		tftest.NoError(t, m.Embedders.Sparse.Weigh(ws, nil, models.Tokens{Batch: tf.Uniform(2, 0)}, func(_ int, v models.SparseVector) { empty += 1 - len(v) }))
		if empty != 2 {
			t.Errorf("%s: %d empty vectors of no tokens, want 2", name, empty)
		}
		x := make([]float32, m.Encoder.Dim())
		for i := range x {
			x[i] = float32(math.NaN())
		}
		nans := 0
		tftest.NoError(t, m.Embedders.Sparse.Weigh(ws, x, models.Tokens{IDs: []int{7}, Batch: tf.Uniform(1, 1)}, func(_ int, v models.SparseVector) {
			for _, w := range v {
				if w.Value != w.Value {
					nans++
				}
			}
		}))
		if nans == 0 {
			t.Errorf("%s: states that are NaN weigh nothing", name)
		}
	}
}

// TestPyLateFields gives config_sentence_transformers.json of PyLate fields of queries' expansion:
// those of ColBERT's own files count where PyLate's are absent, and before both counts the newer
// object, of which null turns expansion off. Sentence-transformers 6.2 reads them in this way and
// refuses the same.
func TestPyLateFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*models.Expansion{
		`{"query_prefix": "[Q] "}`:                                                 {Length: 32, Fixed: true},
		`{"query_length": null}`:                                                   {Length: 32, Fixed: true},
		`{"query_length": 9, "attend_to_mask_tokens": true}`:                       {Length: 9, Fixed: true, Attend: true},
		`{"attend_to_mask_tokens": true, "attend_to_expansion_tokens": null}`:      {Length: 32, Fixed: true},
		`{"do_query_expansion": null}`:                                             {Length: 32, Fixed: true},
		`{"do_query_expansion": false}`:                                            nil,
		`{"query_expansion": null, "do_query_expansion": true}`:                    nil,
		`{"query_expansion": {"strategy": "min", "length": 8}, "query_length": 9}`: {Length: 8},
	} {
		text = `{"model_type": "ColBERT", ` + text[1:]
		m := tftest.Must(models.OpenFS(modelstest.With(modelstest.Folder(t, "colbert-pylate"), "config_sentence_transformers.json", []byte(text)), models.Options{}))(t)
		if got := m.Embedders.Tokens.Expansion; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: expansion %+v, want %+v", text, got, want)
		}
	}
	for _, fields := range []string{`{"strategy": "max", "length": 8}`, `{"strategy": "min", "length": 0}`, `{"strategy": "min", "length": 8}, "query_length": 7`} {
		text := `{"model_type": "ColBERT", "query_expansion": ` + fields + `}`
		if _, err := models.OpenFS(modelstest.With(modelstest.Folder(t, "colbert-pylate"), "config_sentence_transformers.json", []byte(text)), models.Options{}); !errors.Is(err, fault.ErrConfig) || !strings.Contains(err.Error(), "config_sentence_transformers.json: query_") {
			t.Errorf("%s: error %v, want an ErrConfig that names the field", text, err)
		}
	}
}
