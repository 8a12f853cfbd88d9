package tokenizer

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyclass"
)

// TestFieldsOfClasses has every field of every class that a rule builds: the rule or the settings
// read it, or the table says why it has no effect.
func TestFieldsOfClasses(t *testing.T) {
	refused := map[string][]string{} // fields that are errors with another value than their default
	for class, rule := range rules {
		c := pyclass.Tokenizer(class)
		if c == nil {
			t.Errorf("transformers has no class %s", class)
			continue
		}
		fields := maps.Clone(pyclass.Table("tokenizer base"))
		maps.Copy(fields, c.Fields)
		raw := map[string]value{}
		for name, text := range fields {
			raw[name] = value(text)
		}
		o := &object{what: "tokenizer_config.json", fields: raw}
		s := &settings{fields: o, special: map[string]AddedToken{}, bare: map[string]bool{}, read: map[string]bool{}}
		s.Special = map[string]string{}
		b := &building{settings: s, class: class, model: &object{fields: map[string]value{}}}
		b.defaultRoles()
		rule(b)
		for name := range fields {
			_, left := o.fields[name]
			if left && !s.read[name] && !strings.HasSuffix(name, "_token") && !slices.Contains(readHere, name) && effectless[name] == "" {
				refused[name] = append(refused[name], class)
			}
		}
	}
	want := []string{"clean_up_tokenization_spaces", "fix_mistral_regex", "init_inputs", "model_specific_special_tokens"}
	if got := slices.Sorted(maps.Keys(refused)); !slices.Equal(got, want) {
		for _, name := range got {
			t.Logf("%s of %s", name, refused[name])
		}
		t.Errorf("fields that nothing reads and no table names: %q, want %q", got, want)
	}
}

// TestAccount has fields that are warnings, errors and neither.
func TestAccount(t *testing.T) {
	data, err := os.ReadFile("testdata/bert/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := os.ReadFile("testdata/t5/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		data          []byte
		config        string
		refused, warn string // the field
	}{
		{data, `{"tokenizer_class": "BertTokenizer", "never_split": ["x"], "padding_side": "left", "name_or_path": "x", "do_basic_tokenize": true}`, "", ""},
		{data, `{"tokenizer_class": "BertTokenizer", "some_field": 1, "other": null}`, "", "some_field = 1"},
		{data, `{"tokenizer_class": "BertTokenizer", "clean_text": false}`, "", "clean_text = false"},
		{data, `{"tokenizer_class": "PreTrainedTokenizerFast", "fix_mistral_regex": false}`, "", ""},
		{data, `{"tokenizer_class": "PreTrainedTokenizerFast", "fix_mistral_regex": true}`, "fix_mistral_regex", ""},
		{data, `{"tokenizer_class": "PreTrainedTokenizerFast", "init_inputs": []}`, "", ""},
		{data, `{"tokenizer_class": "PreTrainedTokenizerFast", "init_inputs": [1]}`, "init_inputs", ""},
		{data, `{"tokenizer_class": "BertTokenizer", "model_input_names": ["input_ids", "attention_mask"]}`, "", ""},
		{data, `{"tokenizer_class": "BertTokenizer", "model_input_names": null}`, "model_input_names", ""},
		{data, `{"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": "input_ids"}`, "model_input_names", ""},
		{data, `{"tokenizer_class": "BertTokenizer", "do_lower_case": null}`, "do_lower_case", ""},
		{data, `{"tokenizer_class": "WordsInPython", "x": 1}`, "", "x = 1"},
		{data, `{"tokenizer_class": "CTRLTokenizer"}`, "", "CTRLTokenizer"},
		{pieces, `{"tokenizer_class": "T5Tokenizer", "clean_up_tokenization_spaces": true}`, "", "clean_up_tokenization_spaces"},
		{data, `{"tokenizer_class": "BertTokenizer", "clean_up_tokenization_spaces": true}`, "", ""},
	} {
		fsys := fstest.MapFS{"tokenizer.json": {Data: c.data}, "tokenizer_config.json": {Data: []byte(c.config)}}
		tok, err := OpenFS(fsys)
		switch {
		case c.refused != "":
			if !errors.Is(err, fault.ErrConfig) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: error %v, want one about %s", c.config, err, c.refused)
			}
		case err != nil:
			t.Errorf("%s: %v", c.config, err)
		default:
			warnings := tok.Warnings()
			if (c.warn == "") != (len(warnings) == 0) || c.warn != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], c.warn)) {
				t.Errorf("%s: warnings %q, want one about %q", c.config, warnings, c.warn)
			}
		}
		if _, err := (Opening{AsWritten: true, Fields: map[string]json.RawMessage{}}).OpenFS(fsys); err != nil {
			t.Errorf("%s, as written: %v", c.config, err)
		}
	}
}

// TestEmptyClass opens a folder whose tokenizer_class is an empty string, of which transformers
// makes the class without rules of its own, and so no segment ids; null is as if the field were
// missing.
func TestEmptyClass(t *testing.T) {
	data, err := os.ReadFile("testdata/bert/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		beside, config string
		want           bool
	}{
		{`{"tokenizer_class": ""}`, `{"model_type": "bert"}`, true}, {`{"tokenizer_class": null}`, `{"model_type": "bert"}`, false}, {`{}`, `{"model_type": "bert"}`, false},
		{`{"tokenizer_class": ""}`, `{"model_type": "bert", "tokenizer_class": "BertTokenizer"}`, true}, {`{}`, `{"model_type": "bert", "tokenizer_class": ""}`, true},
	} {
		tok, err := OpenFS(fstest.MapFS{"tokenizer.json": {Data: data}, "tokenizer_config.json": {Data: []byte(c.beside)}, "config.json": {Data: []byte(c.config)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Config().NoSegments; got != c.want {
			t.Errorf("%s beside %s: NoSegments = %v, want %v", c.beside, c.config, got, c.want)
		}
	}
}
