package sentence_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/internal/account"
	"github.com/avoformer/avoformer/internal/modelstest"
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

// TestModulesAccount gives each field of each class of modules a value that no class has as its default: it is an error that
// names the field, unless the field is true or false, or has no effect. A field that the class does not have is an error where
// sentence-transformers refuses it too, else a warning.
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
		for field := range account.Classes[class].Fields {
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
		case account.Classes[class].Strict:
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
