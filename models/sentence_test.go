package models_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestSentenceRefused gives the files of sentence-transformers values that would change what it
// computes, and are not supported. The error names the file and the field.
func TestSentenceRefused(t *testing.T) {
	const transformer, pooling, all = "sentence_bert_config.json", "1_Pooling/config.json", "config_sentence_transformers.json"
	module := func(i, name, kind string) string {
		return `{"idx": ` + i + `, "name": "` + name + `", "path": "1_Pooling", "type": "` + kind + `"}`
	}
	first := `[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}, `
	for _, c := range []struct{ folder, file, text, field string }{
		{"bert", transformer, `{"config_args": {"num_hidden_layers": 1}}`, "num_hidden_layers"},
		{"bert", transformer, `{"config_kwargs": {"is_causal": false}}`, "is_causal"},
		{"bert", transformer, `{"tokenizer_args": {"do_lower_case": true}}`, "do_lower_case"},
		{"bert", transformer, `{"tokenizer_args": {"model_max_length": null}}`, "model_max_length"},
		{"bert", transformer, `{"processor_kwargs": {"truncation_side": "left"}}`, "truncation_side"},
		{"bert", transformer, `{"model_kwargs": {"variant": "fp16"}}`, "variant"},
		{"bert", transformer, `{"processing_kwargs": {"text": {"truncation": false}}}`, "truncation"},
		{"bert", transformer, `{"processing_kwargs": {"text": {"add_special_tokens": false}}}`, "add_special_tokens"},
		{"bert", transformer, `{"processing_kwargs": {"common": {"padding": "max_length"}}}`, "padding"},
		{"bert", transformer, `{"transformer_task": "fill-mask"}`, "transformer_task"},
		{"bert", transformer, `{"transformer_task": null}`, "transformer_task"},
		{"bert", transformer, `{"query_length": 8}`, "query_length"},
		{"bert", transformer, `{"query_expansion": {"strategy": "min", "length": 8}}`, "query_expansion"},
		{"bert", transformer, `{"max_seq_length": 0}`, "max_seq_length"},
		{"bert", transformer, `{"max_sequence_length": 8}`, "max_sequence_length"},
		{"bert", transformer, `{"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}, "module_output_name": "token_embeddings"}`, "method_output_name"},
		{"bert", transformer, `{"modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}}`, "module_output_name"},
		{"bert", transformer, `{"modality_config": {"message": {}}}`, "message"},
		{"bert", pooling, `{"word_embedding_dimension": 32, "include_prompt": null}`, "include_prompt"},
		{"bert", pooling, `{"word_embedding_dimension": 32, "pooling_mode": []}`, "pooling_mode"},
		{"bert", pooling, `{"word_embedding_dimension": 32, "pooling_mode_first_token": true}`, "pooling_mode_first_token"},
		{"bert", all, `{"model_type": "SparseEncoder"}`, "model_type"},
		{"bert", all, `{"truncate_dim": -1}`, "truncate_dim"},
		{"bert", all, `{"default_prompt_name": "passage", "prompts": {"passage ": "x"}}`, "default_prompt_name"},
		{"bert", "2_Normalize/config.json", `{"module_input_name": "token_embeddings"}`, "module_input_name"},
		{"bert-pool-dense", "2_Dense/config.json", `{"in_features": 96, "out_features": 24, "activation_function": "my.modules.ReLU"}`, "activation_function"},
		{"bert", "modules.json", first + module("1", "0", "sentence_transformers.models.Pooling") + "]", "name"},
		{"bert", "modules.json", first + module("1", "1", "my.Pooling") + "]", "type"},
	} {
		_, err := models.OpenFS(with(folder(t, c.folder), c.file, []byte(c.text)))
		if !errors.Is(err, models.ErrConfig) || !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %s: error %v, want an ErrConfig that names the file and %s", c.file, c.text, err, c.field)
		}
	}
}

// TestSentenceAccepted gives them values that count, and some that change nothing.
func TestSentenceAccepted(t *testing.T) {
	const transformer, pooling, all = "sentence_bert_config.json", "1_Pooling/config.json", "config_sentence_transformers.json"
	for _, c := range []struct {
		file, text  string
		length, dim int
	}{
		{transformer, `{"max_seq_length": 8}`, 8, 32},
		{transformer, `{"max_seq_length": 500}`, 32, 32}, // all positions that there are
		{transformer, `{"max_seq_length": 8, "tokenizer_args": {"model_max_length": 16, "padding_side": "left"}}`, 16, 32},
		{transformer, `{"max_seq_length": 8, "processor_kwargs": {"model_max_length": 16}, "tokenizer_args": {}}`, 8, 32},
		{transformer, `{"max_seq_length": 8, "processing_kwargs": {"text": {"max_length": 12, "padding": true}, "image": {"size": 2}}}`, 12, 32},
		{transformer, `{"max_seq_length": null, "config_args": {"trust_remote_code": true}, "model_args": {"add_pooling_layer": false}, "unpad_inputs": true}`, 0, 32},
		{pooling, `{"word_embedding_dimension": 32}`, 64, 32},
		{all, `{"truncate_dim": 12, "model_type": "SentenceTransformer", "default_prompt_name": "query"}`, 64, 12},
		{all, `{"truncate_dim": 400}`, 64, 32},
	} {
		m := tftest.Must(models.OpenFS(with(folder(t, "bert"), c.file, []byte(c.text))))(t)
		if want := min(c.length, 32); m.Sentence.MaxLength != want || m.Sentence.Dim() != c.dim || m.Sentence.Normalized() != (c.dim == 32) {
			t.Errorf("%s: %s: at most %d tokens, vectors of %d, normalized %v, want %d and %d", c.file, c.text, m.Sentence.MaxLength, m.Sentence.Dim(), m.Sentence.Normalized(), want, c.dim)
		}
	}
	if _, err := models.OpenFS(with(folder(t, "bert"), "sentence_roberta_config.json", []byte("{}"))); err != nil {
		t.Error(err)
	}
}
