package sentence_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// withModules returns the folder bert with modules of each kind after the encoder.
func withModules(t *testing.T) fstest.MapFS {
	f := modelstest.Folder(t, "bert")
	tensor := func(shape ...int) safetensors.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return safetensors.Tensor{Shape: shape, Data: make([]float32, n)}
	}
	list := []map[string]any{{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}}
	for _, m := range []struct {
		kind, config string
		tensors      map[string]safetensors.Tensor
	}{
		{"WeightedLayerPooling", `{"word_embedding_dimension": 32, "layer_start": 1, "num_hidden_layers": 3}`, map[string]safetensors.Tensor{"layer_weights": tensor(3)}},
		{"Pooling", `{"word_embedding_dimension": 32}`, nil},
		{"Dropout", `{"dropout": 0.1}`, nil},
		{"Dense", `{"in_features": 32, "out_features": 32}`, map[string]safetensors.Tensor{"linear.weight": tensor(32, 32), "linear.bias": tensor(32)}},
		{"LayerNorm", `{"dimension": 32}`, map[string]safetensors.Tensor{"norm.weight": tensor(32), "norm.bias": tensor(32)}},
		{"Normalize", `{}`, nil},
	} {
		list = append(list, map[string]any{"idx": len(list), "name": m.kind, "path": m.kind, "type": "sentence_transformers.models." + m.kind})
		f = modelstest.With(f, m.kind+"/config.json", []byte(m.config))
		if m.tensors != nil {
			var b bytes.Buffer
			tftest.NoError(t, safetensors.Write(&b, m.tensors, nil))
			f = modelstest.With(f, m.kind+"/model.safetensors", b.Bytes())
		}
	}
	return modelstest.With(f, "modules.json", tftest.Must(json.Marshal(list))(t))
}

// TestModulesAccount gives each field of each class of modules a value that no class has as its
// default: it is an error that names the field, unless the field is true or false, or has no
// effect. A field that the class does not have is an error where sentence-transformers refuses it
// too, else a warning.
func TestModulesAccount(t *testing.T) {
	t.Parallel()
	sentence := withModules(t)
	for class, c := range map[string]struct {
		in    fstest.MapFS
		file  string
		opens string // fields
	}{
		"WeightedLayerPooling": {sentence, "WeightedLayerPooling/config.json", "word_embedding_dimension embedding_dimension"},
		"Pooling": {sentence, "Pooling/config.json", `include_prompt pooling_mode_cls_token pooling_mode_max_tokens pooling_mode_mean_tokens
			pooling_mode_mean_sqrt_len_tokens pooling_mode_weightedmean_tokens pooling_mode_lasttoken`},
		"Dropout":         {sentence, "Dropout/config.json", ""},
		"Dense":           {sentence, "Dense/config.json", "bias use_residual"},
		"LayerNorm":       {sentence, "LayerNorm/config.json", ""},
		"Normalize":       {sentence, "Normalize/config.json", ""},
		"SpladePooling":   {modelstest.Folder(t, "splade"), "1_SpladePooling/config.json", "embedding_dimension word_embedding_dimension chunk_size"},
		"MultiVectorMask": {modelstest.Folder(t, "colbert"), "2_MultiVectorMask/config.json", ""},
	} {
		var was map[string]any
		tftest.NoError(t, json.Unmarshal(c.in[c.file].Data, &was))
		open := func(field string, value any) (*models.Model, error) {
			fields := maps.Clone(was)
			fields[field] = value
			if strings.HasPrefix(field, "pooling_mode_") && class == "Pooling" {
				fields["pooling_mode_mean_tokens"] = true // of one mode, as the next module wants it
				if field != "pooling_mode_mean_tokens" {
					fields["pooling_mode"] = "mean"
				}
			}
			return models.OpenFS(modelstest.With(c.in, c.file, tftest.Must(json.Marshal(fields))(t)), models.Options{})
		}
		for field := range pyclass.File(class).Fields {
			_, err := open(field, map[string]any{"a": 1})
			switch opens := slices.Contains(strings.Fields(c.opens), field); {
			case opens && err != nil:
				t.Errorf("%s: %s: %v", class, field, err)
			case !opens && (err == nil || !strings.Contains(err.Error(), c.file+": "+field)):
				t.Errorf("%s: %s: error %v, want one that names it", class, field, err)
			}
		}
		m, err := open("of_tomorrow", 1)
		switch {
		case pyclass.File(class).Strict:
			if err == nil || !strings.Contains(err.Error(), c.file+": of_tomorrow") {
				t.Errorf("%s: an unknown field: error %v", class, err)
			}
		case err != nil:
			t.Errorf("%s: an unknown field: %v", class, err)
		case !slices.ContainsFunc(m.Warnings, func(w string) bool { return strings.HasPrefix(w, c.file+": of_tomorrow = 1: ignored") }):
			t.Errorf("%s: an unknown field: warnings %q", class, m.Warnings)
		}
	}
}

// TestWholeAccount gives each field of config_sentence_transformers.json of each class a value that
// no class has: it is an error that names the field, unless the field has no effect. A field of
// another class is a warning.
func TestWholeAccount(t *testing.T) {
	t.Parallel()
	cross := func(fsys fs.FS) error {
		m, err := models.OpenFS(fsys, models.Options{})
		if err == nil {
			_, _, err = models.OpenCrossEncoder(fsys, m)
		}
		return err
	}
	vectors := func(fsys fs.FS) error {
		_, err := models.OpenFS(fsys, models.Options{})
		return err
	}
	classifier := modelstest.Folder(t, "bert-classify")
	for _, name := range []string{"modules.json", "sentence_bert_config.json"} {
		text := map[string]string{"modules.json": `[{"name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]`, "sentence_bert_config.json": `{"transformer_task": "sequence-classification"}`}[name]
		classifier = modelstest.With(classifier, name, []byte(text))
	}
	for class, c := range map[string]struct {
		in    fstest.MapFS
		open  func(fs.FS) error
		opens string // fields
	}{
		"SentenceTransformer": {withModules(t), vectors, "similarity_fn_name"},
		"SparseEncoder":       {modelstest.Folder(t, "splade"), vectors, "similarity_fn_name"},
		"MultiVectorEncoder":  {modelstest.Folder(t, "colbert"), vectors, ""},
		"CrossEncoder":        {classifier, cross, "keep_in_fp32_modules"},
	} {
		const file = "config_sentence_transformers.json"
		with := func(field, value string) fstest.MapFS {
			return modelstest.With(c.in, file, []byte(`{"model_type": "`+class+`", "`+field+`": `+value+`}`))
		}
		for field := range pyclass.File(class).Fields {
			if field == "model_type" {
				continue
			}
			value := `{"a": {}}`
			if field == "prompts" {
				value = `[1]`
			}
			err := c.open(with(field, value))
			switch opens := field == "requirements" || slices.Contains(strings.Fields(c.opens), field); {
			case opens && err != nil:
				t.Errorf("%s: %s: %v", class, field, err)
			case !opens && (err == nil || !strings.Contains(err.Error(), file+": "+field)):
				t.Errorf("%s: %s: error %v, want one that names it", class, field, err)
			}
		}
		fsys := with("of_tomorrow", "1")
		m, err := models.OpenFS(fsys, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		warnings := m.Warnings
		if class == "CrossEncoder" {
			_, warnings, err = models.OpenCrossEncoder(fsys, m)
		}
		if err != nil || !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, file+": of_tomorrow = 1: ignored") }) {
			t.Errorf("%s: an unknown field: error %v, warnings %q", class, err, warnings)
		}
	}
}

// TestActiveDims refuses numbers of elements that sentence-transformers refuses too.
func TestActiveDims(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"5": 5, "null": 0, "0": -1, "-3": -1, "true": -1, "5.0": -1, `"5"`: -1} {
		text := `{"model_type": "SparseEncoder", "max_active_dims": ` + value + `}`
		m, err := models.OpenFS(modelstest.With(modelstest.Folder(t, "splade"), "config_sentence_transformers.json", []byte(text)), models.Options{})
		switch {
		case want < 0 && (err == nil || !strings.Contains(err.Error(), "max_active_dims")):
			t.Errorf("%s: error %v, want one that names it", value, err)
		case want >= 0 && (err != nil || m.Embedders.Sentence.MaxActive != want):
			t.Errorf("%s: error %v, want %d", value, err, want)
		}
	}
	v := models.SparseVector{{Index: 1, Value: 2}, {Index: 4, Value: -3}, {Index: 7, Value: 2}, {Index: 9, Value: 1}}
	if got, want := v.Largest(2), (models.SparseVector{v[0], v[1]}); !slices.Equal(got, want) {
		t.Errorf("the two largest of %v are %v, want %v", v, got, want)
	}
}
