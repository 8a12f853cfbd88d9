package tokenizer

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
)

// besideCase is a folder of testdata with other files beside its tokenizer.json, and what
// transformers gives; scripts/configs/files_tokenizers.py -write wrote them.
type besideCase struct {
	Folder string                     `json:"folder"`
	Files  map[string]json.RawMessage `json:"files"`
	Texts  []testCase                 `json:"texts"`
}

// fsys returns the folder of a case.
func (c *besideCase) fsys(tb testing.TB) fs.FS {
	data, err := os.ReadFile("testdata/" + c.Folder + "/tokenizer.json")
	if err != nil {
		tb.Fatal(err)
	}
	out := fstest.MapFS{"tokenizer.json": {Data: data}}
	for name, text := range c.Files {
		out[name] = &fstest.MapFile{Data: text}
	}
	return out
}

// withoutRule are the classes that no rule builds, and one that builds nothing of this vocabulary.
var withoutRule = []string{"EsmcTokenizer", "LukeTokenizer", "MBart50Tokenizer", "MLukeTokenizer", "NougatTokenizer", "SeamlessM4TTokenizer", "SplinterTokenizer"}

// TestBeside has files beside tokenizer.json, with each class that builds a tokenizer from a
// vocabulary.
func TestBeside(t *testing.T) {
	data, err := os.ReadFile("testdata/beside.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []besideCase
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) < 50 {
		t.Fatalf("%d cases, error %v", len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Folder+" "+string(c.Files["tokenizer_config.json"]), func(t *testing.T) {
			tok, err := OpenFS(c.fsys(t))
			known := err != nil && slices.ContainsFunc(withoutRule, func(class string) bool { return strings.Contains(err.Error(), class) })
			if known && errors.Is(err, fault.ErrConfig) && strings.Contains(err.Error(), "TokenizerAsWritten") {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			for _, text := range c.Texts {
				text.check(t, tok)
			}
		})
	}
}

// TestBesideTokens has folders whose tokens are named beside tokenizer.json alone, or whose class
// is that of another file, with transformers' ids.
func TestBesideTokens(t *testing.T) {
	for folder, c := range map[string]struct {
		text string
		want []int
	}{
		"added-flags":          {"a <|begin_of_text|> b", []int{560, 64, 560, 65}},
		"additional-special":   {"<|user|>hi<|assistant|>", []int{567, 71, 72, 568}},
		"class-gemma-on-llama": {"hello world", []int{1, 382, 407, 328, 393, 387, 540}},
		"mask-in-vocab":        {"hello [NEW1] x", []int{2, 139, 477, 28, 31, 605, 155, 3}},
		"pad-only-in-config":   {"a<pad>b", []int{560, 64, 565, 65}},
		"roberta-ends":         {"hello world", []int{1, 261, 286, 82, 272, 266, 423, 3}},
	} {
		tok, err := Open("testdata/beside/" + folder)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		e, err := tok.Encode(c.text, Options{})
		if err != nil || !slices.Equal(e.IDs, c.want) {
			t.Errorf("%s: %q: got %v, error %v, want %v", folder, c.text, e, err, c.want)
		}
	}
}

// TestAsWritten has folders of which tokenizer.json says what no other file does.
func TestAsWritten(t *testing.T) {
	cased := strings.NewReplacer(`"lowercase": true`, `"lowercase": false`, `"lowercase":true`, `"lowercase":false`)
	for _, c := range []struct {
		name, folder, config string
		change               *strings.Replacer
		refused              bool
	}{
		{"a cased BERT alone", "bert", "", cased, true},
		{"a cased BERT with its class", "bert", `{"tokenizer_class": "BertTokenizer"}`, cased, true},
		{"a cased BERT whose files agree", "bert", `{"do_lower_case": false}`, cased, false},
		{"an uncased BERT alone", "bert", "", strings.NewReplacer(), false},
	} {
		data, err := os.ReadFile("testdata/bert/tokenizer.json")
		if err != nil {
			t.Fatal(err)
		}
		fsys := fstest.MapFS{"tokenizer.json": {Data: []byte(c.change.Replace(string(data)))}, "config.json": {Data: []byte(`{"model_type": "bert"}`)}}
		if c.config != "" {
			fsys["tokenizer_config.json"] = &fstest.MapFile{Data: []byte(c.config)}
		}
		if _, err := OpenFS(fsys); c.refused != errors.Is(err, fault.ErrConfig) || c.refused && !strings.Contains(err.Error(), "TokenizerAsWritten") {
			t.Errorf("%s: error %v, want one that names the option: %v", c.name, err, c.refused)
		}
		written, err := Opening{AsWritten: true}.OpenFS(fsys)
		if err != nil {
			t.Errorf("%s as written: %v", c.name, err)
			continue
		}
		parsed, err := Parse(fsys["tokenizer.json"].Data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := written.Encode("Hello World", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want, err := parsed.Encode("Hello World", Options{}); err != nil || !slices.Equal(got.IDs, want.IDs) {
			t.Errorf("%s as written: %v, want %v, error %v", c.name, got.IDs, want.IDs, err)
		}
	}
}
