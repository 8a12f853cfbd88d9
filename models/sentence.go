package models

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// A SentenceEmbedder makes one vector of a text, by the modules that
// sentence-transformers' modules.json lists behind the encoder: pooling, dense layers,
// normalization.
type SentenceEmbedder struct {
	// MaxLength is the most tokens of a text (max_seq_length); 0: as the model says.
	MaxLength int
	// IncludePrompt is whether the tokens of a prompt before a text count, as they do
	// unless the folder says otherwise; see EmbedBehind.
	IncludePrompt bool

	encoder Encoder
	pools   []pooling // joined
	rest    []sentenceModule
	out     int
}

// sentenceModule is a dense layer with an activation, or else normalization.
type sentenceModule struct {
	dense *transformer.Linear
	act   func(t kernels.Threads, x []float32)
}

// openSentence reads modules.json, if there is one.
func openSentence(fsys fs.FS, m *Model) (*SentenceEmbedder, error) {
	text, err := fs.ReadFile(fsys, "modules.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	doc, err := parse("modules.json", append(append([]byte(`{"modules":`), text...), '}'))
	if err != nil {
		return nil, err
	}
	var modules []struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	if err := doc.Field("modules", &modules); err != nil {
		return nil, err
	}
	if len(modules) == 1 && m.Classifier != nil {
		return nil, nil // a cross-encoder
	}
	encoder := m.Encoder
	if d, ok := m.LM.(*decoder); ok && encoder == nil {
		encoder = causalEncoder{d}
	}
	if encoder == nil {
		return nil, check.Errorf(ErrFolder, "modules.json beside a model_type %q that is no encoder", m.Config.ModelType)
	}
	s := &SentenceEmbedder{encoder: encoder}
	for i, module := range modules {
		kind := module.Type[strings.LastIndex(module.Type, ".")+1:]
		switch {
		case i == 0 && kind == "Transformer":
			if module.Path != "" {
				return nil, check.Errorf(ErrFolder, "modules.json: the model is in %q, want the folder itself", module.Path)
			}
		case i == 1 && kind == "Pooling":
			err = s.addPooling(fsys, module.Path)
		case i > 1 && kind == "Dense":
			err = s.addDense(fsys, module.Path)
		case i > 1 && kind == "Normalize":
			s.rest = append(s.rest, sentenceModule{})
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
	if doc, err := readJSON(fsys, "sentence_bert_config.json"); err == nil {
		raw := struct {
			MaxLength int `json:"max_seq_length" min:"0"`
		}{}
		if err := doc.Decode(&raw); err != nil {
			return nil, err
		}
		s.MaxLength = raw.MaxLength
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, nil
}

// addPooling reads the pooling module in a folder.
func (s *SentenceEmbedder) addPooling(fsys fs.FS, dir string) error {
	doc, err := readJSON(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return check.Errorf(ErrFolder, "%s: %w", doc.Name, err)
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
	}
	for _, name := range raw.Modes {
		pool, ok := poolings[name]
		if !ok {
			return doc.Errorf("pooling_mode", "unknown mode %q", name)
		}
		s.pools = append(s.pools, pool)
	}
	if len(s.pools) == 0 {
		return check.Errorf(ErrConfig, "%s: no pooling_mode is true", doc.Name)
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

// addDense reads the dense module in a folder.
func (s *SentenceEmbedder) addDense(fsys fs.FS, dir string) error {
	doc, err := readJSON(fsys, path.Join(dir, "config.json"))
	if err != nil {
		return check.Errorf(ErrFolder, "%s: %w", doc.Name, err)
	}
	raw := struct {
		In         int    `json:"in_features"`
		Out        int    `json:"out_features"`
		Bias       bool   `json:"bias"`
		Activation string `json:"activation_function"`
		Input      string `json:"module_input_name"`
		Output     string `json:"module_output_name"`
		Residual   bool   `json:"use_residual"`
	}{Bias: true, Activation: "Tanh", Input: vector, Output: vector}
	if err := doc.Decode(&raw); err != nil {
		return err
	}
	switch {
	case raw.Input != vector:
		return doc.Errorf("module_input_name", "want %s", vector)
	case raw.Output != vector:
		return doc.Errorf("module_output_name", "want %s", vector)
	case raw.Residual:
		return doc.Errorf("use_residual", "want false")
	}
	if raw.In != s.out {
		return doc.Errorf("in_features", "the module before gives %d", s.out)
	}
	module := sentenceModule{}
	switch name := raw.Activation[strings.LastIndex(raw.Activation, ".")+1:]; name {
	case "Identity":
	case "Tanh":
		module.act = tanh
	case "ReLU":
		module.act = activate(kernels.ActReLU)
	case "GELU":
		module.act = activate(kernels.ActGELU)
	case "SiLU":
		module.act = activate(kernels.ActSiLU)
	default:
		return doc.Errorf("activation_function", "unknown activation")
	}
	weights, err := openWeights(fsys, path.Clean(dir))
	if err != nil {
		return err
	}
	defer weights.Close()
	l := transformer.NewLoader(weights)
	module.dense = l.At("linear.").Linear(raw.In, raw.Out, raw.Bias)
	if err := l.Finish(); err != nil {
		return fmt.Errorf("%s: %w", weights.name, err)
	}
	s.rest = append(s.rest, module)
	s.out = raw.Out
	return nil
}

// Dim is the width of a vector.
func (s *SentenceEmbedder) Dim() int { return s.out }

// Embed sets dst, [sequences, Dim], to the vectors of texts.
func (s *SentenceEmbedder) Embed(ws *Workspace, dst []float32, in Tokens) error {
	return s.EmbedBehind(ws, dst, in, 0)
}

// EmbedBehind is Embed without the hidden states of the first prompt tokens of each text in
// the vectors: those of a prompt that is not included.
func (s *SentenceEmbedder) EmbedBehind(ws *Workspace, dst []float32, in Tokens, prompt int) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(in.Batch.Rows() * s.encoder.Dim())    // [rows, D]
	if err := s.encoder.Encode(ws, x, in); err != nil { // [rows, D]
		return err
	}
	return s.poolBehind(ws, dst, x, in, prompt)
}

// Pool sets dst, [sequences, Dim], to the vectors of texts whose hidden states are x.
func (s *SentenceEmbedder) Pool(ws *Workspace, dst, x []float32, batch Batch) error {
	return s.poolBehind(ws, dst, x, Tokens{Batch: batch}, 0)
}

func (s *SentenceEmbedder) poolBehind(ws *Workspace, dst, x []float32, in Tokens, skip int) error {
	batch := in.Batch
	if len(dst) != batch.Len()*s.out {
		return check.Errorf(transformer.ErrShape, "%d elements for %d vectors of %d", len(dst), batch.Len(), s.out)
	}
	defer ws.Release(ws.Mark())
	dim := s.encoder.Dim()
	width := len(s.pools) * dim
	y := ws.Alloc(batch.Len() * width) // [sequences, pools*D]
	one := ws.Alloc(batch.Len() * dim) // [sequences, D]
	for p, pool := range s.pools {
		if err := pool(one, x, in, dim, skip); err != nil {
			return err
		}
		for i := range batch.Len() {
			copy(y[i*width+p*dim:], one[i*dim:(i+1)*dim])
		}
	}
	for _, module := range s.rest {
		if module.dense == nil {
			normalizeRows(y, width)
			continue
		}
		z := ws.Alloc(batch.Len() * module.dense.Out)          // [sequences, out]
		if err := module.dense.Forward(ws, z, y); err != nil { // [sequences, out]
			return err
		}
		if module.act != nil {
			module.act(ws.Threads, z)
		}
		y, width = z, module.dense.Out
	}
	copy(dst, y)
	return nil
}
