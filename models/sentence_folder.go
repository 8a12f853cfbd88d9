package models

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
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
	"Transformer": {"sentence_transformers.models", "sentence_transformers.base.modules", "sentence_transformers.base.modules.transformer"},
	"Pooling":     {"sentence_transformers.models", "sentence_transformers.sentence_transformer.modules", "sentence_transformers.sentence_transformer.modules.pooling"},
	"Dense":       {"sentence_transformers.models", "sentence_transformers.base.modules", "sentence_transformers.base.modules.dense"},
	"Normalize":   {"sentence_transformers.models", "sentence_transformers.base.modules", "sentence_transformers.base.modules.normalize"},
}

// kind is which of the known modules it is, "" for another.
func (m module) kind() string {
	at := strings.LastIndex(m.Type, ".")
	if name := m.Type[at+1:]; at > 0 && slices.Contains(modulePackages[name], m.Type[:at]) {
		return name
	}
	return ""
}

// openSentence reads modules.json, if there is one.
func openSentence(fsys fs.FS, m *Model) (*SentenceEmbedder, error) {
	modules, err := readModules(fsys)
	if err != nil || modules == nil {
		return nil, err
	}
	if len(modules) == 1 && m.Classifier != nil {
		return nil, nil // a cross-encoder
	}
	s := &SentenceEmbedder{encoder: m.Encoder}
	if d, ok := m.LM.(*decoder); ok {
		switch {
		case m.Encoder == nil:
			s.encoder = causalEncoder{d}
		case m.Config.ModelType == "bart" || m.Config.ModelType == "mbart":
			return nil, check.Errorf(ErrFolder, "modules.json beside a model_type %q, whose decoder would make the vectors, is not supported", m.Config.ModelType)
		}
	}
	if s.encoder == nil {
		return nil, check.Errorf(ErrFolder, "modules.json beside a model_type %q that is no encoder", m.Config.ModelType)
	}
	for i, module := range modules {
		switch kind := module.kind(); {
		case i == 0 && kind == "Transformer":
			if module.Path != "" {
				return nil, check.Errorf(ErrFolder, "modules.json: the model is in %q, want the folder itself", module.Path)
			}
		case i == 1 && kind == "Pooling":
			err = s.addPooling(fsys, module.Path)
		case i > 1 && kind == "Dense":
			err = s.addDense(fsys, module.Path)
		case i > 1 && kind == "Normalize":
			err = s.addNormalize(fsys, module.Path)
		default:
			err = check.Errorf(ErrConfig, "modules.json: module %d of type %q is not supported there", i, module.Type)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(s.pools) == 0 {
		return nil, check.Errorf(ErrConfig, "modules.json: no pooling")
	}
	s.dim = s.out
	if err := s.readTransformer(fsys); err != nil {
		return nil, err
	}
	return s, s.readPrompts(fsys)
}

// readModules is the list in modules.json, nil if there is no such file.
func readModules(fsys fs.FS) ([]module, error) {
	text, err := readFile(fsys, "modules.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	modules := []module{}
	if err := pyjson.Unmarshal(text, &modules); err != nil {
		return nil, check.Errorf(ErrConfig, "modules.json: %w", err)
	}
	if len(modules) == 0 {
		return nil, check.Errorf(ErrConfig, "modules.json: no modules")
	}
	var objects []map[string]any
	if err := pyjson.Unmarshal(text, &objects); err != nil {
		return nil, check.Errorf(ErrConfig, "modules.json: %w", err)
	}
	seen := map[string]bool{}
	for i, m := range modules {
		for _, field := range []string{"name", "path", "type"} {
			if _, ok := objects[i][field].(string); !ok {
				return nil, check.Errorf(ErrConfig, "modules.json: module %d: %s = %v, want a string", i, field, objects[i][field])
			}
		}
		if seen[m.Name] {
			return nil, check.Errorf(ErrConfig, "modules.json: module %d: name = %q, which another has", i, m.Name)
		}
		if m.Name == "" || strings.Contains(m.Name, ".") {
			return nil, check.Errorf(ErrConfig, "modules.json: module %d: name = %q, want one without dots", i, m.Name)
		}
		seen[m.Name] = true
	}
	return modules, nil
}

// known returns an error unless all fields are among names, and none is null.
func (d Document) known(names ...string) error {
	for _, field := range slices.Sorted(maps.Keys(d.fields)) {
		if !slices.Contains(names, field) {
			return d.Errorf(field, "unknown field")
		}
		if d.isNull(field) {
			return d.Errorf(field, "want a value")
		}
	}
	return nil
}

// addPooling reads the pooling module in a folder.
func (s *SentenceEmbedder) addPooling(fsys fs.FS, dir string) error {
	doc, err := readJSON(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return check.Errorf(ErrFolder, "%s: %w", doc.Name, err)
	}
	err = doc.known("word_embedding_dimension", "embedding_dimension", "pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_tokens",
		"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken", "pooling_mode", "include_prompt")
	if err != nil {
		return err
	}
	raw := struct {
		Dim      int   `json:"word_embedding_dimension" min:"0"`
		NewDim   int   `json:"embedding_dimension" min:"0"`
		First    bool  `json:"pooling_mode_cls_token"`
		Max      bool  `json:"pooling_mode_max_tokens"`
		Mean     bool  `json:"pooling_mode_mean_tokens"`
		Sqrt     bool  `json:"pooling_mode_mean_sqrt_len_tokens"`
		Weighted bool  `json:"pooling_mode_weightedmean_tokens"`
		Last     bool  `json:"pooling_mode_lasttoken"`
		Modes    names `json:"pooling_mode"`
		Prompt   bool  `json:"include_prompt"`
	}{Prompt: true}
	if err := doc.Decode(&raw); err != nil {
		return err
	}
	dim, field := raw.Dim, "word_embedding_dimension"
	if doc.Has("embedding_dimension") { // since sentence-transformers 5.2
		dim, field = raw.NewDim, "embedding_dimension"
	}
	if dim != s.encoder.Dim() {
		return doc.Errorf(field, "the encoder's is %d", s.encoder.Dim())
	}
	if !doc.Has("pooling_mode") {
		for _, mode := range []struct {
			chosen bool
			name   string
		}{{raw.First, "cls"}, {raw.Max, "max"}, {raw.Mean, "mean"}, {raw.Sqrt, "mean_sqrt_len_tokens"}, {raw.Weighted, "weightedmean"}, {raw.Last, "lasttoken"}} {
			if mode.chosen {
				raw.Modes = append(raw.Modes, mode.name)
			}
		}
		if len(raw.Modes) == 0 {
			raw.Modes = names{"mean"}
		}
	}
	for _, name := range raw.Modes {
		pool, ok := poolings[name]
		if !ok {
			return doc.Errorf("pooling_mode", "unknown mode %q", name)
		}
		s.pools = append(s.pools, pool)
	}
	if len(s.pools) == 0 {
		return doc.Errorf("pooling_mode", "want a mode")
	}
	s.IncludePrompt = raw.Prompt
	s.out = len(s.pools) * dim
	return nil
}

// poolings are the modes by their names.
var poolings = map[string]pooling{"cls": poolFirst, "max": poolMax, "mean": poolMean, "mean_sqrt_len_tokens": poolMeanSqrt, "weightedmean": poolWeightedMean, "lasttoken": poolLast}

// names is a name, or several.
type names []string

func (n *names) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return pyjson.Unmarshal(text, (*[]string)(n))
	}
	*n = []string{""}
	return pyjson.Unmarshal(text, &(*n)[0])
}

// vector is what the modules behind pooling take and give, as their configurations say.
const vector = "sentence_embedding"

// ports are the fields that name what a module takes and gives.
type ports struct {
	Input  string `json:"module_input_name"`
	Output string `json:"module_output_name"`
}

// check returns an error unless a module makes a vector of a vector.
func (p ports) check(doc Document) error {
	switch {
	case doc.isNull("module_input_name") || p.Input != vector:
		return doc.Errorf("module_input_name", "want %s", vector)
	case p.Output != vector:
		return doc.Errorf("module_output_name", "want %s", vector)
	}
	return nil
}

// addNormalize reads the module that normalizes, which need not have a configuration.
func (s *SentenceEmbedder) addNormalize(fsys fs.FS, dir string) error {
	s.rest = append(s.rest, sentenceModule{})
	doc, err := readJSON(fsys, path.Join(dir, "config.json"))
	if errors.Is(err, fs.ErrNotExist) || dir == "" {
		return nil
	} else if err != nil {
		return err
	}
	raw := ports{vector, vector}
	if err := doc.Decode(&raw); err != nil {
		return err
	}
	return raw.check(doc)
}

// denseActivations are the classes of PyTorch by their names in torch.nn.
var denseActivations = map[string]func(t kernels.Threads, x []float32){
	"Identity": nil, "Tanh": tanh, "ReLU": activate(kernels.ActReLU), "GELU": activate(kernels.ActGELU), "SiLU": activate(kernels.ActSiLU),
}

// addDense reads the dense module in a folder.
func (s *SentenceEmbedder) addDense(fsys fs.FS, dir string) error {
	doc, err := readJSON(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return check.Errorf(ErrFolder, "%s: %w", doc.Name, err)
	}
	raw := struct {
		ports
		In         int    `json:"in_features"`
		Out        int    `json:"out_features"`
		Bias       bool   `json:"bias"`
		Activation string `json:"activation_function"`
		Residual   bool   `json:"use_residual"`
	}{ports: ports{vector, vector}, Bias: true, Activation: "torch.nn.Tanh"}
	for _, field := range []string{"bias", "activation_function"} {
		if doc.isNull(field) {
			return doc.Errorf(field, "want a value")
		}
	}
	if err := doc.Decode(&raw); err != nil {
		return err
	}
	if err := raw.check(doc); err != nil {
		return err
	}
	if raw.Residual {
		return doc.Errorf("use_residual", "want false")
	}
	if raw.In != s.out {
		return doc.Errorf("in_features", "the module before gives %d", s.out)
	}
	name := raw.Activation
	for _, where := range []string{"torch.nn.", "modules.", "activation.", "linear."} {
		name = strings.TrimPrefix(name, where)
	}
	act, ok := denseActivations[name]
	if !ok || !strings.HasPrefix(raw.Activation, "torch.nn.") {
		return doc.Errorf("activation_function", "unknown activation")
	}
	weights, err := openWeights(fsys, path.Clean(dir))
	if err != nil {
		return err
	}
	defer weights.Close()
	l := transformer.NewLoader(weights)
	dense := l.At("linear.").Linear(raw.In, raw.Out, raw.Bias)
	if err := l.Finish(); err != nil {
		return fmt.Errorf("%s: %w", weights.name, err)
	}
	s.rest = append(s.rest, sentenceModule{dense, act})
	s.out = raw.Out
	return nil
}

// readPrompts reads config_sentence_transformers.json, if there is one.
func (s *SentenceEmbedder) readPrompts(fsys fs.FS) error {
	doc, err := readJSON(fsys, "config_sentence_transformers.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	raw := struct {
		Type    string            `json:"model_type"`
		Prompts map[string]string `json:"prompts"`
		Default string            `json:"default_prompt_name"`
		Cut     int               `json:"truncate_dim"`
	}{Type: "SentenceTransformer", Cut: s.out}
	if err := doc.Decode(&raw); err != nil {
		return err
	}
	if raw.Type != "SentenceTransformer" || doc.isNull("model_type") {
		return doc.Errorf("model_type", "want SentenceTransformer")
	}
	s.dim, s.Prompts = min(raw.Cut, s.out), raw.Prompts
	if doc.Has("default_prompt_name") {
		text, ok := raw.Prompts[raw.Default]
		if !ok && raw.Default != "query" && raw.Default != "document" { // these two there are always
			return doc.Errorf("default_prompt_name", "is not among the prompts")
		}
		s.DefaultPrompt = text
	}
	return nil
}
