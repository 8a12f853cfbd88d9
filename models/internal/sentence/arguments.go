package sentence

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Keyword arguments in sentence_bert_config.json, for transformers' configurations, tokenizers and
// models. An argument that would change a number is an error. Arguments that transformers uses for
// other purposes, or does not use, are ignored.

// where are arguments that say where files are. sentence-transformers replaces them.
var where = []string{"subfolder", "token", "cache_dir", "revision", "local_files_only", "trust_remote_code"}

// anyValue are the other arguments without effect on numbers: they are for speed and precision, or
// for batches with padding, which this package does not use.
var anyValue = map[string][]string{
	"config":    {"use_cache", "attn_implementation", "torch_dtype", "dtype", "proxies", "force_download", "code_revision"},
	"processor": {"use_fast", "padding_side", "proxies", "force_download", "code_revision", "verbose"},
	"model":     {"add_pooling_layer", "attn_implementation", "torch_dtype", "dtype", "device_map", "low_cpu_mem_usage", "use_safetensors"},
}

// arguments are the fields with keyword arguments, and for which of anyValue they are. The first of
// two counts.
var arguments = []struct{ field, what string }{
	{"config_args", "config"}, {"config_kwargs", "config"}, {"tokenizer_args", "processor"}, {"processor_kwargs", "processor"},
	{"model_args", "model"}, {"model_kwargs", "model"},
}

// argumentsFor returns the arguments for one of anyValue, except those without effect.
func argumentsFor(d configuration.Document, what string) (configuration.Document, error) {
	for _, a := range arguments {
		if _, ok := d.Fields[a.field]; !ok || a.what != what {
			continue
		}
		args, err := d.Sub(a.field)
		for _, name := range slices.Concat(where, anyValue[what]) {
			delete(args.Fields, name)
		}
		return args, err
	}
	return configuration.Document{}, nil
}

// configMembers are the names of transformers' configurations that are not fields.
var configMembers = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`
		allow_global_per_layer_attribute_access attribute_map base_config_key base_model_ep_plan base_model_fsdp_plan base_model_pp_plan
		base_model_tp_plan convert_rope_params_to_dict default_config_fields default_rope_type default_theta dict_dtype_to_str
		extra_config_files extra_files from_dict from_json_file from_pretrained get_config_dict get_mtp_config get_text_config
		ignore_keys_at_rope_validation is_custom_code is_heterogeneous is_remote_code model_type nested_rope_parameter_keys
		output_attentions per_layer_attributes push_to_hub register_for_auto_class rope_scaling save_pretrained
		serialize_explicit_per_layer_config standardize_rope_params sub_configs sub_configs_defaults to_dict to_diff_dict to_json_file
		to_json_string update update_from_string use_return_dict validate validate_architecture validate_layer_type
		validate_output_attentions validate_rope validate_token_ids gguf_file return_unused_kwargs`) {
		configMembers[name] = true
	}
}

// checkConfigArguments returns an error for arguments that would change the configuration of the
// model: those that its class has as fields, unless they have no effect.
func checkConfigArguments(args configuration.Document, modelType string) error {
	c := pyclass.Config(modelType)
	for _, name := range slices.Sorted(maps.Keys(args.Fields)) {
		_, known := configuration.Default(c, name)
		known = known || c == nil || c.Aliases[name] != "" || configMembers[name] || strings.HasPrefix(name, "_")
		if known && (configuration.Neutral[name] == "" || strings.HasSuffix(name, "_token_id")) {
			return args.Errorf(name, "not supported")
		}
	}
	return nil
}

// tokenizerParameters are what classes of tokenizers in transformers 5.24 take, and what loads them
// reads, beside what ends like one of tokenizerEndings.
var tokenizerParameters = map[string]bool{}

var tokenizerEndings = []string{"_token", "_tokens", "_file", "_kwargs", "_lang", "_spm", "_template", "_length", "_id", "_width", "_format"}

func init() {
	for name := range strings.FieldsSeq(`
		add_blank add_prefix_space added_tokens_decoder auto_map backend cell_trim_length clean_text clean_up_tokenization_spaces
		clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output cls_token_box config do_basic_tokenize do_clean_text
		do_lower_case do_lowercase do_lowercase_and_remove_accent do_phonemize do_subword_tokenize do_upper_case do_word_tokenize
		entity_vocab errors extra_ids files_loaded fix_mistral_regex id2lang init_inputs is_local is_uroman keep_accents lang2id
		lang_codes langs language language_codes legacy legacy_behaviour mask_token_sent max_depth max_len merges model_input_names name_or_path
		never_split normalization normalize num_madeup_words offset only_label_first_subword pad_to_multiple_of pad_token_box
		pad_token_label phonemize phonemizer_backend post_processor predict_timestamps processor_class remove_space
		replace_word_delimiter_char response_schema return_token_type_ids self separate_vocabs should_strip_spaces special_tokens_pattern
		split_by_punct stride strip_accents strip_column_names subword_tokenizer_type suffix tags_dict task token_type_ids_pattern
		tokenize_chinese_chars tokenizer tokenizer_class tokenizer_object tokenizer_padding tokenizer_truncation tokenizer_type trim_offsets
		truncation_strategy update_answer_coordinates use_default_system_prompt vocab word_tokenizer_type wordpieces_prefix`) {
		tokenizerParameters[name] = true
	}
}

// tokenizerArguments are fields that take the place of those of tokenizer_config.json.
func tokenizerArguments(d configuration.Document) (map[string]json.RawMessage, error) {
	args, err := argumentsFor(d, "processor")
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(args.Fields)) {
		ends := slices.ContainsFunc(tokenizerEndings, func(end string) bool { return strings.HasSuffix(name, end) })
		switch {
		case name == "truncation_side":
			fields[name] = args.Fields[name]
		case name == "model_max_length":
			if n, err := args.TokenCount(name); err != nil {
				return nil, err
			} else if n == 0 {
				return nil, args.Errorf(name, "want a number of tokens")
			}
			fields[name] = args.Fields[name]
		case ends || tokenizerParameters[name] || strings.HasPrefix(name, "_"):
			return nil, args.Errorf(name, "not supported")
		}
	}
	if _, ok := fields["model_max_length"]; ok || !d.Has("max_seq_length") {
		return fields, nil
	}
	fields["model_max_length"] = d.Fields["max_seq_length"]
	_, err = d.TokenCount("max_seq_length")
	return fields, err
}

// callParameters are what the call of a tokenizer in transformers 5.24 knows, beside what
// callArguments reads.
var callParameters = []string{
	"text", "text_pair", "text_target", "text_pair_target", "add_special_tokens", "is_split_into_words", "pad_to_multiple_of", "padding_side",
	"return_token_type_ids", "return_attention_mask", "return_overflowing_tokens", "return_special_tokens_mask", "return_offsets_mapping",
	"return_length", "split_special_tokens", "tokenizer_kwargs", "max_target_length", "use_source_tokenizer", "sanitize_control_tokens", "add_prefix_space",
}

// callArguments returns the arguments of the call of the tokenizer: those of sentence-transformers,
// in place of which go those for texts, and then those for everything.
func callArguments(d configuration.Document) (configuration.Document, error) {
	call := configuration.Document{Name: d.Name + ": processing_kwargs", Fields: map[string]json.RawMessage{}}
	if d.Empty("processing_kwargs") {
		return call, nil
	}
	kwargs, err := d.Sub("processing_kwargs")
	if err != nil {
		return call, err
	}
	call.Fields = map[string]json.RawMessage{"padding": json.RawMessage("true"), "truncation": json.RawMessage("true")}
	for _, name := range []string{"text", "common"} {
		if name == "common" {
			delete(call.Fields, "logits_to_keep") // it is for the model
			call.Fields["return_tensors"] = json.RawMessage(`"pt"`)
		}
		if kwargs.Empty(name) {
			continue
		}
		part, err := kwargs.Sub(name)
		if err != nil {
			return call, err
		}
		maps.Copy(call.Fields, part.Fields)
	}
	for _, name := range callParameters {
		if _, ok := call.Fields[name]; ok {
			return call, call.Errorf(name, "not supported")
		}
	}
	return call, cmp.Or(
		call.Among("return_tensors", `"pt"`), call.Among("padding", "true", "false", `"longest"`, `"do_not_pad"`),
		call.Among("truncation", "true", `"longest_first"`, `"only_first"`),
	)
}
