// Which end of a long text an Embedder keeps, and how much of queries and documents.

package text

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

func TestEmbedSides(t *testing.T) {
	ctx := context.Background()
	const config, sentence = "tokenizer_config.json", "sentence_bert_config.json"
	words := strings.Fields("the student reads the letter again the committee reads the question")
	text := strings.Join(words, " ")
	none := map[string]string{"config_sentence_transformers.json": `{}`}
	open := func(files map[string]string) *Embedder {
		t.Helper()
		for name, file := range none {
			files[name] = file
		}
		e, err := OpenEmbedder(".", Options{FS: overlay("embed", files)})
		if err != nil {
			t.Fatalf("%v: %v", files, err)
		}
		return e
	}
	plain := open(map[string]string{})
	if n, err := plain.Tokens([]string{text}); n != len(words)+2 || err != nil {
		t.Fatalf("%d tokens, %v, want one of each of %d words", n, err, len(words))
	}
	file, err := os.ReadFile("testdata/embed/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	data := string(file)
	truncated := strings.Replace(data, `"truncation": null`, `"truncation": {"direction": "Left", "max_length": 20, "strategy": "LongestFirst", "stride": 0}`, 1)
	if truncated == data {
		t.Fatal("tokenizer.json has no truncation that is null")
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string // vectors of a text, a query and a document are those of these words
	}{
		{"as it is", map[string]string{sentence: `{"max_seq_length": 6}`}, []string{"the student reads the"}},
		{"tokenizer_config.json", map[string]string{sentence: `{"max_seq_length": 6}`, config: `{"truncation_side": "left"}`}, []string{"committee reads the question"}},
		{"keyword arguments", map[string]string{sentence: `{"max_seq_length": 6, "processor_kwargs": {"truncation_side": "left"}}`, config: `{"truncation_side": "right"}`}, []string{"committee reads the question"}},
		{"tokenizer.json", map[string]string{sentence: `{"max_seq_length": 6}`, "tokenizer.json": truncated}, []string{"committee reads the question"}},
		{"both files", map[string]string{sentence: `{"max_seq_length": 6}`, "tokenizer.json": truncated, config: `{"truncation_side": "right"}`}, []string{"the student reads the"}},
		{"queries and documents", map[string]string{sentence: `{"max_seq_length": 6, "query_length": 4, "document_length": 7}`}, []string{"the student reads the", "the student", "the student reads the letter"}},
		{"limit that is not asked for", map[string]string{sentence: `{"max_seq_length": 6}`, config: `{"model_max_length": 0}`}, []string{"the student reads the"}},
	} {
		e := open(c.files)
		for i, embed := range []func(context.Context, []string) ([][]float32, error){embeds(e, ""), embeds(e, "query"), embeds(e, "document")} {
			have, err := embed(ctx, []string{text})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			want, err := outputs(plain.Embed(ctx, Texts(c.want[min(i, len(c.want)-1)]), EmbedOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			close32(t, c.name, have[0], want[0], 1e-6)
		}
	}
	for _, c := range []struct {
		folder, text string
		want         error
	}{
		{"embed", `{"truncation_side": "top"}`, fault.ErrFormat},
		{"embed", `{"split_special_tokens": true}`, fault.ErrConfig},
	} {
		if _, err := OpenEmbedder(".", Options{FS: overlay(c.folder, map[string]string{config: c.text})}); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.text, err, c.want)
		}
	}
}

// TestContradictions has folders whose class would override by a default what tokenizer.json says: an error,
// with an option that opens them.
func TestContradictions(t *testing.T) {
	for _, c := range []struct {
		folder, config string
		agree          bool
	}{
		{"embed", `{"tokenizer_class": "BertTokenizer", "do_lower_case": true, "strip_accents": true, "clean_text": false, "cls_token": "[CLS]"}`, true},
		{"embed", `{}`, true}, // the class is that of the model_type
		{"embed", `{"do_lower_case": false}`, true},
		{"embed", `{"cls_token": "[SEP]"}`, false},
		{"embed", `{"unk_token": "[MASK]"}`, false},
		{"embed", `{"tokenizer_class": "BertTokenizer", "cls_token": "[SEP]", "unk_token": "[MASK]"}`, true},
		{"embed", `{"tokenizer_class": "LukeTokenizer"}`, false},
		{"embed-roberta", `{"tokenizer_class": "RobertaTokenizer"}`, true},
		{"embed-roberta", `{"tokenizer_class": "RobertaTokenizer", "add_prefix_space": true}`, true},
		{"embed-last", `{"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": false}`, true},
	} {
		_, err := OpenEmbedder(".", Options{FS: overlay(c.folder, map[string]string{"tokenizer_config.json": c.config})})
		if c.agree && err != nil || !c.agree && !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s with %s: error %v, agrees: %v", c.folder, c.config, err, c.agree)
		}
		if _, err := OpenEmbedder(".", Options{FS: overlay(c.folder, map[string]string{"tokenizer_config.json": c.config}), TokenizerAsWritten: true}); err != nil {
			t.Errorf("%s with %s, as written: %v", c.folder, c.config, err)
		}
	}
}
