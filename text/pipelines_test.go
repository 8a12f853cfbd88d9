package text

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// TestZeroShot compares with transformers' pipeline.
func TestZeroShot(t *testing.T) {
	data, err := os.ReadFile("testdata/classify/zero_shot.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Texts, Labels                  []string
		Results, Independent, Template [][]Label
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	c, err := OpenClassifier("testdata/classify", Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, x := range []struct {
		o    ZeroShotOptions
		want [][]Label
	}{{ZeroShotOptions{}, want.Results}, {ZeroShotOptions{Independent: true}, want.Independent}, {ZeroShotOptions{Template: "{} is the topic."}, want.Template},
		{ZeroShotOptions{Template: "{0} is the topic."}, want.Template}} {
		got, err := outputs(c.ZeroShot(ctx, want.Texts, want.Labels, x.o))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(x.want) {
			t.Fatalf("%d texts, want %d", len(got), len(x.want))
		}
		for i := range got {
			compareLabels(t, fmt.Sprintf("%+v, text %d", x.o, i), got[i], x.want[i])
		}
	}
	one, err := outputs(c.ZeroShot(ctx, want.Texts[:1], want.Labels[:1], ZeroShotOptions{}))
	if err != nil || one[0][0].Score == 1 {
		t.Errorf("one label alone: %v, %v", one, err)
	}
	for _, text := range want.Texts { // whatever its length, the premise is cut, not the hypothesis
		long, err := outputs(c.ZeroShot(ctx, []string{text + string(make([]byte, 900))}, want.Labels, ZeroShotOptions{}))
		if err != nil || len(long[0]) != 3 {
			t.Error(long, err)
		}
	}
	for _, template := range []string{"none", "{{}}", "{{}} {", "{} }", "{} and {}", "{1}", "{label}", "{!r}", "{:>9}", "{}{0}", "{0}{}"} {
		if _, err := c.ZeroShot(ctx, want.Texts, want.Labels, ZeroShotOptions{Template: template}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%q: %v, want ErrOption", template, err)
		}
	}
	for template, text := range map[string]string{"{{{}}}": "{x}", "{0}, {0}: {{0}}": "x, x: {0}", "}}{}{{": "}x{"} { // as Python's str.format has them
		if h, err := hypotheses(template); err != nil || h("x") != text {
			t.Errorf("%q of x: %v, want %q", template, err, text)
		}
	}
	if _, err := c.ZeroShot(ctx, want.Texts, nil, ZeroShotOptions{}); !errors.Is(err, fault.ErrInput) {
		t.Error(err)
	}
	if none, err := outputs(c.ZeroShot(ctx, nil, want.Labels, ZeroShotOptions{})); err != nil || len(none) != 0 {
		t.Error(none, err)
	}
	other, err := OpenClassifier("testdata/classify-multi", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ZeroShot(ctx, want.Texts, want.Labels, ZeroShotOptions{}); !errors.Is(err, fault.ErrFolder) {
		t.Error(err)
	}
}

// TestFillMask compares with transformers' pipeline.
func TestFillMask(t *testing.T) {
	var want struct {
		Texts   []string
		K       int
		Results [][][]Filling
	}
	readExpected(t, "fill-mask", &want)
	for _, batch := range []int{1, 4096} {
		m, err := OpenMaskFiller("testdata/fill-mask", Options{BatchTokens: batch, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		got, err := outputs(m.Fill(context.Background(), Texts(want.Texts...), FillOptions{Best: want.K}))
		if err != nil {
			t.Fatal(err)
		}
		if m.Mask() != "[MASK]" || len(got) != len(want.Results) {
			t.Fatal(m.Mask(), len(got))
		}
		for i := range got {
			if len(got[i]) != len(want.Results[i]) {
				t.Fatalf("text %d: %d masks, want %d", i, len(got[i]), len(want.Results[i]))
			}
			for j := range got[i] {
				for k, g := range got[i][j] {
					w := want.Results[i][j][k]
					close32(t, fmt.Sprint("text ", i), []float32{g.Score}, []float32{w.Score}, 1e-5)
					if g.Score = w.Score; g != w || len(got[i][j]) != len(want.Results[i][j]) {
						t.Errorf("text %d, mask %d: %+v, want %+v", i, j, g, w)
					}
				}
			}
		}
		for _, bad := range []string{"", "no mask"} {
			if _, err := m.Fill(context.Background(), Texts("[MASK]", bad), FillOptions{Best: 1}); !errors.Is(err, fault.ErrInput) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		if _, err := m.Fill(context.Background(), Texts(want.Texts...), FillOptions{Best: -1}); !errors.Is(err, fault.ErrOption) {
			t.Error(err)
		}
		if all, err := outputs(m.Fill(context.Background(), Texts("[MASK]"), FillOptions{Best: 1e6})); err != nil || len(all[0][0]) != 605 {
			t.Error(len(all), err)
		}
	}
	if _, err := OpenMaskFiller("testdata/classify", Options{}); !errors.Is(err, fault.ErrFolder) {
		t.Error(err)
	}
}

// TestNextSentence compares with transformers' model.
func TestNextSentence(t *testing.T) {
	var want struct {
		Pairs   [][2]string
		Logits  [][]float32
		Follows []float32
	}
	readExpected(t, "next-sentence", &want)
	s, err := OpenNextSentence("testdata/next-sentence", Options{})
	if err != nil {
		t.Fatal(err)
	}
	follows, err := outputs(s.Follows(context.Background(), Pairs(want.Pairs...), InputOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	close32(t, "probabilities", follows, want.Follows, 1e-5)
	logits, err := outputs(s.Logits(context.Background(), Pairs(want.Pairs...), InputOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range logits {
		close32(t, "logits", logits[i][:], want.Logits[i], 1e-5)
	}
	if _, err := OpenNextSentence("testdata/classify", Options{}); !errors.Is(err, fault.ErrFolder) {
		t.Error(err)
	}
}

// TestAnswerQuestions compares with the pipeline of transformers 4.
func TestAnswerQuestions(t *testing.T) {
	var want struct {
		Questions [][2]string
		Cases     []struct {
			Best    int `json:"top_k"`
			Most    int `json:"max_answer_len"`
			Length  int `json:"max_seq_len"`
			Stride  int `json:"doc_stride"`
			Results [][]Span
		}
	}
	readExpected(t, "answer", &want)
	questions := make([]Question, len(want.Questions))
	for i, q := range want.Questions {
		questions[i] = Question{q[0], q[1]}
	}
	several := false
	for _, x := range want.Cases {
		opts := Options{Threads: 2}
		if x.Length > 0 {
			opts.MaxLength, opts.Long, opts.Stride = x.Length, LongSplit, x.Stride
		}
		a, err := OpenQuestionAnswerer("testdata/answer", opts)
		if err != nil {
			t.Fatal(err)
		}
		got, err := outputs(a.Answer(context.Background(), questions, AnswerOptions{Best: x.Best, MaxTokens: x.Most}))
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if len(got[i]) != len(x.Results[i]) {
				t.Fatalf("%d best, question %d: %+v, want %+v", x.Best, i, got[i], x.Results[i])
			}
			several = several || len(got[i]) > 1
			for j, g := range got[i] {
				w := x.Results[i][j]
				if text := questions[i].Text; text[g.Start:g.End] != g.Answer || string([]rune(text)[g.StartChar:g.EndChar]) != g.Answer {
					t.Errorf("%+v is not there", g)
				}
				close32(t, "score", []float32{g.Score}, []float32{w.Score}, 1e-5)
				g.Score, g.Start, g.End = w.Score, w.Start, w.End
				if g != w {
					t.Errorf("%d best, question %d: %+v, want %+v", x.Best, i, got[i], x.Results[i])
				}
			}
		}
	}
	if !several {
		t.Error("no question has several answers")
	}
	a, err := OpenQuestionAnswerer("testdata/answer", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if none, err := outputs(a.Answer(context.Background(), []Question{{"What?", ""}, {"", ""}}, AnswerOptions{})); err != nil || len(none[0]) != 0 || len(none[1]) != 0 {
		t.Error(none, err)
	}
	if _, err := a.Answer(context.Background(), questions, AnswerOptions{Best: -1}); !errors.Is(err, fault.ErrInput) {
		t.Error(err)
	}
	if _, err := OpenQuestionAnswerer("testdata/answer", Options{Long: LongTruncate}); !errors.Is(err, fault.ErrOption) {
		t.Error(err)
	}
	if _, err := OpenQuestionAnswerer("testdata/classify", Options{}); !errors.Is(err, fault.ErrFolder) {
		t.Error(err)
	}
}

// TestWeightFormats holds one layer in int8: its weights alone, and vectors between those of
// float32 and of int8.
func TestWeightFormats(t *testing.T) {
	const dir = "testdata/embed"
	embed := func(o models.Options) (*Embedder, []float32) {
		t.Helper()
		e, err := OpenEmbedder(dir, Options{Model: o})
		if err != nil {
			t.Fatal(err)
		}
		v, err := outputs(e.Embed(t.Context(), Texts("hello world"), EmbedOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		return e, v[0]
	}
	_, f32 := embed(models.Options{})
	_, int8s := embed(models.Options{WeightFormat: kernels.FormatInt8})
	one, mixed := embed(models.Options{WeightFormats: []models.NamedFormat{{Pattern: "encoder.layer.1.*", Format: kernels.FormatInt8}}})
	_, kept := embed(models.Options{WeightFormat: kernels.FormatInt8, WeightFormats: []models.NamedFormat{{Pattern: "encoder.layer.*", Format: kernels.FormatF32}}})
	if slices.Equal(mixed, f32) || slices.Equal(mixed, int8s) {
		t.Error("one layer in int8 makes no difference, or the same as all")
	}
	if !slices.Equal(kept, f32) {
		t.Error("the format of single weights does not count before that of all")
	}
	layers := 0
	for _, h := range one.Holdings() {
		in := strings.HasPrefix(h.Name, "encoder.layer.1.")
		if in != (h.Format == kernels.FormatInt8) || h.Elements < 1 {
			t.Errorf("%+v", h)
		}
		if in {
			layers++
		}
	}
	if layers == 0 {
		t.Error("no holdings of the layer")
	}
	if _, err := OpenEmbedder(dir, Options{Model: models.Options{WeightFormats: []models.NamedFormat{{Pattern: "layers.1.*", Format: kernels.FormatInt8}}}}); !errors.Is(err, fault.ErrOption) || !strings.Contains(err.Error(), "layers.1.*") {
		t.Errorf("a pattern that matches nothing: error %v", err)
	}
	if _, err := OpenEmbedder(dir, Options{Model: models.Options{WeightFormats: []models.NamedFormat{{Pattern: "[", Format: kernels.FormatInt8}}}}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("a malformed pattern: error %v", err)
	}
}

// TestWarm wants Warm to compute something with pipelines of every kind, and to return the error of
// what it computes: with a context that has ended, the cause. Totals show that texts were computed.
// They count no images, sounds and prompts.
func TestWarm(t *testing.T) {
	t.Parallel()
	why := errors.New("the shop closes")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for _, kind := range Kinds() {
		p, err := OpenKind(kind, folderFor(t, kind), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Kind() != kind {
			t.Errorf("a %s says that it is a %s", kind, p.Kind())
		}
		if err := p.Warm(t.Context()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if r := p.Replicas()[0]; r.Batches == 0 {
			t.Errorf("a %s computed nothing: %+v", kind, r)
		}
		if err := p.Warm(ended); !errors.Is(err, why) {
			t.Errorf("%s: %v, want %v", kind, err, why)
		}
	}
}

// folderFor returns a folder for pipelines of a kind: one that KindOf finds to be of it, or else
// the first whose model has what the kind needs.
func folderFor(t *testing.T, kind Kind) string {
	t.Helper()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	fitting := ""
	for _, e := range entries {
		dir := "testdata/" + e.Name()
		if found, err := KindOf(dir); err == nil && found == kind {
			return dir
		}
		if m, err := models.Open(dir, models.Options{HeadersOnly: true}); err == nil && fitting == "" && slices.Contains(KindsFor(m), kind) {
			fitting = dir
		}
	}
	if fitting == "" {
		t.Fatalf("no folder of testdata is for a %s", kind)
	}
	return fitting
}
