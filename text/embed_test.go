package text

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// readExpected reads what scripts/pipelines.py recorded.
func readExpected(t testing.TB, folder string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// close32 fails unless got is want within tolerance times the largest of want, or 1.
func close32(t testing.TB, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	scale := 1.0
	for _, x := range want {
		scale = max(scale, math.Abs(float64(x)))
	}
	for i, x := range got {
		if d := math.Abs(float64(x - want[i])); !(d <= tolerance*scale) {
			t.Fatalf("%s[%d]: %v, want %v", what, i, x, want[i])
		}
	}
}

type expectedVectors struct {
	Texts                              []string
	Vectors, Queries, Documents, Dim12 [][]float32
	MaxSeqLength                       int `json:"max_seq_length"`
}

// TestEmbed compares with sentence-transformers, on every tier, number of threads and size of
// batches.
func TestEmbed(t *testing.T) {
	ctx := context.Background()
	for _, folder := range []string{"embed", "embed-roberta", "embed-prompt", "embed-last", "embed-static"} {
		var want expectedVectors
		readExpected(t, folder, &want)
		for _, isa := range kernels.Supported() {
			for _, batch := range []int{1, 16, 4096} {
				t.Run(fmt.Sprintf("%s/%v/%d", folder, isa, batch), func(t *testing.T) {
					defer machine.Use(isa)()
					var first [][]float32
					for threads := 1; threads <= 3; threads++ {
						e, err := OpenEmbedder("testdata/"+folder, Options{Threads: threads, BatchTokens: batch})
						if err != nil {
							t.Fatal(err)
						}
						got, err := outputs(e.Embed(ctx, Texts(want.Texts...), EmbedOptions{}))
						if err != nil {
							t.Fatal(err)
						}
						for i := range got {
							close32(t, fmt.Sprint("text ", i), got[i], want.Vectors[i], 1e-5)
							for j := range got[i] {
								if first != nil && got[i][j] != first[i][j] {
									t.Fatalf("text %d: other bits on %d threads", i, threads)
								}
							}
						}
						first = got
					}
				})
			}
		}
		short, err := OpenEmbedder("testdata/"+folder, Options{Dim: 12})
		if err != nil {
			t.Fatal(err)
		}
		got, err := outputs(short.Embed(ctx, Texts(want.Texts...), EmbedOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			close32(t, fmt.Sprint("dim 12, text ", i), got[i], want.Dim12[i], 1e-5)
		}
	}
}

// TestModel2Vec compares with model2vec, which cuts texts by characters and then by tokens, and
// leaves unknown ones out. Files that do not say a length have 512, and those with null none.
func TestModel2Vec(t *testing.T) {
	var want struct {
		Texts   []string
		Lengths []int
		Vectors [][][]float32
	}
	readExpected(t, "embed-model2vec", &want)
	for i, n := range want.Lengths {
		e, err := OpenEmbedder("testdata/embed-model2vec", Options{MaxLength: n})
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Embed(t.Context(), Texts(want.Texts...), EmbedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for j, text := range want.Texts {
			close32(t, fmt.Sprintf("length %d, text %d", n, j), got.Outputs[j], want.Vectors[i][j], 1e-6)
			if over := utf8.RuneCountInString(text) > 5*n; over && !got.Counts.Cut[j] { // 5 is the median of the vocabulary
				t.Errorf("length %d, text %d: not cut", n, j)
			}
		}
	}
	for config, limit := range map[string]int{`{"normalize": true}`: 512, `{"normalize": true, "max_length": null}`: 0, `{"normalize": true, "max_length": 7}`: 7} {
		e, err := OpenEmbedder(".", Options{FS: overlay("embed-model2vec", map[string]string{"config.json": config})})
		if err != nil || e.MaxTokens() != limit {
			t.Errorf("%s: at most %d tokens, %v, want %d", config, e.MaxTokens(), err, limit)
		}
	}
	for _, config := range []string{`{"normalize": true, "max_length": 0}`, `{"normalize": true, "max_length": "7"}`} {
		if _, err := OpenEmbedder(".", Options{FS: overlay("embed-model2vec", map[string]string{"config.json": config})}); !errors.Is(err, fault.ErrFormat) && !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func TestEmbedPrompts(t *testing.T) {
	for _, folder := range []string{"embed", "embed-prompt", "embed-last"} {
		var want expectedVectors
		readExpected(t, folder, &want)
		e, err := OpenEmbedder("testdata/"+folder, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			embed func(context.Context, []string) ([][]float32, error)
			want  [][]float32
		}{"queries": {embeds(e, "query"), want.Queries}, "documents": {embeds(e, "document"), want.Documents}} {
			got, err := c.embed(context.Background(), want.Texts)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				close32(t, fmt.Sprint(folder, " ", name, " ", i), got[i], c.want[i], 1e-5)
			}
		}
		if _, err := e.Embed(context.Background(), Texts(want.Texts...), EmbedOptions{Prompt: "nonsense"}); !errors.Is(err, fault.ErrInput) {
			t.Errorf("error %v, want a fault.ErrInput", err)
		}
	}
	split, err := OpenEmbedder("testdata/embed-prompt", Options{Long: LongSplit})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := split.Embed(context.Background(), Texts("x"), EmbedOptions{Prompt: "query"}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("error %v of prompts left out of parts of texts, want a fault.ErrOption", err)
	}
}

// TestEmbedLong splits, truncates and refuses.
func TestEmbedLong(t *testing.T) {
	ctx := context.Background()
	words := "the cat reads the long letter and the dog forgets it "
	long := strings.Repeat(words, 12)
	e, err := OpenEmbedder("testdata/embed", Options{Long: LongRefuse})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(ctx, Texts("short", long), EmbedOptions{}); !errors.Is(err, fault.ErrTooLong) {
		t.Errorf("error %v, want a fault.ErrTooLong", err)
	}
	split, err := OpenEmbedder("testdata/embed", Options{Long: LongSplit, MaxLength: 24, BatchTokens: 30})
	if err != nil {
		t.Fatal(err)
	}
	got, err := outputs(split.Embed(ctx, Texts(long, "short"), EmbedOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	// By hand: windows of 22 tokens between the special ones.
	tok := split.tokenizer
	enc, err := tok.Encode(long, plainTokens)
	if err != nil {
		t.Fatal(err)
	}
	mean := make([]float32, split.Dim())
	for at := 0; at < len(enc.IDs); at += 22 {
		part := enc.IDs[at:min(at+22, len(enc.IDs))]
		ids := append(append([]int{2}, part...), 3) // [CLS] and [SEP]
		v := make([]float32, split.Dim())
		if err := split.pool.Embed(new(models.Workspace), v, windows.Tokens([]*tokenizer.Encoding{{IDs: ids}})); err != nil {
			t.Fatal(err)
		}
		for j, x := range v {
			mean[j] += x * float32(len(part)+2)
		}
	}
	normalize(mean)
	close32(t, "split", got[0], mean, 1e-5)
	one, err := outputs(split.Embed(ctx, Texts("short"), EmbedOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	close32(t, "short", got[1], one[0], 1e-5)
}

// TestEmbedConcurrent shares an Embedder, under the race detector too.
func TestEmbedConcurrent(t *testing.T) {
	var want expectedVectors
	readExpected(t, "embed", &want)
	e, err := OpenEmbedder("testdata/embed", Options{Threads: 2, BatchTokens: 40})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				got, err := outputs(e.Embed(context.Background(), Texts(want.Texts...), EmbedOptions{}))
				if err != nil {
					t.Error(err)
					return
				}
				for i := range got {
					close32(t, fmt.Sprint("text ", i), got[i], want.Vectors[i], 1e-5)
				}
			}
		})
	}
	group.Wait()
}

// TestEmbedFiles changes the files that sentence-transformers keeps next to a model.
func TestEmbedFiles(t *testing.T) {
	ctx := context.Background()
	long := strings.Repeat("the committee translates the long letter ", 30)
	open := func(folder string, files map[string]string) *Embedder {
		t.Helper()
		e, err := OpenEmbedder(".", Options{FS: overlay(folder, files)})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	vector := func(embed func(context.Context, []string) ([][]float32, error), text string) []float32 {
		t.Helper()
		v, err := embed(ctx, []string{text})
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	plain := open("embed", nil)

	// The larger of two lengths, where max_seq_length says it; it may exceed the positions of a
	// model that computes them.
	for _, c := range []struct {
		folder, tokenizer, sentence string
		want                        int
	}{
		{"embed", `{"model_max_length": 8}`, `{"max_seq_length": 64}`, 64},
		{"embed", `{"model_max_length": 8}`, `{}`, 8},
		{"embed", `{"model_max_length": 512}`, `{}`, 96},
		{"embed", `{"model_max_length": 512}`, `{"max_seq_length": 128}`, 96},
		{"embed-last", `{"model_max_length": 512}`, `{"max_seq_length": 128}`, 128},
		{"embed-last", `{"model_max_length": 512}`, `{}`, 64},
	} {
		e := open(c.folder, map[string]string{"tokenizer_config.json": c.tokenizer, "sentence_bert_config.json": c.sentence})
		if n, err := e.Tokens([]string{long}); n != c.want || err != nil {
			t.Errorf("%s with %s and %s: %d tokens, %v, want %d", c.folder, c.tokenizer, c.sentence, n, err, c.want)
		}
	}

	if _, err := OpenEmbedder(".", Options{FS: overlay("embed-last", map[string]string{"tokenizer_config.json": `{"model_max_length": 0}`})}); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("error %v of model_max_length 0, want a fault.ErrFormat", err)
	}

	cut := open("embed", map[string]string{"config_sentence_transformers.json": `{"truncate_dim": 5}`})
	close32(t, "truncate_dim", vector(embeds(cut, ""), "a text"), vector(embeds(plain, ""), "a text")[:5], 1e-6)

	lower := open("embed", map[string]string{"sentence_bert_config.json": `{"do_lower_case": true}`})
	close32(t, "do_lower_case", vector(embeds(lower, ""), "THE [MASK] Cat"), vector(embeds(plain, ""), "the [MASK] cat"), 1e-6)

	prompted := open("embed", map[string]string{"config_sentence_transformers.json": `{"prompts": {"a": "the cat ", "": "the dog ", "passage": "letters "}, "default_prompt_name": "a"}`})
	close32(t, "the default prompt", vector(embeds(prompted, ""), "reads"), vector(embeds(plain, ""), "the cat reads"), 1e-6)
	close32(t, "no prompt of questions", vector(embeds(prompted, "query"), "reads"), vector(embeds(plain, ""), "reads"), 1e-6)
	close32(t, "no prompt of documents", vector(embeds(prompted, "document"), "reads"), vector(embeds(plain, ""), "reads"), 1e-6)
	// A special token at the end of a prompt that is not included counts, whether the text has it
	// or the tokenizer adds it.
	file, err := os.ReadFile("testdata/embed-prompt/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	var tokens map[string]any
	if err := json.Unmarshal(file, &tokens); err != nil {
		t.Fatal(err)
	}
	tokens["post_processor"] = nil
	if file, err = json.Marshal(tokens); err != nil {
		t.Fatal(err)
	}
	const config = `{"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}` // which has no rules of its own
	bare := open("embed-prompt", map[string]string{"tokenizer.json": string(file), "tokenizer_config.json": config})
	for prompt, want := range map[string]int{"the cat": 3, "the cat [SEP]": 3, "[SEP] the": 2, "the cat [MASK]": 3} {
		if n, err := bare.promptLength(prompt); n != want || err != nil {
			t.Errorf("prompt %q: %d tokens, %v, want %d", prompt, n, err, want)
		}
	}

	// A prompt is as long as texts can be: after it is the token that ends a text, if there is one.
	short := map[string]string{"sentence_bert_config.json": `{"max_seq_length": 4}`}
	if v := vector(embeds(open("embed-prompt", short), "query"), "x"); len(v) != 4*32 {
		t.Errorf("a vector of %d elements", len(v))
	}
	short["tokenizer.json"], short["tokenizer_config.json"] = string(file), config
	if _, err := open("embed-prompt", short).Embed(ctx, Texts("x"), EmbedOptions{Prompt: "query"}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("error %v of a prompt that leaves no token, want a fault.ErrInput", err)
	}

	unnamed := open("embed", map[string]string{"config_sentence_transformers.json": `{"prompts": {"": "the dog "}}`})
	close32(t, "no default", vector(embeds(unnamed, ""), "reads"), vector(embeds(plain, ""), "reads"), 1e-6)
}

// TestEmbedBare opens folders that do not say how vectors are made.
func TestEmbedBare(t *testing.T) {
	var warned []string
	warn := func(w string) { warned = append(warned, w) }
	if _, err := OpenEmbedder(".", Options{FS: overlay("embed", map[string]string{"modules.json": ""}), Model: models.Options{Warn: warn}}); err != nil || len(warned) != 1 || !strings.Contains(warned[0], "modules.json") {
		t.Errorf("without modules.json: error %v, warnings %q, want one about that", err, warned)
	}
	for folder, class := range map[string]string{"classify": "BertForSequenceClassification", "tokens": "ForTokenClassification", "rerank": "BertForSequenceClassification"} {
		if _, err := OpenEmbedder("testdata/"+folder, Options{}); !errors.Is(err, fault.ErrFolder) || !strings.Contains(err.Error(), class) {
			t.Errorf("%s: error %v, want a fault.ErrFolder that names %s", folder, err, class)
		}
	}
}

func TestEmbedErrors(t *testing.T) {
	for name, f := range map[string]func() error{
		"no folder":  func() error { _, err := OpenEmbedder("testdata/none", Options{}); return err },
		"a file":     func() error { _, err := OpenEmbedder("embed.go", Options{}); return err },
		"no encoder": func() error { _, err := OpenEmbedder("testdata/image", Options{}); return err },
	} {
		if err := f(); !errors.Is(err, fault.ErrFolder) {
			t.Errorf("%s: error %v, want a fault.ErrFolder", name, err)
		}
	}
	for name, o := range map[string]Options{"threads": {Threads: -1}, "dim": {Dim: 33}, "batch": {BatchTokens: -1}, "length": {MaxLength: -1}, "stride": {Long: LongSplit, Stride: -1}} {
		if _, err := OpenEmbedder("testdata/embed", o); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: error %v, want a fault.ErrOption", name, err)
		}
	}
	e, err := OpenEmbedder("testdata/embed", Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Embed(ctx, Texts("x"), EmbedOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if v, err := outputs(e.Embed(context.Background(), nil, EmbedOptions{})); err != nil || len(v) != 0 {
		t.Errorf("no texts: %v, %v", v, err)
	}
}

// TestEmbedPooledGGUF opens a GGUF file of a language model without a pooling: with the option its
// vectors are those of the same file with that pooling, which are compared with those of
// transformers.
func TestEmbedPooledGGUF(t *testing.T) {
	file, err := os.ReadFile("../models/testdata/gguf-encoders/qwen3-embed.gguf")
	if err != nil {
		t.Fatal(err)
	}
	write := func(pooling byte) string {
		path := filepath.Join(t.TempDir(), "model.gguf")
		const key = "qwen3.pooling_type\x04\x00\x00\x00"
		at := bytes.Index(file, []byte(key)) + len(key)
		data := bytes.Clone(file)
		data[at] = pooling
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := OpenEmbedder(write(0), Options{}); !errors.Is(err, fault.ErrFolder) || !strings.Contains(err.Error(), "pooling_type") {
		t.Errorf("without a pooling: error %v, want a fault.ErrFolder that names pooling_type", err)
	}
	for mode, number := range map[string]byte{"mean": 1, "cls": 2, "lasttoken": 3} {
		want, err := OpenEmbedder(write(number), Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := OpenEmbedder(write(0), Options{Pooling: mode})
		if err != nil {
			t.Errorf("%s: %v", mode, err)
			continue
		}
		ids := []Input{{IDs: []int{5, 9, 3, 12}}}
		vector := func(e *Embedder) []float32 {
			v, err := outputs(e.Embed(context.Background(), ids, EmbedOptions{}))
			if err != nil {
				t.Fatal(err)
			}
			return v[0]
		}
		close32(t, mode, vector(e), vector(want), 1e-6)
		states, err := outputs(e.EmbedTokens(context.Background(), ids, EmbedOptions{}))
		if err != nil || len(states[0]) != 4 {
			t.Errorf("%s: hidden states %v, error %v", mode, states, err)
		}
	}
}
