package sentence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// modules.json: which modules there are.

// module is an element of modules.json.
type module struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Path string `json:"path"`
}

// modulePackages are where sentence-transformers has, and had, the modules that are known here.
var modulePackages = map[string][]string{
	"Transformer":          {"models", "models.Transformer", "base.modules", "base.modules.transformer", "sentence_transformer.modules"},
	"StaticEmbedding":      {"models", "models.StaticEmbedding", "sentence_transformer.modules", "sentence_transformer.modules.static_embedding"},
	"MLMTransformer":       {"sparse_encoder.models", "sparse_encoder.models.MLMTransformer", "sparse_encoder.modules", "sparse_encoder.modules.mlm_transformer"},
	"LogitScore":           {"cross_encoder.modules", "cross_encoder.modules.logit_score"},
	"SpladePooling":        {"sparse_encoder.models", "sparse_encoder.models.SpladePooling", "sparse_encoder.modules", "sparse_encoder.modules.splade_pooling"},
	"MultiVectorMask":      {"multi_vector_encoder.modules", "multi_vector_encoder.modules.multi_vector_mask"},
	"Pooling":              {"models", "models.Pooling", "sentence_transformer.modules", "sentence_transformer.modules.pooling"},
	"Dense":                {"models", "models.Dense", "base.modules", "base.modules.dense", "sentence_transformer.modules"},
	"Normalize":            {"models", "models.Normalize", "base.modules", "base.modules.normalize", "sentence_transformer.modules", "sentence_transformer.modules.normalize"},
	"LayerNorm":            {"models", "models.LayerNorm", "sentence_transformer.modules", "sentence_transformer.modules.layer_norm"},
	"WeightedLayerPooling": {"models", "models.WeightedLayerPooling", "sentence_transformer.modules", "sentence_transformer.modules.weighted_layer_pooling"},
	"Dropout":              {"models", "models.Dropout", "sentence_transformer.modules", "sentence_transformer.modules.dropout"},
}

// jina5Module is the only module of jina-embeddings-v5, whose code is in the folder: a model of the
// type jina5, the last token's hidden state, and its normalization.
const jina5, jina5Module = "jina_embeddings_v5", "custom_st.Transformer"

// kind is which of the known modules it is, "" for another.
func (m module) kind() string {
	at := strings.LastIndex(m.Type, ".")
	where, ours := strings.CutPrefix(m.Type[:max(at, 0)], "sentence_transformers.")
	if name := m.Type[at+1:]; ours && slices.Contains(modulePackages[name], where) {
		return name
	}
	return ""
}

// modulesFor returns the list in modules.json, nil if there is no such file, or if
// config_sentence_transformers.json says that it is for another class than those that may open the
// folder: sentence-transformers then asks for no file of its own.
func modulesFor(fsys fs.FS, classes ...string) ([]module, error) {
	modules, err := readModules(fsys)
	if err != nil || modules == nil {
		return nil, err
	}
	doc, err := configuration.ReadJSON(fsys, wholeFile)
	if ignoreMissing(err) != nil {
		return nil, err
	}
	class := "SentenceTransformer"
	if _, ok := doc.Fields["model_type"]; ok {
		class = ""
		_ = doc.Field("model_type", &class) // none is of another type
	}
	if !slices.Contains(classes, class) {
		return nil, nil
	}
	return modules, nil
}

// Made is whether modules make vectors of texts, and whether they make scores of pairs.
func Made(fsys fs.FS) (vectors, scores bool, err error) {
	modules, err := readModules(fsys)
	if err != nil {
		return false, false, err
	}
	vectors = slices.ContainsFunc(modules, func(m module) bool {
		return m.Type == jina5Module || slices.Contains([]string{"Pooling", "StaticEmbedding", "SpladePooling", "MultiVectorMask"}, m.Type[strings.LastIndex(m.Type, ".")+1:]) || strings.HasPrefix(m.Type, "pylate.")
	})
	pairs, err := modulesFor(fsys, "CrossEncoder")
	scores = err == nil && len(pairs) > 1
	return vectors && !scores, scores, err
}

// ignoreMissing is err unless a file is not there.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// modulesError returns an error about modules.json.
func modulesError(kind error, format string, args ...any) error {
	return check.InFile("modules.json", kind, check.Errorf(kind, format, args...))
}

// moduleError returns an error about a field of a module, whose number is i.
func moduleError(i int, field string, value any, want string) error {
	text, _ := json.Marshal(value)
	return &fault.Error{Kind: fault.ErrConfig, File: "modules.json", Field: fmt.Sprintf("%d.%s", i, field), Value: check.Short(string(text)), Err: errors.New(want)}
}

// readModules returns the list in modules.json, or nil if there is no such file.
func readModules(fsys fs.FS) ([]module, error) {
	text, err := configuration.ReadFile(fsys, "modules.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	modules := []module{}
	if err := pyjson.Unmarshal(text, &modules); err != nil {
		return nil, modulesError(fault.ErrConfig, "%w", err)
	}
	if len(modules) == 0 {
		return nil, modulesError(fault.ErrConfig, "no modules")
	}
	var objects []map[string]any
	if err := pyjson.Unmarshal(text, &objects); err != nil {
		return nil, modulesError(fault.ErrConfig, "%w", err)
	}
	var list []module // those of one name are one, at the place of the first and with the path of the last
	for i, m := range modules {
		for _, field := range []string{"name", "path", "type"} {
			if _, ok := objects[i][field].(string); !ok {
				return nil, moduleError(i, field, objects[i][field], "want a string")
			}
		}
		if m.Name == "" || strings.Contains(m.Name, ".") {
			return nil, moduleError(i, "name", m.Name, "want one without dots")
		}
		if at := slices.IndexFunc(list, func(other module) bool { return other.Name == m.Name }); at >= 0 {
			list[at] = m
			continue
		}
		list = append(list, m)
	}
	return list, nil
}
