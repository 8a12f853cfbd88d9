package models

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/internal/pyjson"
)

// sentence_bert_config.json: how sentence-transformers' first module makes tokens of texts, and
// calls transformers.

// transformerFiles may have the configuration of the module Transformer; the first that is there and
// not empty counts.
var transformerFiles = []string{
	"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json", "sentence_camembert_config.json",
	"sentence_albert_config.json", "sentence_xlm-roberta_config.json", "sentence_xlnet_config.json",
}

// anyValue are keyword arguments of transformers' from_pretrained that change no number, for
// configurations, tokenizers and models: what says where files are is replaced by
// sentence-transformers, and the rest is for speed and precision.
var anyValue = map[string][]string{
	"config":    {"subfolder", "token", "cache_dir", "revision", "local_files_only", "trust_remote_code", "use_cache", "attn_implementation", "torch_dtype", "dtype"},
	"processor": {"subfolder", "token", "cache_dir", "revision", "local_files_only", "trust_remote_code", "use_fast", "padding_side", "model_max_length"},
	"model": {"subfolder", "token", "cache_dir", "revision", "local_files_only", "trust_remote_code", "add_pooling_layer", "attn_implementation",
		"torch_dtype", "dtype", "device_map", "low_cpu_mem_usage", "use_safetensors"},
}

// arguments are the fields with keyword arguments, and for which of anyValue they are. The first
// of two counts.
var arguments = []struct{ field, what string }{
	{"config_args", "config"}, {"config_kwargs", "config"}, {"tokenizer_args", "processor"}, {"processor_kwargs", "processor"},
	{"model_args", "model"}, {"model_kwargs", "model"},
}

// readTransformer reads the configuration of the module Transformer, if there is one.
func (s *SentenceEmbedder) readTransformer(fsys fs.FS) error {
	for _, name := range transformerFiles {
		doc, err := readJSON(fsys, name)
		if err == nil && len(doc.fields) > 0 {
			return s.transformer(doc)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (s *SentenceEmbedder) transformer(doc Document) error {
	raw := struct {
		Task      string `json:"transformer_task"`
		MaxLength int    `json:"max_seq_length" min:"0"`
		LowerCase bool   `json:"do_lower_case"`
		Output    string `json:"module_output_name"`
	}{Task: "feature-extraction", Output: "token_embeddings"}
	if err := doc.Decode(&raw); err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(doc.fields)) {
		switch field {
		case "transformer_task", "modality_config", "module_output_name", "processing_kwargs":
		case "max_seq_length", "do_lower_case", "unpad_inputs", "cache_dir", "backend":
		case "config_args", "config_kwargs", "tokenizer_args", "processor_kwargs", "model_args", "model_kwargs":
		case "query_length", "document_length", "query_expansion", "tokenizer_name_or_path":
			if !doc.isNull(field) {
				return doc.Errorf(field, "not supported")
			}
		default:
			return doc.Errorf(field, "unknown field")
		}
	}
	switch {
	case raw.Task != "feature-extraction" || doc.isNull("transformer_task"):
		return doc.Errorf("transformer_task", "want feature-extraction")
	case doc.Has("max_seq_length") && raw.MaxLength == 0:
		return doc.Errorf("max_seq_length", "want at least 1")
	}
	if err := checkModality(doc, raw.Output); err != nil {
		return err
	}
	s.LowerCase, s.MaxLength = raw.LowerCase, raw.MaxLength
	if err := s.keywordArguments(doc); err != nil {
		return err
	}
	if err := s.processing(doc); err != nil {
		return err
	}
	if p, ok := s.encoder.(interface{ positionLimit() int }); ok && p.positionLimit() > 0 {
		s.MaxLength = min(s.MaxLength, p.positionLimit())
	}
	return nil
}

// checkModality returns an error unless texts become the hidden states of their tokens.
func checkModality(doc Document, output string) error {
	if _, ok := doc.fields["modality_config"]; !ok {
		return nil
	}
	modality, err := doc.Sub("modality_config")
	if err != nil {
		return err
	}
	if _, ok := modality.fields["message"]; ok {
		return modality.Errorf("message", "texts as messages of a chat are not supported")
	}
	text, err := modality.Sub("text")
	if err != nil {
		return err
	}
	raw := struct {
		Method string `json:"method"`
		Output names  `json:"method_output_name"`
	}{}
	if err := text.Decode(&raw); err != nil {
		return err
	}
	switch {
	case raw.Method != "forward":
		return text.Errorf("method", "want forward")
	case len(raw.Output) != 1 || raw.Output[0] != "last_hidden_state":
		return text.Errorf("method_output_name", "want last_hidden_state")
	case output != "token_embeddings" || !doc.Has("module_output_name"):
		return doc.Errorf("module_output_name", "want token_embeddings")
	}
	return nil
}

// keywordArguments reads what is handed to from_pretrained of transformers' classes.
func (s *SentenceEmbedder) keywordArguments(doc Document) error {
	read := map[string]bool{}
	for _, a := range arguments {
		if _, ok := doc.fields[a.field]; !ok || read[a.what] {
			continue
		}
		read[a.what] = true
		args, err := doc.Sub(a.field)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(args.fields)) {
			if !slices.Contains(anyValue[a.what], name) {
				return args.Errorf(name, "not supported")
			}
		}
		if a.what == "processor" {
			if err := args.maxLength("model_max_length", &s.MaxLength); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxLength reads a number of tokens, if there is one.
func (d Document) maxLength(field string, to *int) error {
	if _, ok := d.fields[field]; !ok {
		return nil
	}
	var n int
	if err := pyjson.Unmarshal(d.fields[field], &n); err != nil || n < 1 || d.isNull(field) {
		return d.Errorf(field, "want a number of tokens")
	}
	*to = n
	return nil
}

// processing reads what is handed to the call of the tokenizer, for texts and for everything.
func (s *SentenceEmbedder) processing(doc Document) error {
	if !doc.Has("processing_kwargs") {
		return nil
	}
	kwargs, err := doc.Sub("processing_kwargs")
	if err != nil {
		return err
	}
	for _, name := range []string{"common", "text"} {
		if kwargs.empty(name) {
			continue
		}
		part, err := kwargs.Sub(name)
		if err != nil {
			return err
		}
		if err := cmp.Or(
			part.among("return_tensors", `"pt"`), part.among("padding", "true", `"longest"`), part.among("truncation", "true", `"longest_first"`),
			part.maxLength("max_length", &s.MaxLength),
		); err != nil {
			return err
		}
		for _, field := range slices.Sorted(maps.Keys(part.fields)) {
			if !slices.Contains([]string{"return_tensors", "padding", "truncation", "max_length"}, field) {
				return part.Errorf(field, "not supported")
			}
		}
	}
	return nil
}

// among returns an error if a field is there with another value than those.
func (d Document) among(field string, values ...string) error {
	if v, ok := d.fields[field]; ok && !slices.Contains(values, string(v)) {
		return d.Errorf(field, "want %s", values[0])
	}
	return nil
}
