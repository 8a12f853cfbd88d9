package sentence

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/weightfile"
	"github.com/avoformer/avoformer/transformer"
)

// The modules after the encoder, each with a config.json of its own.

// readModule reads the configuration in a module's folder.
func readModule(fsys fs.FS, dir string) (configuration.Document, error) {
	doc, err := configuration.ReadJSON(fsys, path.Join(dir, "config.json"))
	return doc.Tracked(), err
}

// poolingFields are the fields for modes that sentence-transformers had before pooling_mode, in the
// order in which it joins them.
var poolingFields = []struct{ field, mode string }{
	{"pooling_mode_cls_token", "cls"}, {"pooling_mode_max_tokens", "max"}, {"pooling_mode_mean_tokens", "mean"},
	{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"}, {"pooling_mode_weightedmean_tokens", "weightedmean"}, {"pooling_mode_lasttoken", "lasttoken"},
}

// addPooling reads the pooling module in a folder, which makes a new vector of the hidden states.
func (s *Embedder) addPooling(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if err != nil {
		return err
	}
	if len(s.others) > 0 {
		return doc.ErrorWith("", "", "pooling after a module whose output is %v is not supported", s.others)
	}
	width := "word_embedding_dimension"
	if _, ok := doc.Fields["embedding_dimension"]; ok { // since sentence-transformers 5.2
		width = "embedding_dimension"
	}
	// sentence-transformers multiplies it by the number of modes, and computes with what the
	// encoder gives.
	if v := doc.Fields[width]; len(v) == 0 || v[0] == '{' || doc.IsNull(width) {
		return doc.Errorf(width, "want the width of the hidden states")
	}
	modes, err := poolingModes(doc)
	if err != nil {
		return err
	}
	s.pools, s.rest = nil, nil
	for _, name := range modes {
		pool, ok := block.Poolings[name]
		if !ok {
			return doc.Errorf("pooling_mode", "unknown mode %q", name)
		}
		s.pools = append(s.pools, pool)
	}
	s.means = len(modes) == 1 && modes[0] == "mean"
	s.IncludePrompt = doc.Truth("include_prompt", true)
	s.out = len(s.pools) * s.encoder.Dim()
	idle := []string{"word_embedding_dimension", "embedding_dimension"}
	for _, f := range poolingFields { // which pooling_mode replaces
		idle = append(idle, f.field)
	}
	return doc.SettleBy("Pooling", &s.warnings, idle...)
}

// poolingModes returns the names of the modes, at least one.
func poolingModes(d configuration.Document) (modes pyjson.OneOr[string], err error) {
	d.Note("pooling_mode")
	if _, ok := d.Fields["pooling_mode"]; ok {
		if err := d.Field("pooling_mode", &modes); err != nil {
			return nil, err
		}
		if len(modes) == 0 || d.IsNull("pooling_mode") {
			return nil, d.Errorf("pooling_mode", "want a mode")
		}
		return modes, nil
	}
	for _, f := range poolingFields {
		if d.Truth(f.field, false) {
			modes = append(modes, f.mode)
		}
	}
	if len(modes) == 0 {
		modes = pyjson.OneOr[string]{"mean"}
	}
	return modes, nil
}

// The inputs and outputs of modules have names: the vector, the hidden states, and the other
// outputs of the tokenizer and the encoder.
const (
	vector = "sentence_embedding"
	hidden = "token_embeddings"
)

var inputs = []string{"input_ids", "attention_mask", "token_type_ids", "position_ids", "modality", "prompt_length", "all_layer_embeddings"}

// ports returns the names of what a module takes and gives.
func ports(d configuration.Document) (in, out string, err error) { return portsOr(d, vector) }

// portsOr is ports of a module that takes otherwise unless it says something else.
func portsOr(d configuration.Document, otherwise string) (in, out string, err error) {
	if in, err = port(d, "module_input_name", otherwise); err == nil {
		out, err = port(d, "module_output_name", in)
	}
	return in, out, err
}

// port returns the name that a field gives; one that is not a string is its text, which no other
// is.
func port(d configuration.Document, field, otherwise string) (string, error) {
	d.Note(field)
	v, ok := d.Fields[field]
	var name string
	switch {
	case !ok || d.IsNull(field) && field == "module_output_name":
		return otherwise, nil
	case v[0] == '[' || v[0] == '{':
		return "", d.Errorf(field, "want a name")
	case v[0] == '"':
		return name, d.Field(field, &name)
	}
	return "\x00" + string(v), nil
}

// addNormalize reads the module that normalizes, which need not have a configuration. It does
// nothing where there is no input of that name.
func (s *Embedder) addNormalize(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if dir == "" || errors.Is(err, fs.ErrNotExist) {
		doc = configuration.Document{}.Tracked()
	} else if err != nil {
		return err
	}
	in, out, err := ports(doc)
	if err == nil {
		err = doc.SettleBy("Normalize", &s.warnings)
	}
	pooled := len(s.pools) > 0
	switch {
	case err != nil:
		return err
	case slices.Contains(s.others, in) || slices.Contains(inputs, in) || in != "" && in[0] == 0 && len(s.others) > 0 || in == hidden && (!pooled || out == vector):
		return doc.Errorf("module_input_name", "want %s", vector)
	case in == vector && out == vector && pooled:
		s.rest = append(s.rest, layer{})
	case in == vector && pooled || in == hidden:
		s.others = append(s.others, out)
	}
	return nil
}

// denseActivations are the classes of PyTorch by their names in torch.nn.
var denseActivations = map[string]func(t kernels.Threads, x []float32){
	"Identity": nil, "Tanh": block.Tanh, "ReLU": block.Activate(kernels.ActReLU), "GELU": block.Activate(kernels.ActGELU), "SiLU": block.Activate(kernels.ActSiLU), "Sigmoid": func(t kernels.Threads, x []float32) { t.Sigmoid(x, x) },
}

// addDense reads the dense module in a folder.
func (s *Embedder) addDense(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if err != nil {
		return err
	}
	module, in, out, err := s.readDense(fsys, doc, dir, vector)
	switch {
	case err != nil:
		return err
	case in != vector:
		return doc.Errorf("module_input_name", "want %s", vector)
	case out != vector:
		s.others = append(s.others, out)
		return nil
	}
	s.rest = append(s.rest, module)
	s.out = module.dense.Out
	return nil
}

// readDense returns the dense module in a folder, with the names of what it takes, otherwise unless
// it says so, and gives.
func (s *Embedder) readDense(fsys fs.FS, doc configuration.Document, dir, otherwise string) (module layer, in, out string, err error) {
	raw := struct {
		In  int `json:"in_features"`
		Out int `json:"out_features"`
	}{}
	if err := doc.Decode(&raw); err != nil {
		return module, "", "", err
	}
	in, out, err = portsOr(doc, otherwise)
	switch {
	case err != nil:
	case doc.Truth("use_residual", false) && raw.In != raw.Out:
		err = doc.Errorf("use_residual", "want false, or as many in_features as out_features")
	case in == otherwise && raw.In != s.out:
		err = doc.Errorf("in_features", "the module before gives %d", s.out)
	}
	if err != nil {
		return module, "", "", err
	}
	act, err := s.denseActivation(doc)
	if err != nil {
		return module, "", "", err
	}
	bias := doc.Truth("bias", true)
	if err := doc.SettleBy("Dense", &s.warnings); err != nil {
		return module, "", "", err
	}
	weights, err := weightfile.OpenWeights(fsys, path.Clean(dir))
	if err != nil {
		return module, "", "", err
	}
	defer weights.Close()
	l := transformer.NewLoader(weights)
	dense := l.At("linear.").Linear(raw.In, raw.Out, bias)
	if err := l.Finish(); err != nil {
		return module, "", "", check.InFile(weights.Name, fault.ErrFormat, err)
	}
	return layer{dense: dense, act: act, residual: doc.Truth("use_residual", false)}, in, out, nil
}

// denseActivation returns the activation that a dense module names. Those that are not PyTorch's
// are code of the folder, in whose place sentence-transformers takes Tanh.
func (s *Embedder) denseActivation(doc configuration.Document) (func(t kernels.Threads, x []float32), error) {
	name := "torch.nn.Tanh"
	doc.Note("activation_function")
	if _, ok := doc.Fields["activation_function"]; ok {
		if err := doc.Field("activation_function", &name); err != nil || doc.IsNull("activation_function") {
			return nil, doc.Errorf("activation_function", "want the name of a class")
		}
	}
	if !strings.HasPrefix(name, "torch.") {
		s.warnings = append(s.warnings, fmt.Sprintf("%s: activation_function = %q: Tanh takes its place, as in sentence-transformers, which runs no code of the folder", doc.Name, name))
		return block.Tanh, nil
	}
	class := name
	for _, where := range []string{"torch.nn.", "modules.", "activation.", "linear."} {
		class = strings.TrimPrefix(class, where)
	}
	act, ok := denseActivations[class]
	if !ok || !strings.HasPrefix(name, "torch.nn.") {
		return nil, doc.Errorf("activation_function", "unknown activation")
	}
	return act, nil
}

// addLayerNorm reads the module of layer normalization in a folder.
func (s *Embedder) addLayerNorm(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if err != nil {
		return err
	}
	raw := struct {
		Dim int `json:"dimension"`
	}{}
	if err := cmp.Or(doc.Decode(&raw), doc.SettleBy("LayerNorm", &s.warnings)); err != nil {
		return err
	}
	if raw.Dim != s.out {
		return doc.Errorf("dimension", "the module before gives %d", s.out)
	}
	weights, err := weightfile.OpenWeights(fsys, path.Clean(dir))
	if err != nil {
		return err
	}
	defer weights.Close()
	l := transformer.NewLoader(weights)
	norm := l.At("norm.").Norm(transformer.NormConfig{Shape: []int{raw.Dim}, Eps: 1e-5})
	if err := l.Finish(); err != nil {
		return check.InFile(weights.Name, fault.ErrFormat, err)
	}
	s.rest = append(s.rest, layer{norm: norm})
	return nil
}

// addLayerWeights reads a module that weighs the hidden states of all layers. The module does
// nothing if the encoder gives only those of the last layer.
func (s *Embedder) addLayerWeights(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if err != nil {
		return err
	}
	raw := struct {
		Layers int `json:"num_hidden_layers" min:"0"`
		First  int `json:"layer_start" min:"0"`
	}{12, 4}
	if err := cmp.Or(doc.Decode(&raw), doc.NoneNull("num_hidden_layers", "layer_start"), doc.SettleBy("WeightedLayerPooling", &s.warnings, "word_embedding_dimension", "embedding_dimension")); err != nil {
		return err
	}
	if s.allLayers {
		return doc.ErrorWith("", "", "not supported with output_hidden_states of config.json")
	}
	weights, err := weightfile.OpenWeights(fsys, path.Clean(dir))
	if err != nil {
		return err
	}
	defer weights.Close()
	l := transformer.NewLoader(weights)
	l.Tensor("layer_weights", max(raw.Layers+1-raw.First, 0))
	if err := l.Finish(); err != nil {
		return check.InFile(weights.Name, fault.ErrFormat, err)
	}
	return nil
}

// addDropout reads a module that does nothing outside training.
func (s *Embedder) addDropout(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	raw := struct {
		Dropout float64 `json:"dropout" min:"0"`
	}{}
	if err := cmp.Or(doc.Decode(&raw), doc.NoneNull("dropout"), doc.SettleBy("Dropout", &s.warnings)); err != nil {
		return err
	}
	if raw.Dropout > 1 {
		return doc.Errorf("dropout", "want a probability")
	}
	return nil
}
