package tokenizer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
)

// TestSentencePieceClasses: every class has a folder in testdata/pieces.
func TestSentencePieceClasses(t *testing.T) {
	for class := range spmClasses {
		if found, _ := filepath.Glob("testdata/pieces/" + class + "-*/tokenizer_cases.json"); len(found) == 0 {
			t.Errorf("no folder has a %s", class)
		}
	}
}

// TestSentencePieceClass: the class comes from tokenizer_class and model_type as in transformers,
// and one that is unknown is an error that names it.
func TestSentencePieceClass(t *testing.T) {
	model, err := os.ReadFile("testdata/pieces/LlamaTokenizer-bpe/tokenizer.model")
	if err != nil {
		t.Fatal(err)
	}
	const t5 = "spiece.model"
	for _, x := range []struct {
		file, class, config string
		is                  error
		says                string
	}{
		{"tokenizer.model", `{"tokenizer_class":"LlamaTokenizerFast"}`, `{"model_type":"llama"}`, nil, "first"},
		{"tokenizer.model", `{}`, `{"model_type":"llama"}`, nil, "always"},
		{"tokenizer.model", `{"tokenizer_class":"LlamaTokenizer"}`, `{"model_type":"mistral"}`, nil, "always"},
		{"tokenizer.model", `{"tokenizer_class":"LlamaTokenizer","legacy":true}`, `{}`, nil, "always"},
		{"tokenizer.model", `{"tokenizer_class":"FunnyTokenizer"}`, `{}`, fault.ErrConfig, `"FunnyTokenizer"`},
		{"tokenizer.model", `{}`, `{"model_type":"funny"}`, fault.ErrConfig, `"funny"`},
		{"tokenizer.model", `{}`, `{}`, fault.ErrConfig, "tokenizer_class"},
		{t5, `{"tokenizer_class":"LlamaTokenizer"}`, `{}`, fault.ErrConfig, "tokenizer.model"},
		{t5, `{"tokenizer_class":"T5Tokenizer","eos_token":null}`, `{}`, fault.ErrConfig, "eos_token"},
		{t5, `{"tokenizer_class":"T5Tokenizer","extra_ids":1000000}`, `{}`, fault.ErrConfig, "extra_ids"},
		{t5, `{"tokenizer_class":"PegasusTokenizer","offset":1000000}`, `{}`, fault.ErrConfig, "offset"},
		{"tokenizer.model", `{"tokenizer_class":"LlamaTokenizer","added_tokens_decoder":{"9":{"content":"new"}}}`, `{}`, fault.ErrFormat, `"new" has id 9`},
		{"tokenizer.model", `{"tokenizer_class":"LlamaTokenizer"}`, `{"model_type":7}`, fault.ErrFormat, "model_type"},
	} {
		fsys := fstest.MapFS{x.file: {Data: model}, "tokenizer_config.json": {Data: []byte(x.class)}, "config.json": {Data: []byte(x.config)}}
		tok, err := OpenFS(fsys)
		if x.is != nil {
			if !errors.Is(err, x.is) || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%s %s %s: %v, want %v that says %s", x.file, x.class, x.config, err, x.is, x.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", x.class, x.config, err)
			continue
		}
		// where ▁ is put: "first" at the beginning alone, "always" after a special token too
		e, err := tok.Encode("a<s>a", Options{Tokens: true})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]string{"first": {"▁a", "<s>", "a"}, "always": {"▁a", "<s>", "▁a"}}[x.says]
		if strings.Join(e.Tokens, "") != strings.Join(want, "") {
			t.Errorf("%s %s: %q, want %q", x.class, x.config, e.Tokens, want)
		}
	}
}

// TestUnigramOfNoClass: tokens of tokenizer_config.json beside pieces that no class places.
func TestUnigramOfNoClass(t *testing.T) {
	model := must(os.ReadFile("testdata/pieces/T5Tokenizer-unigram/spiece.model"))
	for added, want := range map[string]error{"": nil, `, "added_tokens_decoder": {"9": {"content": "new"}}`: fault.ErrFormat} {
		_, err := OpenFS(fstest.MapFS{"tokenizer.model": {Data: model}, "tokenizer_config.json": {Data: []byte(`{"tokenizer_class": "TokenizersBackend"` + added + "}")}})
		if !errors.Is(err, want) {
			t.Errorf("with%s: error %v, want %v", added, err, want)
		}
	}
}

// TestUnknownClass: a class that is unknown is an error that names it and the files of the folder.
func TestUnknownClass(t *testing.T) {
	for files, contents := range map[string][]string{
		"vocab.txt":                 {"[UNK]\na"},
		"vocab.json and merges.txt": {`{"a":0}`, "#version: 0.2\n"},
	} {
		fsys := fstest.MapFS{"tokenizer_config.json": {Data: []byte(`{"tokenizer_class":"FunnyTokenizer"}`)}}
		for i, name := range strings.Split(files, " and ") {
			fsys[name] = &fstest.MapFile{Data: []byte(contents[i])}
		}
		want := fmt.Sprintf("tokenizer_class = %q: not supported with %s alone", "FunnyTokenizer", files)
		if _, err := OpenFS(fsys); !errors.Is(err, fault.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestSentencePieceDamaged: a model that is cut short or changed gives an error or a tokenizer, and
// no panic.
func TestSentencePieceDamaged(t *testing.T) {
	folders, _ := filepath.Glob("testdata/pieces/*")
	for _, dir := range folders {
		fsys := fstest.MapFS{}
		name := ""
		for _, e := range must(os.ReadDir(dir)) {
			fsys[e.Name()] = &fstest.MapFile{Data: must(os.ReadFile(filepath.Join(dir, e.Name())))}
			if strings.HasSuffix(e.Name(), ".model") {
				name = e.Name()
			}
		}
		whole := fsys[name].Data
		for n := 0; n < len(whole); n += 1 + len(whole)/40 {
			changed := slices.Clone(whole)
			changed[n] ^= 1 << (n % 8)
			for _, data := range [][]byte{whole[:n], changed} {
				fsys[name] = &fstest.MapFile{Data: data}
				tok, err := OpenFS(fsys)
				checkError(t, err)
				if err == nil {
					tok.Encode("a <s>b ﬁ", Options{Offsets: Bytes})
				}
			}
		}
		fsys[name] = &fstest.MapFile{Data: whole}
		if _, err := OpenFS(fsys); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := OpenFS(fstest.MapFS{"tokenizer.model": &fstest.MapFile{Data: nil}, "tokenizer_config.json": &fstest.MapFile{Data: []byte(`{"tokenizer_class":"LlamaTokenizer"}`)}}); !errors.Is(err, fault.ErrFormat) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty model: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
