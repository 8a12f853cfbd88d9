package sentence

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// sentence_bert_config.json: how sentence-transformers' first module makes tokens of texts, and
// calls transformers.

// transformerFiles may have the configuration of the module Transformer; the first that is there
// and not empty counts.
var transformerFiles = []string{
	"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json", "sentence_camembert_config.json",
	"sentence_albert_config.json", "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json",
}

// transformerConfig returns the configuration of the module Transformer, which is empty if there is
// no file.
func transformerConfig(fsys fs.FS) (configuration.Document, error) {
	for _, name := range transformerFiles {
		text, err := configuration.ReadFile(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return configuration.Document{}, err
		}
		var x any
		if err := pyjson.Unmarshal(text, &x); err == nil && configuration.Empty(x) {
			continue
		}
		return configuration.Parse(name, text)
	}
	return configuration.Document{Name: transformerFiles[0]}, nil
}

// TokenizerFields are fields that sentence-transformers hands to the tokenizer of a folder, in
// place of those of tokenizer_config.json; none if modules.json is missing or for another class
// than those, or if it begins with a module that asks for no such fields.
func TokenizerFields(fsys fs.FS, classes []string) (map[string]json.RawMessage, error) {
	modules, err := modulesFor(fsys, classes...)
	if err != nil || modules == nil || modules[0].kind() == "StaticEmbedding" {
		return nil, err
	}
	doc, err := transformerConfig(fsys)
	if err != nil {
		return nil, err
	}
	return tokenizerArguments(doc)
}

// task is what the module Transformer does: its name, what of transformers' output it takes, and
// what it calls that.
type task struct {
	name, output, port string
	silent             bool                                             // what the module does that names no task
	expansion          func(doc configuration.Document) error           // reads query_expansion; nil: an error if there is one
	message            func(doc, modality configuration.Document) error // reads how texts become messages; nil: an error if they do
	otherwise          map[string]json.RawMessage                       // fields that count where the file lacks them
}

var (
	extraction     = task{name: "feature-extraction", output: "last_hidden_state", port: "token_embeddings", silent: true}
	classification = task{name: "sequence-classification", output: "logits", port: "scores"}
	filling        = task{name: "fill-mask", output: "logits", port: "token_embeddings"}
)

// readTransformer reads the configuration of the module Transformer, if there is one.
func (s *Embedder) readTransformer(fsys fs.FS, modelType string, t task) error {
	doc, err := transformerConfig(fsys)
	if err != nil {
		return err
	}
	for name, v := range t.otherwise {
		if _, ok := doc.Fields[name]; !ok {
			doc = doc.With(name, string(v))
		}
	}
	if err := doc.Known(slices.Collect(maps.Keys(pyclass.File("Transformer").Fields))...); err != nil { // as in sentence-transformers
		return err
	}
	if doc.Has("tokenizer_name_or_path") || doc.Has("query_expansion") && t.expansion == nil {
		for _, field := range []string{"query_expansion", "tokenizer_name_or_path"} {
			if doc.Has(field) {
				return doc.Errorf(field, "not supported")
			}
		}
	}
	if doc.Has("query_expansion") {
		if err := t.expansion(doc); err != nil {
			return err
		}
	}
	if err := t.check(doc); err != nil {
		return err
	}
	config, err := argumentsFor(doc, "config")
	if err == nil {
		err = checkConfigArguments(config, modelType)
	}
	if err != nil {
		return err
	}
	model, err := argumentsFor(doc, "model")
	if err == nil {
		err = model.Known()
	}
	if err != nil {
		return err
	}
	s.LowerCase = doc.Truth("do_lower_case", false)
	return s.readLengths(doc)
}

// readLengths reads the most tokens of texts, of queries and of documents.
func (s *Embedder) readLengths(doc configuration.Document) error {
	fields, err := tokenizerArguments(doc)
	if err != nil {
		return err
	}
	call, err := callArguments(doc)
	if err != nil {
		return err
	}
	limit := configuration.Document{Name: doc.Name, Fields: fields}
	for _, n := range []struct {
		to    *int
		from  configuration.Document
		field string
	}{{&s.MaxLength, limit, "model_max_length"}, {&s.QueryLength, doc, "query_length"}, {&s.DocumentLength, doc, "document_length"}} {
		if *n.to, err = n.from.TokenCount(n.field); err != nil {
			return err
		}
	}
	if _, ok := call.Fields["max_length"]; ok { // goes before all, null too
		most, err := call.TokenCount("max_length")
		if err != nil {
			return err
		}
		s.QueryLength, s.DocumentLength = 0, 0
		if most > 0 {
			s.MaxLength = most
		}
	}
	if p, ok := s.encoder.(PositionLimiter); ok && p.PositionLimit() > 0 {
		for _, n := range []*int{&s.MaxLength, &s.QueryLength, &s.DocumentLength} {
			*n = min(*n, p.PositionLimit())
		}
	}
	return nil
}

// check returns an error unless texts become what the task is for.
func (t task) check(doc configuration.Document) error {
	name, ok := doc.Fields["transformer_task"]
	if ok && string(name) != strconv.Quote(t.name) || !ok && !t.silent {
		return doc.Errorf("transformer_task", "want %s", t.name)
	}
	if _, ok := doc.Fields["modality_config"]; !ok { // then module_output_name is not asked for
		return nil
	}
	modality, err := doc.Sub("modality_config")
	if err != nil {
		return err
	}
	kind := "text"
	if _, ok := modality.Fields["message"]; ok {
		if kind = "message"; t.message == nil {
			return modality.Errorf(kind, "texts as messages of a chat are not supported")
		}
	}
	text, err := modality.Sub(kind)
	if err != nil {
		return err
	}
	raw := struct {
		Method string               `json:"method"`
		Output pyjson.OneOr[string] `json:"method_output_name"`
	}{}
	if err := text.Decode(&raw); err != nil {
		return err
	}
	switch {
	case raw.Method != "forward":
		return text.Errorf("method", "want forward")
	case len(raw.Output) != 1 || raw.Output[0] != t.output:
		return text.Errorf("method_output_name", "want %s", t.output)
	case string(doc.Fields["module_output_name"]) != strconv.Quote(t.port):
		return doc.Errorf("module_output_name", "want %s", t.port)
	case kind == "message":
		return t.message(doc, text)
	}
	return nil
}
