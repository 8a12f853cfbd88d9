package text

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/audio"
)

type expectedGenerate struct {
	Prompts, Texts []string
	Chat           []Message
	Rendered       string
	MaxTokens      int `json:"max_tokens"`
}

func TestGenerate(t *testing.T) {
	ctx := context.Background()
	var want expectedGenerate
	readExpected(t, "generate", &want)
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	opts := GenerateOptions{MaxTokens: want.MaxTokens}
	for i, p := range want.Prompts {
		got, err := textOf(g.Generate(ctx, p, opts))
		if err != nil || got != want.Texts[i] {
			t.Errorf("prompt %d: %q, %v, want %q", i, got, err, want.Texts[i])
		}
	}
	prompt, err := g.Prompt(want.Chat, PromptOptions{})
	if err != nil || prompt != want.Rendered {
		t.Fatalf("prompt %q, %v, want %q", prompt, err, want.Rendered)
	}
	full := want.Texts[len(want.Texts)-1]
	got, err := Collect(g.Chat(ctx, want.Chat, opts))
	if err != nil || got.Text != full {
		t.Errorf("chat: %q, %v, want %q", got.Text, err, full)
	}
	// A stop string that several tokens make up.
	runes := []rune(full)
	stop := string(runes[len(runes)/2 : len(runes)/2+3])
	opts.Stop = []string{"never", stop}
	got, err = Collect(g.Chat(ctx, want.Chat, opts))
	if before, _, _ := strings.Cut(full, stop); err != nil || got.Text != before || got.Stop != stop {
		t.Errorf("stop %q: %q, %v, want %q", stop, got.Text, err, before)
	}
}

func TestGenerateSeeds(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	for seed := uint64(1); seed <= 8; seed++ {
		o := GenerateOptions{Sampling: generation.Sampling{Temperature: 1.5, TopK: 40, TopP: 0.95, Seed: seed}, MaxTokens: 12}
		a, err := textOf(g.Generate(context.Background(), "The", o))
		if err != nil {
			t.Fatal(err)
		}
		b, err := textOf(g.Generate(context.Background(), "The", o))
		if err != nil || a != b {
			t.Errorf("seed %d: %q and %q, %v", seed, a, b, err)
		}
		texts[a] = true
	}
	if len(texts) < 4 {
		t.Errorf("8 seeds gave %d texts", len(texts))
	}
	clear(texts)
	for range 8 {
		a, err := textOf(g.Generate(context.Background(), "The", GenerateOptions{Sampling: generation.Sampling{Temperature: 1.5}, MaxTokens: 12}))
		if err != nil {
			t.Fatal(err)
		}
		texts[a] = true
	}
	if len(texts) < 4 {
		t.Errorf("8 times without a seed gave %d texts", len(texts))
	}
}

func TestGenerateErrors(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{MaxLength: 20})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pieces := 0
	for _, err := range g.Generate(ctx, "The quick brown", GenerateOptions{}) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		if pieces++; pieces == 2 {
			cancel()
		}
	}
	if pieces < 2 || pieces > 3 {
		t.Errorf("%d pieces after cancelling at 2", pieces)
	}
	for name, c := range map[string]struct {
		prompt string
		opts   GenerateOptions
		want   error
	}{
		"long": {strings.Repeat("word ", 30), GenerateOptions{}, fault.ErrTooLong}, "empty": {"", GenerateOptions{}, fault.ErrInput},
		"top p": {"x", GenerateOptions{Sampling: generation.Sampling{TopP: 2}}, fault.ErrOption}, "stop": {"x", GenerateOptions{Stop: []string{""}}, fault.ErrOption},
	} {
		if _, err := textOf(g.Generate(context.Background(), c.prompt, c.opts)); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

func TestTranslate(t *testing.T) {
	for folder, prefix := range map[string]string{"translate": "", "summarize": "summarize: "} {
		t.Run(folder, func(t *testing.T) {
			var want struct {
				Texts, Greedy, Beam4 []string
				MaxTokens            int `json:"max_tokens"`
			}
			readExpected(t, folder, &want)
			tr, err := OpenTranslator("testdata/"+folder, Options{})
			if err != nil {
				t.Fatal(err)
			}
			o := TranslateOptions{Prefix: prefix}
			o.MaxTokens = want.MaxTokens
			for _, beams := range []int{1, 4} {
				o.Beams = beams
				got, err := translated(tr, context.Background(), want.Texts, o)
				if err != nil {
					t.Fatal(err)
				}
				for i := range got {
					if w := map[int][]string{1: want.Greedy, 4: want.Beam4}[beams][i]; got[i] != w {
						t.Errorf("%d beams, text %d: %q, want %q", beams, i, got[i], w)
					}
				}
			}
		})
	}
}

// TestTranslateTogether: texts of simultaneous calls share the decoder's steps, and each result is
// that of a call of its own.
func TestTranslateTogether(t *testing.T) {
	tr, err := OpenTranslator("testdata/translate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i := range 24 {
		texts = append(texts, strings.Repeat("this is a sentence of some words, ", i%5)+strings.Repeat("x", i))
	}
	o := TranslateOptions{GenerateOptions: GenerateOptions{MaxTokens: 20}}
	want := make([]string, len(texts))
	for i, text := range texts {
		if want[i], err = textOf(tr.Stream(t.Context(), text, o)); err != nil {
			t.Fatal(err)
		}
	}
	before := tr.Stats()
	var group sync.WaitGroup
	begun := make(chan struct{})
	first := sync.OnceFunc(func() {
		close(begun)
		for tr.Stats().Waiting < 2*textsAtOnce { // so that they begin together
			time.Sleep(time.Millisecond)
		}
	})
	group.Go(func() {
		held := o
		held.Hook = func([]float32, []int) { first() }
		if _, err := textOf(tr.Stream(t.Context(), "x", held)); err != nil {
			t.Error(err)
		}
	})
	<-begun
	for range 2 {
		group.Go(func() {
			if got, err := translated(tr, t.Context(), texts, o); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
	group.Wait()
	after := tr.Stats()
	if steps, tokens := after.Steps-before.Steps, after.Tokens-before.Tokens; steps > tokens/2 {
		t.Errorf("%d steps for %d tokens", steps, tokens)
	}
	if _, err := tr.Translate(t.Context(), []string{"a", ""}, TranslateOptions{Language: "none"}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("an unknown language: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.Translate(ctx, texts, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	yes, err := grammar.Regexp("(yes|no)")
	if err != nil {
		t.Fatal(err)
	}
	o.Grammar = yes
	if got, err := translated(tr, t.Context(), texts[:2], o); err != nil || !slices.Contains([]string{"yes", "no"}, got[1]) {
		t.Errorf("with a grammar: %q, %v", got, err)
	}
}

func TestTranscribe(t *testing.T) {
	var want struct {
		Sounds, Texts []string
		Language      string
		MaxTokens     int `json:"max_tokens"`
	}
	readExpected(t, "transcribe", &want)
	tr, err := OpenTranscriber("testdata/transcribe", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range want.Sounds {
		f, err := os.Open(filepath.Join("testdata/transcribe", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		samples, err := audio.ReadWAV(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := textOf(tr.Transcribe(context.Background(), samples, TranscribeOptions{Language: want.Language, MaxTokens: want.MaxTokens}))
		if err != nil || got != want.Texts[i] {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want.Texts[i])
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				got, err := textOf(tr.Transcribe(t.Context(), samples, TranscribeOptions{Language: want.Language, MaxTokens: want.MaxTokens}))
				if err != nil || got != want.Texts[i] {
					t.Errorf("%s beside others: %q, %v, want %q", name, got, err, want.Texts[i])
				}
			})
		}
		group.Wait()
	}
}

func TestImages(t *testing.T) {
	var want struct {
		Images  []string
		Results [][]Label
		Vectors [][]float32
	}
	readExpected(t, "image", &want)
	var files [][]byte
	for _, name := range want.Images {
		data, err := os.ReadFile(filepath.Join("internal/vision/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	c, err := OpenImageClassifier("testdata/image", Options{})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := c.Classify(context.Background(), files)
	if err != nil {
		t.Fatal(err)
	}
	e, err := OpenImageEmbedder("testdata/image", Options{})
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(context.Background(), files)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range want.Images {
		compareLabels(t, name, labels[i], want.Results[i])
		close32(t, name, vectors[i], want.Vectors[i], 1e-5)
	}
	if _, err := c.Classify(context.Background(), [][]byte{[]byte("text")}); !errors.Is(err, fault.ErrImage) {
		t.Errorf("error %v, want a fault.ErrImage", err)
	}
	small, err := OpenImageClassifier("testdata/image", Options{MaxPixels: 100})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small.Classify(context.Background(), files); !errors.Is(err, fault.ErrImage) {
		t.Errorf("error %v of more than 100 pixels, want a fault.ErrImage", err)
	}
}

// TestCache: the format of the cache changes the logits a little, and only it.
func TestCache(t *testing.T) {
	logits := func(f kernels.Format) []float32 {
		g, err := OpenGenerator("testdata/generate", Options{Model: models.Options{CacheFormat: f}})
		if err != nil {
			t.Fatal(err)
		}
		ws := g.workspace()
		decoding := generation.StartLM(ws, g.model.LM, nil, 1)
		var out []float32
		for id := range 20 {
			if out, err = decoding.Feed([][]int{{id + 10}}); err != nil {
				t.Fatal(err)
			}
		}
		return slices.Clone(out)
	}
	exact := logits(kernels.FormatF32)
	for _, f := range []kernels.Format{kernels.FormatBF16, kernels.FormatF16, kernels.FormatInt8} {
		got := logits(f)
		if slices.Equal(got, exact) {
			t.Errorf("%v changes nothing", f)
		}
		close32(t, f.String(), got, exact, 0.05)
	}
	for _, f := range []kernels.Format{kernels.FormatQ8_0, 200} {
		if _, err := OpenGenerator("testdata/generate", Options{Model: models.Options{CacheFormat: f}}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%v: error %v, want a fault.ErrOption", f, err)
		}
	}
}

// TestLanguageBeyondVocabulary: a token of a language that the model does not have is never the
// most likely one.
func TestLanguageBeyondVocabulary(t *testing.T) {
	data, err := os.ReadFile("testdata/transcribe/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for i := range 26 {
		file["added_tokens"] = append(file["added_tokens"].([]any), map[string]any{"id": 1000 + i, "content": fmt.Sprintf("<|x%c|>", 'a'+i), "special": true,
			"single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	changed, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := OpenTranscriber(".", Options{FS: overlay("transcribe", map[string]string{"tokenizer.json": string(changed)})})
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := tr.tokenizer.TokenID("<|xz|>"); !ok || id < tr.model.LM.Vocab() {
		t.Fatalf("id %d, %v", id, ok)
	}
	if _, err := textOf(tr.Transcribe(context.Background(), make([]float32, 16000), TranscribeOptions{MaxTokens: 2})); err != nil {
		t.Error(err)
	}
}
