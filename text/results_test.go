package text

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
)

// TestResultsCount: each pipeline counts the tokens of each of its inputs.
func TestResultsCount(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	texts := []string{"hello world", "the cat reads the long letter and the dog forgets it"}
	check := func(what string, c Counts, outputs int) {
		t.Helper()
		if len(c.Tokens) != outputs || len(c.Windows) != outputs || len(c.Cut) != outputs || slices.Contains(c.Tokens, 0) || slices.Contains(c.Windows, 0) || c.CutInputs() != 0 {
			t.Errorf("%s: %+v for %d outputs", what, c, outputs)
		}
	}
	c := tftest.Must(OpenClassifier("testdata/classify", Options{}))(t)
	labels := tftest.Must(c.Classify(ctx, Texts(texts...), ClassifyOptions{}))(t)
	check("Classify", labels.Counts, len(labels.Outputs))

	r := tftest.Must(OpenReranker("testdata/rerank", Options{}))(t)
	scores := tftest.Must(r.Score(ctx, "the question", texts, RerankOptions{}))(t)
	ranked := tftest.Must(r.Rank(ctx, "the question", texts, RerankOptions{}))(t)
	check("Rank", ranked.Counts, len(ranked.Outputs))
	if !slices.Equal(ranked.Tokens, scores.Tokens) || ranked.Tokens[0] >= ranked.Tokens[1] {
		t.Errorf("tokens of Rank %d, of Score %d, which are those of the texts as given", ranked.Tokens, scores.Tokens)
	}

	m := tftest.Must(OpenMaskFiller("testdata/fill-mask", Options{}))(t)
	filled := tftest.Must(m.Fill(ctx, Texts(m.Mask()), FillOptions{}))(t)
	check("Fill", filled.Counts, len(filled.Outputs))
	if n := len(filled.Outputs[0][0]); n != 5 {
		t.Errorf("%d tokens for a mask, want 5 where nothing is asked for", n)
	}

	s := tftest.Must(OpenNextSentence("testdata/next-sentence", Options{}))(t)
	follows := tftest.Must(s.Follows(ctx, Pairs([2]string{texts[0], texts[1]}), InputOptions{}))(t)
	check("Follows", follows.Counts, len(follows.Outputs))
	if _, err := s.Follows(ctx, Texts("a single text"), InputOptions{}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("a single text is followed: %v", err)
	}

	tr := tftest.Must(OpenTranslator("testdata/translate", Options{}))(t)
	pieces := tftest.Must(tr.Translate(ctx, texts, TranslateOptions{GenerateOptions: GenerateOptions{MaxTokens: 2}}))(t)
	check("Translate", pieces.Counts, len(pieces.Outputs))
	if p := pieces.Outputs[1]; p.Usage.Prompt != pieces.Tokens[1] || p.Usage.Tokens == 0 {
		t.Errorf("a translation counts %+v, its text has %d tokens", p.Usage, pieces.Tokens[1])
	}
}

// TestJoinedCounts: the counts of a text are those of all its hypotheses.
func TestJoinedCounts(t *testing.T) {
	got := Counts{Tokens: []int{1, 2, 3, 4}, Windows: []int{1, 1, 1, 2}, Cut: []bool{false, false, true, false}, Wait: 5}.joined(2)
	if !slices.Equal(got.Tokens, []int{3, 7}) || !slices.Equal(got.Windows, []int{1, 2}) || !slices.Equal(got.Cut, []bool{false, true}) || got.Wait != 5 {
		t.Errorf("%+v", got)
	}
}

// TestOptionsOfCalls: options of a call that cannot be are errors.
func TestOptionsOfCalls(t *testing.T) {
	t.Parallel()
	ctx, in := t.Context(), Texts("hello")
	e := tftest.Must(OpenEmbedder("testdata/embed", Options{}))(t)
	sparse := tftest.Must(OpenEmbedder("testdata/embed-sparse", Options{}))(t)
	late := tftest.Must(OpenEmbedder("testdata/embed-late", Options{}))(t)
	for name, call := range map[string]func() error{
		"tokens, Dim":       func() error { _, err := e.EmbedTokens(ctx, in, EmbedOptions{Dim: 3}); return err },
		"sparse, Scale":     func() error { _, err := sparse.EmbedSparse(ctx, in, EmbedOptions{Scale: ScaleUnit}); return err },
		"multi-vector, Dim": func() error { _, err := late.EmbedMultiVector(ctx, in, EmbedOptions{Dim: 3}); return err },
		"LongSplit": func() error {
			_, err := e.Embed(ctx, in, EmbedOptions{InputOptions: InputOptions{Long: LongSplit}})
			return err
		},
		"Long 9": func() error {
			_, err := e.Embed(ctx, in, EmbedOptions{InputOptions: InputOptions{Long: 9}})
			return err
		},
	} {
		if err := call(); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: error %v, want a fault.ErrOption", name, err)
		}
	}
}

// TestOptionsFS: a folder of a file system is opened as one of the operating system.
func TestOptionsFS(t *testing.T) {
	t.Parallel()
	want := tftest.Must(tftest.Must(OpenEmbedder("testdata/embed", Options{}))(t).Embed(t.Context(), Texts("hello"), EmbedOptions{}))(t)
	e := tftest.Must(OpenEmbedder("embed", Options{FS: os.DirFS("testdata")}))(t)
	got := tftest.Must(e.Embed(t.Context(), Texts("hello"), EmbedOptions{}))(t)
	if !slices.Equal(got.Outputs[0], want.Outputs[0]) {
		t.Error("other vectors")
	}
	for _, dir := range []string{"none", "../testdata/embed", "/"} {
		if _, err := OpenEmbedder(dir, Options{FS: os.DirFS("testdata")}); !errors.Is(err, fault.ErrFolder) {
			t.Errorf("%s: error %v, want a fault.ErrFolder", dir, err)
		}
	}
	if f, err := FootprintOf(KindEmbedder, "embed", Options{FS: os.DirFS("testdata")}); err != nil || f != e.Footprint() {
		t.Errorf("footprint %+v, %v, want %+v", f, err, e.Footprint())
	}
}

// TestTokens: Tokens counts what Embed computes with, and Totals does not count Tokens.
func TestTokens(t *testing.T) {
	t.Parallel()
	prompted := map[string]string{"config_sentence_transformers.json": `{"prompts": {"a": "the cat "}, "default_prompt_name": "a"}`}
	texts := []string{"reads", "", strings.Repeat("the letter ", 9)}
	for _, o := range []Options{{}, {MaxLength: 7}, {MaxLength: 7, Long: LongSplit, Stride: 2}} {
		o.FS = overlay("embed", prompted)
		e := tftest.Must(OpenEmbedder(".", o))(t)
		n := tftest.Must(e.Tokens(texts))(t)
		counted := e.Totals().Tokens
		want := tftest.Must(e.Embed(t.Context(), Texts(texts...), EmbedOptions{}))(t).Sum()
		if n != want || counted != 0 {
			t.Errorf("%d tokens, of Embed %d; %d in the totals", n, want, counted)
		}
	}
	e := tftest.Must(OpenEmbedder("testdata/embed", Options{MaxLength: 4, Long: LongRefuse}))(t)
	_, refused := e.Embed(t.Context(), Texts(texts...), EmbedOptions{})
	if _, err := e.Tokens(texts); !errors.Is(err, fault.ErrTooLong) || err.Error() != refused.Error() {
		t.Errorf("error %v of a long text, of Embed %v", err, refused)
	}
}

// outputs and counted take the results of a call apart.
func outputs[T any](r Results[T], err error) ([]T, error) { return r.Outputs, err }

func counted[T any](r Results[T], err error) ([]T, Counts, error) { return r.Outputs, r.Counts, err }

// embeds is Embed of texts with a prompt.
func embeds(e *Embedder, prompt string) func(context.Context, []string) ([][]float32, error) {
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		return outputs(e.Embed(ctx, Texts(texts...), EmbedOptions{Prompt: prompt}))
	}
}

// translated returns the translations of texts.
func translated(tr *Translator, ctx context.Context, texts []string, o TranslateOptions) ([]string, error) {
	r, err := tr.Translate(ctx, texts, o)
	var out []string
	for _, p := range r.Outputs {
		out = append(out, p.Text)
	}
	return out, err
}

// TestTotals: texts that were cut are counted, whatever the call.
func TestTotals(t *testing.T) {
	long := strings.Repeat("the cat reads ", 60)
	e, err := OpenEmbedder("testdata/embed", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), Texts("a", long, long), EmbedOptions{Prompt: "document"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), Texts(long), EmbedOptions{Prompt: "query"}); err != nil {
		t.Fatal(err)
	}
	if n := e.Totals(); n.Inputs != 4 || n.Cut != 3 || n.Split != 0 || n.Tokens < uint64(3*e.MaxTokens()) {
		t.Errorf("%+v", n)
	}
	if _, err := e.Embed(t.Context(), Texts(long), EmbedOptions{InputOptions: InputOptions{Long: LongRefuse}}); !errors.Is(err, fault.ErrTooLong) || e.Totals().Inputs != 4 {
		t.Errorf("%v, %+v", err, e.Totals())
	}
	split, err := OpenEmbedder("testdata/embed", Options{Long: LongSplit})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := split.Embed(t.Context(), Texts(long), EmbedOptions{}); err != nil || split.Totals().Split != 1 || split.Totals().Cut != 0 {
		t.Errorf("%v, %+v", err, split.Totals())
	}
	r, err := OpenReranker("testdata/rerank", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Score(t.Context(), "cats", []string{"a", long}, RerankOptions{}); err != nil || r.Totals().Cut != 1 || r.Totals().Inputs != 2 {
		t.Errorf("%v, %+v", err, r.Totals())
	}
	tr, err := OpenTranslator("testdata/translate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := TranslateOptions{GenerateOptions: GenerateOptions{MaxTokens: 1}}
	if _, err := tr.Translate(t.Context(), []string{"a", strings.Repeat(long, 4)}, o); err != nil || tr.Totals().Inputs != 2 || tr.Totals().Cut != 1 {
		t.Errorf("%v, %+v with %d tokens", err, tr.Totals(), tr.MaxTokens())
	}
}

// TestMaxLengthBeyond: a length that the model does not have is an error that names its own.
func TestMaxLengthBeyond(t *testing.T) {
	type pipeline interface{ MaxTokens() int }
	for _, folder := range []string{"embed", "classify", "rerank", "tokens", "generate", "fill-mask"} {
		kind, err := KindOf("testdata/" + folder)
		if err != nil {
			t.Fatal(err)
		}
		open := func(length int) (pipeline, error) {
			p, err := OpenKind(kind, "testdata/"+folder, Options{MaxLength: length})
			if err != nil {
				return nil, err
			}
			return p.(pipeline), nil
		}
		p, err := open(0)
		if err != nil {
			t.Fatal(err)
		}
		most := p.MaxTokens()
		if most == 0 {
			t.Errorf("%s has no limit", folder)
			continue
		}
		if p, err := open(most); err != nil || p.MaxTokens() != most {
			t.Errorf("%s with its own length: %v", folder, err)
		}
		if _, err := open(most + 1); !errors.Is(err, fault.ErrOption) || !strings.Contains(err.Error(), "the model takes at most") {
			t.Errorf("%s with one more than %d: %v", folder, most, err)
		}
	}
}

// TestCounters: what only grows is counted by numbers that no program overflows, on machines of 32
// bits too.
func TestCounters(t *testing.T) {
	now := []string{"Waiting", "Running", "Prefixes", "PageBytes", "PageLimit", "CPUs", "Node", "Threads", "Busy"} // what is there at the moment
	for _, of := range []any{Totals{}, ReplicaInfo{}, generation.Stats{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if counts := f.Type.Kind() == reflect.Uint64; counts == slices.Contains(now, f.Name) {
				t.Errorf("%T.%s is a %s", of, f.Name, f.Type)
			}
		}
	}
}
