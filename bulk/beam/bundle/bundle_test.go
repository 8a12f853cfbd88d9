package bundle_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/avoformer/avoformer/bulk/beam/bundle"
	"github.com/avoformer/avoformer/bulk/beam/classify"
	"github.com/avoformer/avoformer/bulk/beam/embed"
	"github.com/avoformer/avoformer/bulk/beam/rank"
	"github.com/avoformer/avoformer/text"
)

// TestMain lets the test binary run as a worker of prism, which finds functions by their names.
func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	m.Run()
}

func init() {
	register.DoFn2x0[[]byte, func(int64, string)](&sourceFn{})
	register.Emitter2[int64, string]()
	register.DoFn2x0[[]byte, func(beam.EventTime, int64, []byte)](&timedFn{})
	register.Emitter3[beam.EventTime, int64, []byte]()
	register.DoFn3x0[beam.Window, int64, beam.X](&sinkFn{})
}

// texts returns n texts of a few words. Some are empty, one of each hundred is not UTF-8, and the
// 8th exceeds the models' limit.
func texts(n int) []string {
	words := strings.Fields("the cat reads a long letter and nobody forgets three numbers in French because it has to Paris attention Straße 東京 😀")
	r := rand.New(rand.NewPCG(3, 4))
	out := make([]string, n)
	for i := range out {
		var b strings.Builder
		for range r.IntN(14) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		if i%100 == 50 {
			b.WriteString("\xff\xfe")
		}
		out[i] = b.String()
	}
	out[7] = strings.Repeat("attention letter ", 200)
	return out
}

// dead reports whether text i of texts is not UTF-8.
func dead(i int) bool { return i%100 == 50 }

// sourceFn emits texts with their indices, in one bundle.
type sourceFn struct{ N int }

func (f *sourceFn) ProcessElement(_ []byte, emit func(int64, string)) {
	for i, s := range texts(f.N) {
		emit(int64(i), s)
	}
}

// timedFn emits texts as bytes, one per second of event time.
type timedFn struct{ N int }

func (f *timedFn) ProcessElement(_ []byte, emit func(beam.EventTime, int64, []byte)) {
	for i, s := range texts(f.N) {
		emit(beam.EventTime(i*1000), int64(i), []byte(s))
	}
}

// sinkFn adds elements to the sink with its name.
type sinkFn struct{ Name string }

// sinks has the results of pipelines: values and windows by key. No key may occur twice.
var sinks = struct {
	sync.Mutex
	values  map[string]map[int64]any
	windows map[int64]string
	twice   []int64
}{}

func (f *sinkFn) ProcessElement(w beam.Window, key int64, value beam.X) {
	sinks.Lock()
	defer sinks.Unlock()
	if _, ok := sinks.values[f.Name][key]; ok {
		sinks.twice = append(sinks.twice, key)
	}
	sinks.values[f.Name][key] = value
	sinks.windows[key] = fmt.Sprint(w)
}

// execute runs a pipeline with a transform on prism, and returns its results, its dead letters and
// avoformer's counters.
func execute(t *testing.T, source func(s beam.Scope) beam.PCollection, transform func(beam.Scope, beam.PCollection) (beam.PCollection, beam.PCollection)) (good, bad map[int64]any, counts map[string]int64) {
	t.Helper()
	sinks.values, sinks.windows, sinks.twice = map[string]map[int64]any{"good": {}, "bad": {}}, map[int64]string{}, nil
	p, s := beam.NewPipelineWithRoot()
	results, deads := transform(s, source(s))
	beam.ParDo0(s, &sinkFn{"good"}, results)
	beam.ParDo0(s, &sinkFn{"bad"}, deads)
	r, err := prism.Execute(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(sinks.twice) > 0 {
		t.Errorf("keys that occurred twice: %v", sinks.twice)
	}
	counts = map[string]int64{}
	for _, c := range r.Metrics().AllMetrics().Counters() {
		if c.Namespace() == "avoformer" {
			counts[c.Name()] += c.Result()
		}
	}
	return sinks.values["good"], sinks.values["bad"], counts
}

func source(n int) func(beam.Scope) beam.PCollection {
	return func(s beam.Scope) beam.PCollection { return beam.ParDo(s, &sourceFn{n}, beam.Impulse(s)) }
}

const folders = "../../../text/testdata/"

func folder(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(folders + name)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// check compares results with those of package text for the good texts, in their order.
func check(t *testing.T, n int, good, bad map[int64]any, counts map[string]int64, want func(texts []string) []any) {
	t.Helper()
	all := texts(n)
	var alive []string
	deads := 0
	for i, s := range all {
		if !dead(i) {
			alive = append(alive, s)
			continue
		}
		deads++
		if d, ok := bad[int64(i)].(bundle.Dead); !ok || string(d.Text) != s || d.Reason == "" {
			t.Errorf("dead letter %d: %v", i, bad[int64(i)])
		}
	}
	expected := want(alive)
	at := 0
	for i := range all {
		if dead(i) {
			continue
		}
		if !reflect.DeepEqual(good[int64(i)], expected[at]) {
			t.Fatalf("text %d: %v, want %v", i, good[int64(i)], expected[at])
		}
		at++
	}
	if len(good) != len(alive) || len(bad) != deads {
		t.Errorf("%d results and %d dead letters, want %d and %d", len(good), len(bad), len(alive), deads)
	}
	if counts["texts"] != int64(n) || counts["results"] != int64(len(alive)) || counts["dead"] != int64(deads) || counts["cut"] != 1 {
		t.Errorf("counters %v of %d texts, %d of them dead", counts, n, deads)
	}
}

// TestEmbed verifies that vectors have the bits of text.Embedder for any batches and threads, and
// that the model is opened once.
func TestEmbed(t *testing.T) {
	const n = 1500
	dir := folder(t, "embed")
	want := func(alive []string) []any {
		e, err := text.OpenEmbedder(dir, text.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := e.Embed(t.Context(), text.Texts(alive...), text.EmbedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out := make([]any, len(alive))
		for i, v := range r.Outputs {
			out[i] = embed.Vector{Values: v, Tokens: int32(r.Tokens[i]), Cut: r.Cut[i]}
		}
		return out
	}
	for _, m := range []embed.Model{{}, {Threads: 1, BatchTokens: 1}, {Threads: 2, BatchTokens: 100}, {Threads: 3, BatchTokens: 1 << 30}} {
		m.Dir = dir
		good, bad, counts := execute(t, source(n), func(s beam.Scope, col beam.PCollection) (beam.PCollection, beam.PCollection) {
			return embed.Texts(s, m, col)
		})
		check(t, n, good, bad, counts, want)
		switch b := counts["batches"]; {
		case m.BatchTokens == 1 && b != n, m.BatchTokens == 100 && (b < n/20 || b > n/3), m.BatchTokens == 1<<30 && b > 4:
			t.Errorf("%d batches with a budget of %d tokens", b, m.BatchTokens)
		}
	}
}

func TestRank(t *testing.T) {
	dir := folder(t, "rerank")
	const n, query = 300, "who reads a letter?"
	good, bad, counts := execute(t, source(n), func(s beam.Scope, col beam.PCollection) (beam.PCollection, beam.PCollection) {
		return rank.Texts(s, rank.Model{Dir: dir}, query, col)
	})
	check(t, n, good, bad, counts, func(alive []string) []any {
		r, err := text.OpenReranker(dir, text.Options{})
		if err != nil {
			t.Fatal(err)
		}
		scores, err := r.Score(t.Context(), query, alive, text.RerankOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out := make([]any, len(alive))
		for i, s := range scores.Outputs {
			out[i] = rank.Score{Score: s, Tokens: int32(scores.Tokens[i]), Cut: scores.Cut[i]}
		}
		return out
	})
}

func TestClassify(t *testing.T) {
	dir := folder(t, "classify")
	const n = 300
	good, bad, counts := execute(t, source(n), func(s beam.Scope, col beam.PCollection) (beam.PCollection, beam.PCollection) {
		return classify.Texts(s, classify.Model{Dir: dir}, col)
	})
	for i, v := range good { // package bulk tests the labels' texts
		l := v.(classify.Label)
		if !strings.HasPrefix(l.Labels, fmt.Sprintf(`[{"label":%q,`, l.Label)) {
			t.Fatalf("text %d: %+v", i, l)
		}
		l.Labels = ""
		good[i] = l
	}
	check(t, n, good, bad, counts, func(alive []string) []any {
		c, err := text.OpenClassifier(dir, text.Options{})
		if err != nil {
			t.Fatal(err)
		}
		labels, err := c.Classify(t.Context(), text.Texts(alive...), text.ClassifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out := make([]any, len(alive))
		for i, l := range labels.Outputs {
			out[i] = classify.Label{Label: l[0].Label, Score: l[0].Score, Tokens: int32(labels.Tokens[i]), Cut: labels.Cut[i]}
		}
		return out
	})
}

// TestWindows verifies that results are in the windows of their texts.
func TestWindows(t *testing.T) {
	const n = 90
	good, bad, _ := execute(t, func(s beam.Scope) beam.PCollection {
		return beam.WindowInto(s, window.NewFixedWindows(30*time.Second), beam.ParDo(s, &timedFn{n}, beam.Impulse(s)))
	}, func(s beam.Scope, col beam.PCollection) (beam.PCollection, beam.PCollection) {
		return embed.Texts(s, embed.Model{Dir: folder(t, "embed")}, col)
	})
	if len(good) != n-1 || len(bad) != 1 {
		t.Errorf("%d results and %d dead letters of %d texts", len(good), len(bad), n)
	}
	for i := range int64(n) {
		start := beam.EventTime(i / 30 * 30000)
		if want := fmt.Sprint(window.IntervalWindow{Start: start, End: start + 30000}); sinks.windows[i] != want {
			t.Errorf("text %d is in %s, want %s", i, sinks.windows[i], want)
		}
	}
}

// TestNoModel verifies that a folder without a model is an error of the pipeline.
func TestNoModel(t *testing.T) {
	for _, m := range []embed.Model{{Dir: t.TempDir()}, {Dir: folder(t, "embed"), WeightFormat: "int3"}} {
		p, s := beam.NewPipelineWithRoot()
		embed.Texts(s, m, source(3)(s))
		if _, err := prism.Execute(context.Background(), p); err == nil {
			t.Errorf("%+v: no error", m)
		}
	}
}

// TestOtherTypes verifies that building a pipeline panics if values are not texts.
func TestOtherTypes(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	numbers := beam.ParDo(s, func(s string) (string, int) { return s, 1 }, beam.Create(s, "a"))
	for name, col := range map[string]beam.PCollection{"numbers": numbers, "without keys": beam.Create(s, "a")} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			embed.Texts(s, embed.Model{}, col)
		}()
	}
}
