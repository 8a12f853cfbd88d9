package sentence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// The files of sentence-transformers: modules.json, the configuration of each module, and
// config_sentence_transformers.json. What they say and is not supported is an error.

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
	"SpladePooling":        {"sparse_encoder.models", "sparse_encoder.models.SpladePooling", "sparse_encoder.modules", "sparse_encoder.modules.splade_pooling"},
	"MultiVectorMask":      {"multi_vector_encoder.modules", "multi_vector_encoder.modules.multi_vector_mask"},
	"Pooling":              {"models", "models.Pooling", "sentence_transformer.modules", "sentence_transformer.modules.pooling"},
	"Dense":                {"models", "models.Dense", "base.modules", "base.modules.dense", "sentence_transformer.modules"},
	"Normalize":            {"models", "models.Normalize", "base.modules", "base.modules.normalize", "sentence_transformer.modules", "sentence_transformer.modules.normalize"},
	"LayerNorm":            {"models", "models.LayerNorm", "sentence_transformer.modules", "sentence_transformer.modules.layer_norm"},
	"WeightedLayerPooling": {"models", "models.WeightedLayerPooling", "sentence_transformer.modules", "sentence_transformer.modules.weighted_layer_pooling"},
	"Dropout":              {"models", "models.Dropout", "sentence_transformer.modules", "sentence_transformer.modules.dropout"},
}

// kind is which of the known modules it is, "" for another.
func (m module) kind() string {
	at := strings.LastIndex(m.Type, ".")
	where, ours := strings.CutPrefix(m.Type[:max(at, 0)], "sentence_transformers.")
	if name := m.Type[at+1:]; ours && slices.Contains(modulePackages[name], where) {
		return name
	}
	return ""
}

// Parts are the parts of a model that the files of sentence-transformers build on.
type Parts struct {
	ModelType  string
	Encoder    Encoder // nil: none
	Static     bool    // whether Encoder has no layers
	Causal     Encoder // the decoder, as an encoder whose tokens see those in front of them; nil: none
	Classifies bool    // whether there is a classifier
	MaskedLM   Head    // to the logits of the vocabulary at each token; nil: none
}

// Files is what a folder holds beside the model.
type Files struct {
	Sentence *Embedder      // nil where the folder does not say how vectors of texts are made
	Sparse   SparseHead     // nil: none
	Vectors  *TokenEmbedder // nil: none
	Warnings []string
}

// Open reads the files beside a model with the given parts and config.json.
func Open(fsys fs.FS, doc configuration.Document, m Parts) (*Files, error) {
	f := &Files{}
	var err error
	if f.Sentence, err = f.openSentence(fsys, doc, m); err != nil {
		return nil, err
	}
	for _, open := range []func(fs.FS, Parts) error{f.openM3, f.openSparse, f.openLate} {
		if err := open(fsys, m); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// openSentence reads modules.json, if there is one and it is for vectors.
func (f *Files) openSentence(fsys fs.FS, doc configuration.Document, m Parts) (*Embedder, error) {
	modules, err := modulesFor(fsys, "SentenceTransformer")
	if m.Static && err == nil && modules == nil {
		return bareStatic(m.Encoder, doc)
	}
	if err != nil || modules == nil || len(modules) == 1 && m.Classifies { // the last is a cross-encoder
		return nil, err
	}
	s := &Embedder{encoder: m.Encoder, static: m.Static, allLayers: doc.Truth("output_hidden_states", false)}
	if m.Causal != nil {
		switch {
		case m.Encoder == nil:
			s.encoder = m.Causal
		case m.ModelType == "bart" || m.ModelType == "mbart":
			return nil, modulesError(check.ErrFolder, "beside a model_type %q, whose decoder would make the vectors, is not supported", m.ModelType)
		}
	}
	if s.encoder == nil {
		return nil, modulesError(check.ErrFolder, "beside a model_type %q that is no encoder", m.ModelType)
	}
	for i, module := range modules {
		if err := s.add(fsys, i, module); err != nil {
			return nil, err
		}
	}
	if len(s.pools) == 0 {
		return nil, modulesError(check.ErrConfig, "no pooling")
	}
	s.dim = s.out
	if err := s.readTransformer(fsys, m.ModelType, extraction); err != nil {
		return nil, err
	}
	f.Warnings = append(f.Warnings, s.warnings...)
	return s, s.readWhole(fsys)
}

// modulesFor is the list in modules.json, nil if there is no such file, or if
// config_sentence_transformers.json says that it is for another class than the one that opens the
// folder: sentence-transformers then asks for no file of its own.
func modulesFor(fsys fs.FS, class string) ([]module, error) {
	modules, err := readModules(fsys)
	if err != nil || modules == nil {
		return nil, err
	}
	doc, err := configuration.ReadJSON(fsys, wholeFile)
	if ignoreMissing(err) != nil {
		return nil, err
	}
	var kind any = "SentenceTransformer"
	if _, ok := doc.Fields["model_type"]; ok {
		kind = nil
		err = doc.Field("model_type", &kind)
	}
	if ignoreMissing(err) != nil || kind != class {
		return nil, ignoreMissing(err)
	}
	return modules, nil
}

// wholeFile says what is not of a single module.
const wholeFile = "config_sentence_transformers.json"

// ignoreMissing is err unless a file is not there.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// add reads a module, whose number is i.
func (s *Embedder) add(fsys fs.FS, i int, m module) error {
	kind, pooled := m.kind(), len(s.pools) > 0
	switch {
	case i == 0 && kind == "StaticEmbedding":
		if !s.static {
			return moduleError(i, "type", m.Type, "want a Transformer: config.json has another model_type than model2vec")
		}
		s.takeMeans()
		return nil
	case i == 0 && kind == "Transformer":
		if m.Path != "" {
			return moduleError(i, "path", m.Path, "want the folder itself")
		}
		return nil
	case i > 0 && kind == "Pooling":
		return s.addPooling(fsys, m.Path)
	case i > 0 && kind == "Normalize":
		return s.addNormalize(fsys, m.Path)
	case pooled && kind == "Dense":
		return s.addDense(fsys, m.Path)
	case i > 0 && kind == "WeightedLayerPooling":
		return s.addLayerWeights(fsys, m.Path)
	case pooled && kind == "LayerNorm":
		return s.addLayerNorm(fsys, m.Path)
	case pooled && kind == "Dropout":
		return s.addDropout(fsys, m.Path)
	}
	return moduleError(i, "type", m.Type, "not supported there")
}

// modulesError is an error about modules.json.
func modulesError(kind error, format string, args ...any) error {
	return check.InFile("modules.json", kind, check.Errorf(kind, format, args...))
}

// moduleError is an error about a field of a module, whose number is i.
func moduleError(i int, field string, value any, want string) error {
	text, _ := json.Marshal(value)
	return &check.Error{Kind: check.ErrConfig, File: "modules.json", Field: fmt.Sprintf("%d.%s", i, field), Value: check.Short(string(text)), Err: errors.New(want)}
}

// readModules is the list in modules.json, nil if there is no such file.
func readModules(fsys fs.FS) ([]module, error) {
	text, err := configuration.ReadFile(fsys, "modules.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	modules := []module{}
	if err := pyjson.Unmarshal(text, &modules); err != nil {
		return nil, modulesError(check.ErrConfig, "%w", err)
	}
	if len(modules) == 0 {
		return nil, modulesError(check.ErrConfig, "no modules")
	}
	var objects []map[string]any
	if err := pyjson.Unmarshal(text, &objects); err != nil {
		return nil, modulesError(check.ErrConfig, "%w", err)
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

// readWhole reads config_sentence_transformers.json, if there is one.
func (s *Embedder) readWhole(fsys fs.FS) error {
	doc, err := configuration.ReadJSON(fsys, wholeFile)
	if ignoreMissing(err) != nil {
		return err
	}
	if err := s.readPrompts(doc); err != nil {
		return err
	}
	if !doc.Has("truncate_dim") {
		return nil
	}
	cut, err := doc.Integer("truncate_dim")
	if err != nil {
		return err
	}
	if cut < 0 {
		cut += s.out // as slices of Python count
	}
	if cut < 1 {
		return doc.Errorf("truncate_dim", "the modules give %d elements, of which none would be left", s.out)
	}
	s.dim = min(cut, s.out)
	return nil
}

// readPrompts reads the prompts, and which is the default.
func (s *Embedder) readPrompts(doc configuration.Document) error {
	var prompts map[string]any
	if doc.Has("prompts") {
		if err := doc.Field("prompts", &prompts); err != nil {
			return err
		}
	}
	var name string
	hasDefault := doc.Has("default_prompt_name")
	if hasDefault {
		if err := doc.Field("default_prompt_name", &name); err != nil {
			return err
		}
		if _, ok := prompts[name]; !ok && name != "query" && name != "document" { // these two there are always
			return doc.Errorf("default_prompt_name", "is not among the prompts")
		}
	}
	s.Prompts = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(prompts)) {
		text, ok := prompts[key].(string)
		switch {
		case ok:
			s.Prompts[key] = text
		case !configuration.Empty(prompts[key]) && (key == "query" || key == "document" || hasDefault && key == name):
			return doc.Errorf("prompts", "%s: want a string", key)
		}
	}
	if hasDefault {
		s.DefaultPrompt = s.Prompts[name]
	}
	return nil
}
