package tokenizer

// The account of tokenizer_config.json: a field is read, or has no effect, or is an error. A field
// that transformers does not know is a warning.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyclass"
)

// readHere are the fields that every folder's settings read, in addition to all names that end with
// _token.
var readHere = []string{"added_tokens_decoder", "additional_special_tokens", "chat_template", "extra_special_tokens", "max_len", "model_input_names", "model_max_length",
	"split_special_tokens", "tokenizer_class", "truncation_side"}

// effectless maps the fields that change no ids to the reason. A class whose rule reads such a
// field overrides this.
var effectless = func() map[string]string {
	all := map[string]string{}
	for why, names := range map[string]string{
		"an argument of the call that opens a folder": `cache_dir code_revision config gguf_file local_files_only mistral_format revision token
			tokenizer tokenizer_type trust_remote_code use_fast verbose`,
		"a note": `auto_map backend files_loaded is_local name_or_path processor_class transformers_version`,
		"of calls that pad or cut, which name these themselves here": `max_length pad_to_multiple_of pad_token_type_id padding_side stride truncation_strategy`,
		"the post-processor of tokenizer.json says it":               `add_bos_token add_eos_token`,
		"an attribute without effect, except in classes that read it": `add_prefix_space do_lower_case keep_accents legacy_behaviour remove_space
			return_token_type_ids split_by_punct tgt_lang token_type_ids_pattern unk_id use_default_system_prompt`,
		"of offsets alone":                 `trim_offsets`,
		"of decoding in Python":            `clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output errors normalizer_file`,
		"of functions that nothing calls":  `chat_control_tokens grounded_generation_template response_schema response_template tool_use_template`,
		"of words with boxes and labels":   `cls_token_box only_label_first_subword pad_token_box pad_token_label sep_token_box`,
		"of classes before transformers 5": `do_basic_tokenize full_tokenizer_file merges_file never_split sp_model_kwargs special_tokens_map_file tokenizer_file vocab_file`,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = why
		}
	}
	return all
}()

// sameJSON reports whether two values are the same, or both empty.
func sameJSON(a, b value) bool {
	empty := []string{"", "null", "false", "0", `""`, "[]", "{}"}
	return string(a) == string(b) || slices.Contains(empty, string(a)) && slices.Contains(empty, string(b))
}

// Warnings reports the fields of tokenizer_config.json that transformers does not know either, and
// how decoded texts differ from transformers'.
func (t *Tokenizer) Warnings() []string { return slices.Clone(t.warnings) }

// account returns warnings about the fields of a folder with tokenizer.json that nothing reads, and
// an error for the first field that the class would read.
func (s *settings) account(t *Tokenizer) (warnings []string, err error) {
	c, class := pyclass.Tokenizer(s.used), s.used
	if c == nil {
		c, class = pyclass.Tokenizer(genericClass), genericClass
	}
	switch own := c.Fields; {
	case s.used == "":
		return nil, nil
	case c.Reads == pyclass.Without:
		return []string{fmt.Sprintf("tokenizer_class = %q: transformers %s does not read tokenizer.json with this class; here it is used as it is", class, pyclass.Transformers)}, nil
	default:
		return s.accountOf(class, own, t)
	}
}

func (s *settings) accountOf(class string, own map[string]string, t *Tokenizer) (warnings []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(s.fields.fields)) {
		v := s.fields.fields[name]
		if v.isNull() || s.read[name] || slices.Contains(readHere, name) || strings.HasSuffix(name, "_token") {
			continue
		}
		otherwise, known := own[name]
		if !known {
			otherwise, known = pyclass.Table("tokenizer base")[name]
		}
		switch {
		case name == "clean_up_tokenization_spaces":
			if _, pieces := t.model.(*unigram); pieces && string(v) == "true" {
				warnings = append(warnings, "tokenizer_config.json: clean_up_tokenization_spaces = true: decoded texts keep the spaces before punctuation that transformers takes out")
			}
		case effectless[name] != "":
		case !known:
			warnings = append(warnings, fmt.Sprintf("tokenizer_config.json: %s = %s: ignored, because transformers %s has no such field in %s", name, check.Short(string(v)), pyclass.Transformers, class))
		case !sameJSON(v, value(otherwise)):
			return nil, s.unread(class, name, v)
		}
	}
	return warnings, nil
}
