package sentence_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
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
		{"bert", transformer, `{"config_kwargs": {"to_dict": 1}}`, "to_dict"},
		{"bert", transformer, `{"config_kwargs": {"pad_token_id": 3}}`, "pad_token_id"},
		{"bert", transformer, `{"processor_kwargs": {"unk_token": "a"}}`, "unk_token"},
		{"bert", transformer, `{"processor_kwargs": {"model_max_length": 1e30}}`, "model_max_length"},
		{"bert", transformer, `{"model_kwargs": {"variant": "fp16"}}`, "variant"},
		{"bert", transformer, `{"processing_kwargs": {"text": {"truncation": false}}}`, "truncation"},
		{"bert", transformer, `{"processing_kwargs": {"text": {"add_special_tokens": false}}}`, "add_special_tokens"},
		{"bert", transformer, `{"processing_kwargs": {"common": {"padding": "max_length"}}}`, "padding"},
		{"bert", transformer, `{"transformer_task": "fill-mask"}`, "transformer_task"},
		{"bert", transformer, `{"transformer_task": null}`, "transformer_task"},
		{"bert", transformer, `{"processing_kwargs": {"text": {"split_special_tokens": true}}}`, "split_special_tokens"},
		{"bert", transformer, `{"processing_kwargs": {"text": {"max_length": 8.5}}}`, "max_length"},
		{"bert", transformer, `{"processing_kwargs": {"common": {"return_tensors": "np"}}}`, "return_tensors"},
		{"bert", transformer, `{"processing_kwargs": {"text": {"padding": "max_length"}}}`, "padding"},
		{"bert", transformer, `{"processing_kwargs": {"text": {"truncation": false}}}`, "truncation"},
		{"bert", transformer, `{"query_length": 0}`, "query_length"},
		{"bert", transformer, `{"document_length": "8"}`, "document_length"},
		{"bert", transformer, `{"query_expansion": {"strategy": "min", "length": 8}}`, "query_expansion"},
		{"bert", transformer, `{"max_seq_length": 0}`, "max_seq_length"},
		{"bert", transformer, `{"max_sequence_length": 8}`, "max_sequence_length"},
		{"bert", transformer, `{"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}, "module_output_name": "token_embeddings"}`, "method_output_name"},
		{"bert", transformer, `{"modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}}`, "module_output_name"},
		{"bert", transformer, `{"modality_config": {"message": {}}}`, "message"},
		{"bert", pooling, `{"word_embedding_dimension": 32, "embedding_dimension": null}`, "embedding_dimension"},
		{"bert", pooling, `{"include_prompt": true}`, "word_embedding_dimension"},
		{"bert", pooling, `{"word_embedding_dimension": 32, "pooling_mode": []}`, "pooling_mode"},
		{"bert", pooling, `{"word_embedding_dimension": 32, "pooling_mode_first_token": true}`, "pooling_mode_first_token"},
		{"bert", all, `{"truncate_dim": -32}`, "truncate_dim"},
		{"bert", all, `{"truncate_dim": 12.0}`, "truncate_dim"},
		{"bert", all, `{"prompts": {"query": 5}}`, "query"},
		{"bert", all, `{"prompts": {"a": 5}, "default_prompt_name": "a"}`, "a"},
		{"bert", all, `{"default_prompt_name": "passage", "prompts": {"passage ": "x"}}`, "default_prompt_name"},
		{"bert", "2_Normalize/config.json", `{"module_input_name": "token_embeddings", "module_output_name": "sentence_embedding"}`, "module_input_name"},
		{"bert", "2_Normalize/config.json", `{"module_input_name": "attention_mask"}`, "module_input_name"},
		{"bert", "2_Normalize/config.json", `{"module_output_name": []}`, "module_output_name"},
		{"bert-pool-dense", "2_Dense/config.json", `{"in_features": 96, "out_features": 24, "activation_function": "torch.tanh"}`, "activation_function"},
		{"bert-pool-dense", "2_Dense/config.json", `{"in_features": 96, "out_features": 24, "use_residual": 1}`, "use_residual"},
		{"bert", "modules.json", first + module("1", "1", "sentence_transformers.models.Dropout") + "]", "type"},
		{"bert", "modules.json", first + module("1", "1", "sentence_transformers.models.Pooling") + ", " + module("2", "", "sentence_transformers.models.Pooling") + "]", "name"},
		{"bert", "modules.json", first + module("1", "1", "my.Pooling") + "]", "type"},
	} {
		_, err := models.OpenFS(modelstest.With(modelstest.Folder(t, c.folder), c.file, []byte(c.text)), models.Options{})
		if !errors.Is(err, fault.ErrConfig) || !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), c.field) {
			t.Errorf("%s: %s: error %v, want an ErrConfig that names the file and %s", c.file, c.text, err, c.field)
		}
	}
}

// TestSentenceAccepted gives them values that count, and some that change nothing. A width below 0
// is that of vectors that are not normalized.
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
		{transformer, `{"max_seq_length": true, "config_args": {"model_max_length": 4, "a_remark": 1, "dtype": "float16"}, "processor_kwargs": {"num_hidden_layers": 1, "truncation_side": "left"}}`, 1, 32},
		{transformer, `{"processing_kwargs": {"text": {"max_length": 12, "stride": 2, "logits_to_keep": 3, "return_tensors": "np"}, "common": {"max_length": 9, "a_remark": 1, "padding": false, "truncation": "only_first"}}}`, 9, 32},
		{transformer, `{"max_seq_length": 8, "processing_kwargs": {"text": {"max_length": null}}}`, 8, 32},
		{transformer, `{"max_seq_length": 8, "processing_kwargs": [], "module_output_name": 1}`, 8, 32},
		{pooling, `{"word_embedding_dimension": 32}`, 64, 32},
		{pooling, `{"word_embedding_dimension": "7", "include_prompt": 1, "pooling_mode_cls_token": null}`, 64, 32},
		{"2_Normalize/config.json", `{"module_input_name": "nothing"}`, 64, -32},
		{"2_Normalize/config.json", `{"module_output_name": 1}`, 64, -32},
		{"2_Normalize/config.json", `{"module_input_name": "token_embeddings"}`, 64, -32},
		{all, `{"truncate_dim": 12, "model_type": "SentenceTransformer", "default_prompt_name": "query"}`, 64, 12},
		{all, `{"truncate_dim": 400}`, 64, 32},
		{all, `{"truncate_dim": -2}`, 64, 30},
		{all, `{"truncate_dim": true, "prompts": {"a": 5, "query": null}}`, 64, 1},
	} {
		m, err := models.OpenFS(modelstest.With(modelstest.Folder(t, "bert"), c.file, []byte(c.text)), models.Options{})
		if err != nil {
			t.Errorf("%s: %s: %v", c.file, c.text, err)
			continue
		}
		if want := min(c.length, 32); m.Embedders.Sentence.MaxLength != want || m.Embedders.Sentence.Dim() != max(c.dim, -c.dim) || m.Embedders.Sentence.Normalized() != (c.dim == 32) {
			t.Errorf("%s: %s: at most %d tokens, vectors of %d, normalized %v, want %d and %d", c.file, c.text, m.Embedders.Sentence.MaxLength, m.Embedders.Sentence.Dim(), m.Embedders.Sentence.Normalized(), want, c.dim)
		}
	}
	if _, err := models.OpenFS(modelstest.With(modelstest.Folder(t, "bert"), "sentence_roberta_config.json", []byte("{}")), models.Options{}); err != nil {
		t.Error(err)
	}
}

// TestSentenceOtherKind opens a folder whose files say that it is for another class of
// sentence-transformers, which then does not ask for its modules.
func TestSentenceOtherKind(t *testing.T) {
	for _, kind := range []string{`"SparseEncoder"`, `"CrossEncoder"`, `""`, "null", "1", `"sentencetransformer"`} {
		files := modelstest.With(modelstest.Folder(t, "bert"), "config_sentence_transformers.json", []byte(`{"model_type": `+kind+`, "truncate_dim": 0}`))
		m := tftest.Must(models.OpenFS(files, models.Options{}))(t)
		fields := tftest.Must(models.TokenizerFields(files, "SentenceTransformer"))(t)
		if m.Embedders.Sentence != nil || fields != nil {
			t.Errorf("model_type %s: has a SentenceEmbedder, and for its tokenizer %s", kind, fields)
		}
	}
}

// TestSentenceLengths reads the lengths that are only for queries or only for documents.
func TestSentenceLengths(t *testing.T) {
	for _, c := range []struct {
		text             string
		query, doc, most int
		field            string // of tokenizer_config.json
	}{
		{`{"query_length": 8, "document_length": 400, "max_seq_length": 12}`, 8, 32, 12, "12"},
		{`{"query_length": true, "max_seq_length": 12, "tokenizer_args": {"model_max_length": 7}}`, 1, 0, 7, "7"},
		{`{"query_length": 8, "processing_kwargs": {"common": {"max_length": 6}}}`, 0, 0, 6, ""},
		{`{"query_length": 8, "max_seq_length": 20, "processing_kwargs": {"text": {"max_length": null}}}`, 0, 0, 20, "20"},
	} {
		files := modelstest.With(modelstest.Folder(t, "bert"), "sentence_bert_config.json", []byte(c.text))
		s := tftest.Must(models.OpenFS(files, models.Options{}))(t).Embedders.Sentence
		field := string(tftest.Must(models.TokenizerFields(files, "SentenceTransformer"))(t)["model_max_length"])
		if s.QueryLength != c.query || s.DocumentLength != c.doc || s.MaxLength != c.most || field != c.field {
			t.Errorf("%s: %d, %d, %d, %q, want %d, %d, %d, %q", c.text, s.QueryLength, s.DocumentLength, s.MaxLength, field, c.query, c.doc, c.most, c.field)
		}
	}
}

// TestSentenceModules changes modules.json: modules of one name, a second pooling, normalizing
// before there is a vector, a dropout.
func TestSentenceModules(t *testing.T) {
	list := func(modules ...string) []byte { return []byte("[" + strings.Join(modules, ", ") + "]") }
	module := func(name, path, kind string) string {
		return `{"name": "` + name + `", "path": "` + path + `", "type": "sentence_transformers.models.` + kind + `"}`
	}
	files := modelstest.With(modelstest.Folder(t, "bert"), "4_Tokens/config.json", []byte(`{"module_input_name": "token_embeddings"}`))
	first, pool, norm := module("0", "", "Transformer"), module("1", "1_Pooling", "Pooling"), module("2", "2_Normalize", "Normalize")
	for _, c := range []struct {
		name       string
		modules    []byte
		normalized bool
	}{
		{"as it is", list(first, pool, norm), true},
		{"twice", list(first, first, module("1", "5_Missing", "Pooling"), pool, norm, norm), true},
		{"too early", list(first, norm, pool), false},
		{"again", list(first, pool, norm, module("again", "1_Pooling", "Pooling.Pooling")), false},
		{"dropout", list(first, pool, module("drop", "3_Dropout", "Dropout"), norm), true},
		{"dropout last", list(first, pool, norm, module("drop", "3_Dropout", "Dropout")), true},
	} {
		m, err := models.OpenFS(modelstest.With(files, "modules.json", c.modules), models.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if m.Embedders.Sentence.Normalized() != c.normalized {
			t.Errorf("%s: normalized is %v", c.name, m.Embedders.Sentence.Normalized())
		}
	}
	changed := list(first, pool, module("tokens", "4_Tokens", "Normalize"), module("again", "1_Pooling", "Pooling"))
	if _, err := models.OpenFS(modelstest.With(files, "modules.json", changed), models.Options{}); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("error %v of pooling what a module changes, want an ErrConfig", err)
	}
}

// TestSentenceDense has a dense layer of as many outputs as inputs: what is added, and the
// activations.
func TestSentenceDense(t *testing.T) {
	const dim = 32
	weights := make([]float32, dim*dim)
	for i := range weights {
		weights[i] = float32(i%7-3) / 9
	}
	var file bytes.Buffer
	tftest.NoError(t, safetensors.Write(&file, map[string]safetensors.Tensor{"linear.weight": {Shape: []int{dim, dim}, Data: weights}}, nil))
	files := modelstest.With(modelstest.Folder(t, "bert"), "2_Dense/model.safetensors", file.Bytes())
	files = modelstest.With(files, "modules.json", []byte(`[{"name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
		{"name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}, {"name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}]`))
	embed := func(config string) (*models.Model, []float32) {
		t.Helper()
		m, err := models.OpenFS(modelstest.With(files, "2_Dense/config.json", []byte(`{"in_features": 32, "out_features": 32, "bias": 0, `+config+`}`)), models.Options{})
		if err != nil {
			t.Fatalf("%s: %v", config, err)
		}
		v := make([]float32, dim)
		tftest.NoError(t, m.Embedders.Sentence.Embed(new(models.Workspace), v, models.Tokens{IDs: []int{2, 7, 9, 3}, Batch: transformer.Ragged(4)}))
		return m, v
	}
	const identity = `"activation_function": "torch.nn.Identity"`
	_, linear := embed(identity)
	_, elsewhere := embed(identity + `, "module_output_name": "other"`) // what the pooling gives
	warned, unknown := embed(`"activation_function": "my.modules.ReLU"`)
	_, sum := embed(identity + `, "use_residual": 1, "a_remark": 1`)
	_, tanh := embed(`"use_residual": []`)
	_, sigmoid := embed(`"activation_function": "torch.nn.modules.activation.Sigmoid"`)
	if len(warned.Warnings) != 1 || !strings.Contains(warned.Warnings[0], "my.modules.ReLU") {
		t.Errorf("warnings %q, want one of the activation", warned.Warnings)
	}
	for i, x := range linear {
		for _, c := range []struct {
			what       string
			have, want float64
		}{
			{"residual", float64(sum[i]), float64(x) + float64(elsewhere[i])},
			{"no activation", float64(tanh[i]), math.Tanh(float64(x))},
			{"an activation that is code of the folder", float64(unknown[i]), math.Tanh(float64(x))},
			{"sigmoid", float64(sigmoid[i]), 1 / (1 + math.Exp(-float64(x)))},
		} {
			if !(math.Abs(c.have-c.want) < 1e-5) {
				t.Fatalf("%s: element %d is %v, want %v", c.what, i, c.have, c.want)
			}
		}
	}
}

// TestDenseDefaults leaves out of a dense module what it has by default: a bias and tanh.
func TestDenseDefaults(t *testing.T) {
	whole := modelstest.Folder(t, "bert-pool-dense")
	short := modelstest.With(whole, "2_Dense/config.json", []byte(`{"in_features": 96, "out_features": 24}`))
	var vectors [2][]float32
	for i, files := range []fstest.MapFS{whole, short} {
		m := tftest.Must(models.OpenFS(files, models.Options{}))(t)
		vectors[i] = make([]float32, m.Embedders.Sentence.Dim())
		in := models.Tokens{IDs: []int{5, 6, 7}, Batch: transformer.Uniform(1, 3)}
		tftest.NoError(t, m.Embedders.Sentence.Embed(new(models.Workspace), vectors[i], in))
	}
	if !slices.Equal(vectors[0], vectors[1]) {
		t.Errorf("%v, want %v", vectors[1], vectors[0])
	}
}

// TestModel2Vec opens files as save_pretrained of model2vec 0.10 writes them: without a model_type,
// and with a mapping of I32. Each token has the row of its mapping, times its weight.
func TestModel2Vec(t *testing.T) {
	header := `{"embeddings":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]},"mapping":{"dtype":"I32","shape":[3],"data_offsets":[4,16]},"weights":{"dtype":"F32","shape":[3],"data_offsets":[16,28]}}`
	header += strings.Repeat(" ", -len(header)&7)
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	data = append(append(data, header...), 1, 2, 3, 0xfc)
	for _, n := range []uint32{1, 0, 1, math.Float32bits(1), math.Float32bits(2), math.Float32bits(0.5)} {
		data = binary.LittleEndian.AppendUint32(data, n)
	}
	m := tftest.Must(models.OpenFS(fstest.MapFS{
		"config.json":       {Data: []byte(`{"normalize": false, "max_length": 512, "embedding_dtype": "int8", "vocabulary_quantization": 2}`)},
		"model.safetensors": {Data: data},
	}, models.Options{}))(t)
	got := make([]float32, 2)
	tftest.NoError(t, m.Embedders.Sentence.Embed(new(models.Workspace), got, models.Tokens{IDs: []int{0, 1, 2}, Batch: transformer.Uniform(1, 3)}))
	if want := []float32{(3 + 2*1 + 1.5) / 3., (-4 + 2*2 - 2) / 3.}; math.Abs(float64(got[0]-want[0])) > 1e-6 || math.Abs(float64(got[1]-want[1])) > 1e-6 {
		t.Errorf("the vector is %v, want %v", got, want)
	}
}
