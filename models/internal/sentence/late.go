package sentence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/weightfile"
	"github.com/avoformer/avoformer/transformer"
)

// Late interaction: a vector for each token of a text (Khattab and Zaharia, 2020, "ColBERT:
// Efficient and Effective Passage Search via Contextualized Late Interaction over BERT"), as
// MultiVectorEncoder of sentence-transformers, PyLate and the authors' own code publish it; and the
// vectors of BGE-M3.

// Dim returns the width of a vector.
func (t *TokenEmbedder) Dim() int { return t.dim }

// Project sets dst, [rows, Dim], to the vectors of tokens whose hidden states are x, [rows, width].
func (t *TokenEmbedder) Project(ws *transformer.Workspace, dst, x []float32, rows int) error {
	if len(dst) != rows*t.dim {
		return check.Errorf(fault.ErrShape, "%d elements for %d vectors of %d", len(dst), rows, t.dim)
	}
	defer ws.Release(ws.Mark())
	y, _, err := applyModules(ws, t.rows, append(ws.Alloc(0), x...), len(x)/max(rows, 1))
	if err != nil {
		return err
	}
	copy(dst, y)
	return nil
}

// pylateDense is PyLate's name of the module Dense.
const pylateDense = "pylate.models.Dense.Dense"

// openLate reads the modules of a folder with a vector for each token, if it is one.
func (f *Files) openLate(fsys fs.FS, m Parts) error {
	doc, err := readWhole(fsys)
	if err != nil {
		return err
	}
	class := "MultiVectorEncoder"
	pylate := doc.Says("model_type", "ColBERT")
	if pylate {
		class = "ColBERT"
	}
	modules, err := modulesFor(fsys, class)
	if err != nil || modules == nil {
		return err
	}
	if m.Encoder == nil {
		return modulesError(fault.ErrFolder, "model_type %q is not an encoder", m.ModelType)
	}
	s := &Embedder{encoder: m.Encoder, IncludePrompt: true, out: m.Encoder.Dim()}
	t := &TokenEmbedder{dim: m.Encoder.Dim()}
	masked := pylate
	for i, module := range modules {
		switch kind := module.kind(); {
		case i == 0 && kind == "Transformer" && module.Path == "":
		case i > 0 && (kind == "Dense" || module.Type == pylateDense):
			err = t.addDense(fsys, module.Path)
		case i > 0 && kind == "Normalize":
			err = t.addNormalize(fsys, module.Path)
		case i > 0 && kind == "MultiVectorMask" && !masked:
			masked = true
			err = t.readMask(fsys, module.Path)
		default:
			err = moduleError(i, "type", module.Type, "not supported there")
		}
		if err != nil {
			return err
		}
	}
	if pylate {
		t.rows = append(t.rows, layer{})
	}
	lengths, err := t.readWhole(doc, s, pylate)
	if err != nil {
		return err
	}
	if err := s.readTransformer(fsys, m.ModelType, lateInteraction(t, lengths)); err != nil {
		return err
	}
	if t.Expansion != nil && t.Expansion.Fixed {
		if err := rightPadded(fsys); err != nil {
			return err
		}
	}
	t.SkipUnseen = !masked
	if _, ok := m.Encoder.(RestHider); t.Expansion != nil && !t.Expansion.Attend && !ok {
		return modulesError(fault.ErrFolder, "model_type %q is not supported: queries would be extended by tokens that the rest of the query does not see", m.ModelType)
	}
	s.out = 0
	f.Warnings = append(f.Warnings, append(s.warnings, t.warnings...)...)
	f.Sentence, f.Tokens = s, t
	return nil
}

// addDense reads a module Dense that makes vectors of tokens, as it does here if nothing else is
// said.
func (t *TokenEmbedder) addDense(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if err != nil {
		return err
	}
	dense := &Embedder{out: t.dim}
	module, in, out, err := dense.readDense(fsys, doc, dir, hidden)
	if err != nil {
		return err
	}
	if in != hidden || out != hidden {
		return doc.Errorf("module_input_name", "want %s", hidden)
	}
	t.rows, t.dim, t.warnings = append(t.rows, module), module.dense.Out, append(t.warnings, dense.warnings...)
	return nil
}

// addNormalize reads the module that gives each vector the length 1.
func (t *TokenEmbedder) addNormalize(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if ignoreMissing(err) != nil {
		return err
	}
	in, out, err := ports(doc)
	if err == nil {
		err = doc.SettleBy("Normalize", &t.warnings)
	}
	if err != nil {
		return err
	}
	if in != hidden || out != hidden {
		return doc.Errorf("module_input_name", "want %s", hidden)
	}
	t.rows = append(t.rows, layer{})
	return nil
}

// readMask reads the module that says which tokens get vectors.
func (t *TokenEmbedder) readMask(fsys fs.FS, dir string) error {
	doc, err := readModule(fsys, dir)
	if err != nil {
		return err
	}
	raw := struct {
		Words []string             `json:"skiplist_words"`
		Tasks pyjson.OneOr[string] `json:"skiplist_tasks"`
	}{Tasks: pyjson.OneOr[string]{"document"}}
	if err := cmp.Or(doc.Decode(&raw), doc.SettleBy("MultiVectorMask", &t.warnings)); err != nil {
		return err
	}
	documents := false
	for _, task := range raw.Tasks {
		switch task {
		case "query":
			t.SkipInQueries = true
		case "document":
			documents = true
		default:
			return doc.Errorf("skiplist_tasks", "want query or document")
		}
	}
	if !documents && len(raw.Words) > 0 {
		return doc.Errorf("skiplist_tasks", "want document among them")
	}
	t.Skip = raw.Words
	return nil
}

// readWhole reads what config_sentence_transformers.json says of all: prompts, how scores are made,
// and what PyLate has there. It returns the fields for the module Transformer, which count where
// its own file lacks them.
func (t *TokenEmbedder) readWhole(doc configuration.Document, s *Embedder, pylate bool) (map[string]json.RawMessage, error) {
	if err := s.readPrompts(doc, inEach); err != nil {
		return nil, err
	}
	const field = "similarity_fn_name"
	doc.Note(field)
	t.MeanScore = doc.Says(field, "meanmaxsim")
	if doc.Has(field) && !t.MeanScore && !doc.Says(field, "maxsim") && !doc.Says(field, "MaxSim") {
		return nil, doc.Errorf(field, "want maxsim or meanmaxsim")
	}
	fields, err := t.readPyLate(doc, s, pylate)
	if err != nil {
		return nil, err
	}
	return fields, s.settleWhole(doc, "MultiVectorEncoder")
}

// markers are fields that only PyLate writes. Where there is one, queries are lengthened unless a
// field says otherwise.
var markers = []string{
	"query_length", "document_length", "query_expansion", "do_query_expansion", "attend_to_expansion_tokens", "attend_to_mask_tokens",
	"query_prefix", "document_prefix", "skiplist_words",
}

// readPyLate reads what PyLate has in config_sentence_transformers.json.
func (t *TokenEmbedder) readPyLate(doc configuration.Document, s *Embedder, pylate bool) (map[string]json.RawMessage, error) {
	raw := struct {
		Query    string   `json:"query_prefix"`
		Document string   `json:"document_prefix"`
		Expand   bool     `json:"do_query_expansion"`
		Attend   bool     `json:"attend_to_expansion_tokens"`
		Masks    bool     `json:"attend_to_mask_tokens"` // what it is in ColBERT's own files
		Skip     []string `json:"skiplist_words"`
	}{Expand: true, Skip: strings.Split(punctuation, "")}
	if err := doc.Decode(&raw); err != nil {
		return nil, err
	}
	if name := "default_prompt_name"; raw.Query+raw.Document != "" && doc.Has(name) && !doc.Says(name, "document") {
		return nil, doc.Errorf(name, "beside query_prefix or document_prefix want document, the prefix of texts without the name of a prompt")
	}
	for name, mark := range map[string]string{"query": raw.Query, "document": raw.Document} {
		s.Prompts[name] = strings.TrimPrefix(s.Prompts[name], mark)
	}
	t.QueryMark, t.DocumentMark = raw.Query, raw.Document
	if pylate {
		t.Skip = raw.Skip
	}
	lengths := map[string]json.RawMessage{}
	for _, name := range []string{"query_length", "document_length"} {
		doc.Note(name)
		if _, err := doc.TokenCount(name); err != nil {
			return nil, err
		}
		if doc.Has(name) {
			lengths[name] = doc.Fields[name]
		}
	}
	doc.Note("query_expansion")
	if expansion, ok := doc.Fields["query_expansion"]; ok {
		lengths["query_expansion"] = expansion
		_, err := readExpansion(doc)
		return lengths, err
	}
	if raw.Expand && slices.ContainsFunc(markers, func(name string) bool { _, ok := doc.Fields[name]; return ok }) {
		if _, ok := doc.Fields["attend_to_expansion_tokens"]; !ok {
			raw.Attend = raw.Masks
		}
		length := "32"
		if n, ok := lengths["query_length"]; ok {
			length = string(n)
		}
		delete(lengths, "query_length")
		lengths["query_expansion"] = fmt.Appendf(nil, `{"strategy": "fixed", "attend": %v, "length": %s}`, raw.Attend, length)
	}
	return lengths, nil
}

// punctuation is Python's string.punctuation.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// lateInteraction returns the task of the module Transformer, whose query_expansion it reads into
// t. otherwise are fields that count where the module's file lacks them.
func lateInteraction(t *TokenEmbedder, otherwise map[string]json.RawMessage) task {
	late := extraction
	late.otherwise = otherwise
	late.expansion = func(doc configuration.Document) (err error) {
		t.Expansion, err = readExpansion(doc)
		return err
	}
	return late
}

// readExpansion reads query_expansion, nil for null.
func readExpansion(doc configuration.Document) (*Expansion, error) {
	const field = "query_expansion"
	if !doc.Has(field) {
		return nil, nil
	}
	raw := struct {
		Strategy string `json:"strategy"`
		Attend   bool   `json:"attend"`
		Token    string `json:"token"`
		Length   int    `json:"length"`
	}{}
	part, err := doc.Unaccounted().Sub(field)
	if err == nil {
		err = part.Known("strategy", "attend", "token", "length")
	}
	if err == nil {
		err = part.Decode(&raw)
	}
	if err != nil {
		return nil, err
	}
	if raw.Strategy != "fixed" && raw.Strategy != "min" {
		return nil, part.Errorf("strategy", "want fixed or min")
	}
	if n, err := doc.TokenCount("query_length"); err != nil {
		return nil, err
	} else if n > 0 && n < raw.Length {
		return nil, doc.Errorf("query_length", "want at least query_expansion.length, %d", raw.Length)
	}
	return &Expansion{Length: raw.Length, Fixed: raw.Strategy == "fixed", Attend: raw.Attend, Token: raw.Token}, nil
}

// rightPadded returns an error if queries would be lengthened at their beginning: the tokens that
// do so take the places of padding.
func rightPadded(fsys fs.FS) error {
	const field = "padding_side"
	doc, err := transformerConfig(fsys)
	if err != nil {
		return err
	}
	for _, a := range arguments { // what sentence-transformers gives the tokenizer goes before its files
		if _, ok := doc.Fields[a.field]; ok && a.what == "processor" {
			args, err := doc.Sub(a.field)
			if err != nil {
				return err
			}
			if _, ok := args.Fields[field]; ok {
				return padsRight(args, field, "right")
			}
			break
		}
	}
	doc, err = configuration.ReadJSON(fsys, "tokenizer_config.json")
	if err := ignoreMissing(err); err != nil {
		return err
	}
	if _, ok := doc.Fields[field]; ok {
		return padsRight(doc, field, "right")
	}
	doc, err = configuration.ReadJSON(fsys, "tokenizer.json")
	if err := ignoreMissing(err); err != nil || !doc.Has("padding") {
		return err
	}
	padding, err := doc.Sub("padding")
	if err != nil {
		return err
	}
	return padsRight(padding, "direction", "Right")
}

func padsRight(doc configuration.Document, field, right string) error {
	if !doc.Says(field, right) {
		return doc.Errorf(field, "want %s where query_expansion has the strategy fixed", right)
	}
	return nil
}

// openM3 reads the heads that BGE-M3 has in addition to the encoder of its vectors: a weight and a
// vector of each token.
func (f *Files) openM3(fsys fs.FS, m Parts) error {
	const weight, vectors = "sparse_linear.pt", "colbert_linear.pt"
	if !configuration.Exists(fsys, weight) && !configuration.Exists(fsys, vectors) {
		return nil
	}
	if m.ModelType != "xlm-roberta" || m.Encoder == nil {
		return check.InFile("config.json", fault.ErrFolder, check.Errorf(fault.ErrFolder, "%s or %s with a model_type %q is not supported", weight, vectors, m.ModelType))
	}
	dim := m.Encoder.Dim()
	if configuration.Exists(fsys, weight) {
		linear, err := openLinear(fsys, weight, dim)
		if err != nil {
			return err
		}
		if linear.Out != 1 {
			return check.InFile(weight, fault.ErrFormat, check.Errorf(fault.ErrFormat, "%d outputs, want 1", linear.Out))
		}
		f.Sparse = &tokenWeights{linear: linear, skip: []int{0, 1, 2, 3}} // begin, padding, end and unknown of XLM-RoBERTa's tokenizer
	}
	if configuration.Exists(fsys, vectors) {
		linear, err := openLinear(fsys, vectors, dim)
		if err != nil {
			return err
		}
		f.Tokens = &TokenEmbedder{SkipFirst: true, MeanScore: true, rows: []layer{{dense: linear}, {}}, dim: linear.Out}
	}
	return nil
}

// openLinear returns the linear layer in a file that torch.save wrote, whose outputs are as many as
// its weight has rows.
func openLinear(fsys fs.FS, name string, in int) (*transformer.Linear, error) {
	weights, err := weightfile.OpenFiles(fsys, "", name, name+".index.json")
	if err != nil {
		return nil, err
	}
	defer weights.Close()
	shape, ok := weights.Shape("weight")
	if !ok || len(shape) != 2 {
		return nil, check.InFile(name, fault.ErrFormat, check.Errorf(fault.ErrFormat, "no matrix weight"))
	}
	l := transformer.NewLoader(weights)
	linear := l.Linear(in, shape[0], true)
	if err := l.Finish(); err != nil {
		return nil, check.InFile(name, fault.ErrFormat, err)
	}
	return linear, nil
}
