package text

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// TestNamedAdapter: texts with and without an adapter are generated at the same time. Each text
// with an adapter is that of a model with the adapter in its weights, each text without one that of
// the model.
func TestNamedAdapter(t *testing.T) {
	const dir = "testdata/generate"
	modules := map[string][2]int{"model.layers.0.self_attn.v_proj": {16, 32}, "model.layers.1.mlp.gate_proj": {48, 32}, "model.layers.1.mlp.down_proj": {32, 48}}
	paths := map[string]string{"one": tftest.WriteAdapter(t, 0.4, modules), "two": tftest.WriteAdapter(t, -0.3, modules)}
	g := tftest.Must(OpenGenerator(dir, Options{Model: models.Options{Adapters: []models.Adapter{{Name: "one", Path: paths["one"]}, {Name: "two", Path: paths["two"], Scale: 2}}}}))(t)
	if !slices.Equal(g.Adapters(), []string{"one", "two"}) {
		t.Errorf("adapters %q", g.Adapters())
	}
	want := map[string]string{}
	for name, list := range map[string][]models.Adapter{"": nil, "one": {{Path: paths["one"]}}, "two": {{Path: paths["two"], Scale: 2}}} {
		alone := tftest.Must(OpenGenerator(dir, Options{Model: models.Options{Adapters: list}}))(t)
		want[name] = tftest.Must(textOf(alone.Generate(t.Context(), "hello", GenerateOptions{MaxTokens: 30})))(t)
	}
	if want[""] == want["one"] || want["one"] == want["two"] {
		t.Fatalf("adapters change nothing: %q", want)
	}
	var wg sync.WaitGroup
	for range 3 {
		for name, text := range want {
			wg.Go(func() {
				if got, err := textOf(g.Generate(t.Context(), "hello", GenerateOptions{MaxTokens: 30, Adapter: name})); err != nil || got != text {
					t.Errorf("adapter %q: %q, %v, want %q", name, got, err, text)
				}
			})
		}
	}
	wg.Wait()
	for name, o := range map[string]GenerateOptions{"unknown": {Adapter: "three"}, "search": {Adapter: "one", Beams: 2}} {
		if _, err := textOf(g.Generate(t.Context(), "hello", o)); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: error %v, want fault.ErrOption", name, err)
		}
	}
	_, twice := OpenGenerator(dir, Options{Model: models.Options{Adapters: []models.Adapter{{Name: "one", Path: paths["one"]}, {Name: "one", Path: paths["two"]}}}})
	_, embedder := OpenEmbedder("testdata/embed", Options{Model: models.Options{Adapters: []models.Adapter{{Name: "one", Path: paths["one"]}}}})
	if !errors.Is(twice, fault.ErrOption) || !errors.Is(embedder, fault.ErrOption) {
		t.Errorf("twice %v, of vectors %v, want fault.ErrOption", twice, embedder)
	}
}

// TestGrammar: texts follow the grammar of a schema or a regular expression, drawn ones too; those
// that MaxTokens cuts begin as one does.
func TestGrammar(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := grammar.JSONSchema([]byte(`{"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0, "maximum": 130}},
		"required": ["name", "age"], "additionalProperties": false}`))
	if err != nil {
		t.Fatal(err)
	}
	whole, cut := 0, 0
	for seed := range uint64(12) {
		o := GenerateOptions{Sampling: generation.Sampling{Temperature: float64(seed % 3), Seed: seed + 1}, MaxTokens: 40, Grammar: schema}
		if seed == 11 {
			o.MaxTokens = 5
		}
		var b strings.Builder
		var last Piece
		for piece, err := range g.Generate(t.Context(), "hello", o) {
			if errors.Is(err, fault.ErrCut) && last.Finish == generation.FinishLength {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(piece.Text)
			last = piece
		}
		if last.Finish == generation.FinishLength {
			if cut++; !strings.HasPrefix(strings.TrimSpace(b.String()), `{`) {
				t.Errorf("cut: %q", b.String())
			}
			continue
		}
		whole++
		var v struct {
			Name *string `json:"name"`
			Age  *int    `json:"age"`
		}
		d := json.NewDecoder(strings.NewReader(b.String()))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil || v.Name == nil || v.Age == nil || len([]rune(*v.Name)) > 8 || *v.Age < 0 || *v.Age > 130 {
			t.Errorf("%q: %v", b.String(), err)
		}
	}
	if whole == 0 || cut == 0 {
		t.Errorf("%d whole texts, %d cut", whole, cut)
	}
	const pattern = `(yes|no), [a-c]{3}`
	re, err := grammar.Regexp(pattern)
	if err != nil {
		t.Fatal(err)
	}
	got, err := textOf(g.Generate(t.Context(), "hello", GenerateOptions{MaxTokens: 40, Grammar: re}))
	if err != nil || !regexp.MustCompile("^"+pattern+"$").MatchString(got) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := textOf(g.Generate(t.Context(), "hello", GenerateOptions{Beams: 2, Grammar: re})); !errors.Is(err, fault.ErrOption) {
		t.Errorf("a search: %v", err)
	}
}

// TestPenalties: penalties and biases of a call change what a hook that does the same changes.
func TestPenalties(t *testing.T) {
	g, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	const prompt, frequency, presence = "The quick brown", 0.7, 0.4
	bias := map[int]float64{40: 1.5, 41: -100}
	length := -1
	hook := func(logits []float32, tokens []int) {
		if length < 0 {
			length = len(tokens)
		}
		counts := map[int]int{}
		for _, id := range tokens[length:] {
			counts[id]++
		}
		for id, n := range counts {
			logits[id] -= float32(frequency*float64(n) + presence)
		}
		for id, b := range bias {
			logits[id] += float32(b)
		}
	}
	texts := map[string]string{}
	for name, o := range map[string]GenerateOptions{
		"none": {}, "hook": {Hook: hook}, "options": {FrequencyPenalty: frequency, PresencePenalty: presence, LogitBias: bias},
	} {
		o.MaxTokens = 40
		if texts[name], err = textOf(g.Generate(t.Context(), prompt, o)); err != nil {
			t.Fatal(err)
		}
	}
	if texts["options"] != texts["hook"] || texts["options"] == texts["none"] {
		t.Errorf("%q", texts)
	}
	for _, o := range []GenerateOptions{{FrequencyPenalty: math.Inf(1)}, {PresencePenalty: -math.Inf(1)}, {LogitBias: map[int]float64{1 << 30: 1}}} {
		if _, err := textOf(g.Generate(t.Context(), prompt, o)); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// TestDraft: a draft model changes no text. Drafts that do not fit or do not exist are refused, and
// other pipelines refuse all drafts.
func TestDraft(t *testing.T) {
	const dir = "testdata/generate"
	plain, err := OpenGenerator(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := OpenGenerator(dir, Options{Draft: dir, CacheMemory: 1 << 24})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(6) {
		o := GenerateOptions{Sampling: generation.Sampling{Temperature: float64(seed % 2), Seed: seed + 1}, MaxTokens: 40}
		want, err := textOf(plain.Generate(t.Context(), "hello", o))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := textOf(g.Generate(t.Context(), "hello", o)); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if st := g.Stats(); st.DraftSteps == 0 || plain.Stats().DraftSteps > 0 {
		t.Errorf("%+v", st)
	}
	for _, draft := range []string{"testdata/nowhere", "testdata/translate", "testdata/image"} {
		if _, err := OpenGenerator(dir, Options{Draft: draft}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("draft %q: %v", draft, err)
		}
	}
	_, translator := OpenTranslator("testdata/translate", Options{Draft: dir})
	_, embedder := OpenEmbedder("testdata/embed", Options{Draft: dir})
	if !errors.Is(translator, fault.ErrOption) || !errors.Is(embedder, fault.ErrOption) {
		t.Errorf("other pipelines: %v, %v", translator, embedder)
	}
}

// textOf joins the text of pieces.
func textOf(pieces iter.Seq2[Piece, error]) (string, error) {
	all, err := Collect(pieces)
	return all.Text, err
}

// tokensOf yields the tokens that a text is made of, before they become pieces.
func tokensOf(ctx context.Context, g *Generator, prompt string, o GenerateOptions) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		ids, err := g.promptTokens(prompt, tokenizer.Options{}, o)
		if err != nil {
			yield(0, err)
			return
		}
		for next, err := range g.answer(ctx, ids, nil, o) {
			err = cmp.Or(err, next.Err)
			if err == nil && next.Finish != generation.FinishNone || !yield(next.Token, err) || err != nil {
				return
			}
		}
	}
}
