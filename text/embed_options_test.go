package text

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
)

// TestEmbedSides: which end of a long text an Embedder keeps, and how much of queries and
// documents.
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

// TestContradictions has folders whose class would override by a default what tokenizer.json says:
// an error, with an option that opens them.
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

// filesOf returns a folder in memory.
func filesOf(t *testing.T, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(os.DirFS(dir), path)
		files[path] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestPooling: an option says of a folder that says nothing what a pooling module would; no other
// word, and not against what a folder says.
func TestPooling(t *testing.T) {
	t.Parallel()
	ctx, texts := context.Background(), []string{"hello world", "the cat reads in the garden"}
	said := filesOf(t, "testdata/embed")
	silent := maps.Clone(said)
	delete(silent, "modules.json")
	said["modules.json"] = &fstest.MapFile{Data: []byte(`[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
		{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]`)}
	different := map[string]bool{}
	for _, mode := range []string{"cls", "lasttoken", "max", "mean", "mean_sqrt_len_tokens", "weightedmean"} {
		said["1_Pooling/config.json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"word_embedding_dimension": 32, "pooling_mode": %q}`, mode)}
		want, err := OpenEmbedder(".", Options{FS: said})
		if err != nil {
			t.Fatal(err)
		}
		warned := ""
		got, err := OpenEmbedder(".", Options{FS: silent, Pooling: mode, Model: models.Options{Warn: func(w string) { warned += w }}})
		if err != nil {
			t.Fatal(err)
		}
		if warned != "" {
			t.Errorf("%s: warning %q of what was said", mode, warned)
		}
		a, err := outputs(want.Embed(ctx, Texts(texts...), EmbedOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		b, err := outputs(got.Embed(ctx, Texts(texts...), EmbedOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if !slices.Equal(a[i], b[i]) {
				t.Errorf("%s: text %d: %v, want %v", mode, i, b[i], a[i])
			}
		}
		different[fmt.Sprint(b)] = true
	}
	if len(different) != 6 {
		t.Errorf("%d different results of 6 modes", len(different))
	}
	var e *fault.Error
	if _, err := OpenEmbedder(".", Options{FS: silent, Pooling: "median"}); !errors.Is(err, fault.ErrOption) || !errors.As(err, &e) || e.Value != "median" || !strings.Contains(err.Error(), "weightedmean") {
		t.Errorf("no mode: %v", err)
	}
	if _, err := OpenEmbedder(".", Options{FS: said, Pooling: "mean"}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("against the folder: %v", err)
	}
}

// TestPromptNames: query and document name a prompt and a length, also where the folder has no such
// prompts.
func TestPromptNames(t *testing.T) {
	t.Parallel()
	ctx, texts := context.Background(), []string{"hello world", "the cat reads"}
	bare := filesOf(t, "testdata/embed")
	delete(bare, "config_sentence_transformers.json")
	for name, files := range map[string]fs.FS{"prompts": os.DirFS("testdata/embed"), "none": bare} {
		e, err := OpenEmbedder(".", Options{FS: files})
		if err != nil {
			t.Fatal(err)
		}
		if has := slices.Contains(e.Prompts(), "query"); has != (name == "prompts") {
			t.Fatalf("%s: prompts %q", name, e.Prompts())
		}
		for prompt, limit := range map[string]int{"query": e.pool.QueryLength, "document": e.pool.DocumentLength, "": 0} {
			before := e.pool.Prompts[prompt]
			if prompt == "" {
				before = e.pool.DefaultPrompt
			}
			want, _, err := e.embed(ctx, before, Texts(texts...), limit, EmbedOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := outputs(e.Embed(ctx, Texts(texts...), EmbedOptions{Prompt: prompt}))
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, prompt %q: %v, %v", name, prompt, got, err)
			}
		}
		if _, err := e.Embed(ctx, Texts(texts...), EmbedOptions{Prompt: "nonsense"}); !errors.Is(err, fault.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInputProgress: a call reports each finished text, in order, and reports nothing after it has
// returned.
func TestInputProgress(t *testing.T) {
	t.Parallel()
	e, err := OpenEmbedder("testdata/embed", Options{BatchTokens: 32, Long: LongSplit, MaxLength: 8})
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 40)
	for i := range texts {
		texts[i] = strings.Repeat("the cat reads ", i%7)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	at, returned := 0, false
	options := func(stop int) EmbedOptions {
		at, returned = 0, false
		return EmbedOptions{Prompt: "document", InputOptions: InputOptions{Progress: func(done, all int) {
			mu.Lock()
			defer mu.Unlock()
			if at++; done != at || all != len(texts) || returned {
				t.Errorf("%d of %d after %d calls, returned %v", done, all, at-1, returned)
			}
			if done == stop {
				cancel()
			}
		}}}
	}
	got, err := outputs(e.Embed(ctx, Texts(texts...), options(-1)))
	if err != nil || at != len(texts) {
		t.Fatalf("%d of %d, %v", at, len(texts), err)
	}
	want, err := outputs(e.Embed(ctx, Texts(texts...), EmbedOptions{Prompt: "document"}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		close32(t, fmt.Sprint("text ", i), got[i], want[i], 1e-6)
	}
	if _, err := e.Embed(ctx, Texts(texts...), options(3)); err != nil && !errors.Is(err, context.Canceled) { // the rest may be done before
		t.Errorf("error %v, want that of the context", err)
	}
	mu.Lock()
	returned = true
	mu.Unlock()
}
