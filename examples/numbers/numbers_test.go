package numbers

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/naive"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/models/classic"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// load returns the translator on the active tier.
func load(t testing.TB) *Translator {
	t.Helper()
	translator, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return translator
}

// eachTier runs test as a subtest on every tier of this machine.
func eachTier(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	testenv.EachTier(t, kernels.Supported(), kernels.Active(), machine.Use, test)
}

// sample returns all cases, or every eighth on the tier without assembly, which is slow.
func sample[T any](all []T) []T {
	if kernels.Active() != kernels.Generic {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += 8 {
		some = append(some, all[i])
	}
	return some
}

// TestTable translates every phrase of the table that came with the model, and expects PyTorch's
// results.
func TestTable(t *testing.T) {
	rows := table(t)
	eachTier(t, func(t *testing.T) {
		rows := sample(rows)
		if wrong := misread(t, load(t), rows); len(wrong) > 0 {
			t.Errorf("%d of %d rows: %q", len(wrong), len(rows), wrong)
		}
	})
}

// TestFormats translates the table with all weights in each format, including the embeddings and
// the head. Four bits are too few for some rows.
func TestFormats(t *testing.T) {
	whole := table(t)
	formats := []kernels.Format{kernels.FormatBF16, kernels.FormatF16, kernels.FormatInt8, kernels.FormatQ8_0, kernels.FormatQ6_K, kernels.FormatQ4_0, kernels.FormatQ4_K}
	eachTier(t, func(t *testing.T) {
		rows := whole
		if kernels.Active() == kernels.Generic { // this tier is slow
			rows = rows[:min(len(rows), 12)]
		}
		if testenv.Slow() {
			rows = rows[:min(len(rows), 3)]
		}
		for _, f := range formats {
			most := 0
			if f == kernels.FormatQ4_0 || f == kernels.FormatQ4_K {
				most = 2 + len(rows)/12
			}
			translator, err := LoadIn(f)
			if err != nil {
				t.Fatal(err)
			}
			wrong := misread(t, translator, rows)
			t.Logf("%v: %d of %d rows differ", f, len(wrong), len(rows))
			if len(wrong) > most {
				t.Errorf("%v: %d of %d rows differ, want at most %d: %.300q", f, len(wrong), len(rows), most, wrong)
			}
			if f == kernels.FormatQ4_0 && len(rows) > 500 && len(wrong) == 0 { // errors of q4_k are smaller
				t.Errorf("%v: no row differs: are there 4 bits?", f)
			}
		}
	})
}

// misread returns the number and the translator's text for each row where that text is wrong.
func misread(t *testing.T, translator *Translator, rows [][]string) (wrong []string) {
	ws := new(transformer.Workspace)
	for _, r := range rows {
		got, _, err := translator.Translate(ws, r[1])
		if err != nil {
			t.Fatalf("%s, %q: %v", r[0], r[1], err)
		}
		if got != r[2] {
			wrong = append(wrong, r[0]+": "+got)
		}
	}
	return wrong
}

// table returns the table that came with the model, with the columns number, English, the model's
// French, and correct French. Where tests have little time, it returns a part of it.
func table(t *testing.T) [][]string {
	f, err := os.Open("testdata/numbers-en-fr.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows [][]string
	for in := bufio.NewScanner(f); in.Scan(); {
		rows = append(rows, strings.Split(in.Text(), "\t"))
	}
	if len(rows) != 501 {
		t.Fatalf("%d rows, want 501", len(rows))
	}
	if testing.Short() {
		rows = slices.DeleteFunc(rows, func(r []string) bool { return len(r[1])%5 != 0 })
	}
	if testenv.Slow() {
		rows = slices.DeleteFunc(rows, func(r []string) bool { return len(r[1])%20 != 0 })
	}
	return rows
}

var (
	units = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens  = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
)

// english returns the words for n, from 0 to 999,999, in the form of the model's training data.
func english(n int) string {
	switch {
	case n < 20:
		return units[n]
	case n < 100 && n%10 == 0:
		return tens[n/10]
	case n < 100:
		return tens[n/10] + "-" + units[n%10]
	case n < 1000 && n%100 == 0:
		return units[n/100] + " hundred"
	case n < 1000:
		return units[n/100] + " hundred and " + english(n%100)
	case n%1000 == 0:
		return english(n/1000) + " thousand"
	case n%1000 < 100:
		return english(n/1000) + " thousand and " + english(n%1000)
	}
	return english(n/1000) + " thousand, " + english(n%1000)
}

func TestEnglish(t *testing.T) {
	for n, want := range map[int]string{0: "zero", 40: "forty", 115: "one hundred and fifteen", 97281: "ninety-seven thousand, two hundred and eighty-one", 500003: "five hundred thousand and three"} {
		if got := english(n); got != want {
			t.Errorf("english(%d) = %q, want %q", n, got, want)
		}
	}
}

// logitTolerance is the allowed error of a logit. Logits are within about 30 of 0; the largest
// error seen was 5e-6.
const logitTolerance = 3e-5

// TestNaive translates random numbers, and compares the tokens and the logits of every step with
// the float64 twin.
func TestNaive(t *testing.T) {
	count := 300
	if testing.Short() {
		count = 8
	}
	if testenv.Slow() {
		count = 2
	}
	type reference struct {
		text           string
		source, target []int
		logits         [][]float64
	}
	translator := load(t)
	r := rand.New(rand.NewPCG(1, 2))
	refs := make([]reference, count)
	for i := range refs {
		n := r.IntN(1_000_000)
		if i%3 == 0 {
			n = r.IntN(10_000)
		}
		c := &refs[i]
		c.text = english(n)
		var err error
		if c.source, err = translator.Tokens(c.text); err != nil {
			t.Fatal(err)
		}
		// The twin computes logits for the tokens that are decoded here, at every place.
		target, err := translator.Decode(new(transformer.Workspace), c.source)
		if err != nil {
			t.Fatal(err)
		}
		c.target = append([]int{translator.bos}, target...)
		vocab := translator.Model.TargetVocab
		all := naive.Logits(translator.Model, naive.Encode(translator.Model, c.source), c.target)
		for j := range c.target {
			row := all[j*vocab : (j+1)*vocab]
			c.logits = append(c.logits, row)
			want := translator.eos
			if j+1 < len(c.target) {
				want = c.target[j+1]
			}
			if best := slices.Index(row, slices.Max(row)); best != want {
				t.Fatalf("%s: token %d is %d, the twin says %d", c.text, j, want, best)
			}
		}
	}
	eachTier(t, func(t *testing.T) {
		translator, ws := load(t), new(transformer.Workspace)
		m := translator.Model
		worst := 0.0
		for _, c := range sample(refs) {
			memory := models.Memory{X: make([]float32, len(c.source)*m.SourceEmbedding.Dim), Batch: transformer.Uniform(1, len(c.source))}
			if err := m.Encode(ws, memory.X, c.source, memory.Batch, nil); err != nil {
				t.Fatal(err)
			}
			// Token by token, through the cache.
			d := generation.StartLM(ws, m.Decoder(), &memory, 1)
			for i, want := range c.logits {
				got, err := d.Feed([][]int{c.target[i : i+1]})
				if err != nil {
					t.Fatal(err)
				}
				worst = max(worst, compare(t, fmt.Sprintf("%s: step %d", c.text, i), got, want))
				if best := slices.Index(got, slices.Max(got)); i+1 < len(c.target) && best != c.target[i+1] {
					t.Fatalf("%s: step %d chooses token %d, want %d", c.text, i, best, c.target[i+1])
				}
			}
			// All at once.
			logits := make([]float32, len(c.target)*m.TargetVocab)
			if err := m.Logits(ws, logits, c.target, transformer.Uniform(1, len(c.target)), memory); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.logits {
				compare(t, fmt.Sprintf("%s: full pass, row %d", c.text, i), logits[i*m.TargetVocab:(i+1)*m.TargetVocab], want)
			}
		}
		t.Logf("%d numbers, largest error of a logit %.2g (tolerance %g)", len(sample(refs)), worst, logitTolerance)
	})
}

// compare reports logits off by more than the tolerance, and returns the largest error.
func compare(t *testing.T, what string, got []float32, want []float64) float64 {
	t.Helper()
	worst := 0.0
	for i, w := range want {
		diff := math.Abs(float64(got[i]) - w)
		if !(diff <= logitTolerance) {
			t.Fatalf("%s: logit %d is %v, want %v", what, i, got[i], w)
		}
		worst = max(worst, diff)
	}
	return worst
}

// TestEveryWeightCounts changes one weight of each tensor of the model in turn, and expects the
// logits to change.
func TestEveryWeightCounts(t *testing.T) {
	f, err := safetensors.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	translator := load(t)
	source, err := translator.Tokens("two hundred and forty-one thousand, five hundred and seventeen")
	if err != nil {
		t.Fatal(err)
	}
	target := []int{translator.bos, translator.target(t, "deux"), translator.target(t, "cent")}
	want := logits(t, translator.Model, source, target)
	original := transformer.TensorMap{}
	for _, name := range f.Names() {
		x, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		info, _ := f.Info(name)
		original[name] = safetensors.Tensor{Shape: info.Shape, Data: x}
	}
	names := f.Names()
	if testing.Short() {
		names = names[:8]
	}
	for _, name := range names {
		x := original[name].Data
		// A single weight may have no effect on an input: its unit may be off, or its token absent.
		// So the test tries several weights of each tensor.
		const tries = 64
		changes := false
		for k := 0; k < tries && !changes; k++ {
			i := k * 1009 % len(x)
			old := x[i]
			x[i] += 0.5
			changed, err := New(f.Metadata(), original)
			if err != nil {
				t.Fatal(err)
			}
			changes = !slices.Equal(logits(t, changed.Model, source, target), want)
			x[i] = old
		}
		// The keys' biases shift all scores of a query equally, which has no effect on softmax, but
		// they are packed together with other rows.
		if !changes {
			t.Errorf("no weight of %s changes a logit", name)
		}
	}
}

func (t *Translator) target(tb testing.TB, word string) int {
	i := slices.Index(t.Target, word)
	if i < 0 {
		tb.Fatalf("no target word %q", word)
	}
	return i
}

func logits(t *testing.T, m *classic.Seq2Seq, source, target []int) []float32 {
	t.Helper()
	ws := new(transformer.Workspace)
	memory := models.Memory{X: make([]float32, len(source)*m.SourceEmbedding.Dim), Batch: transformer.Uniform(1, len(source))}
	if err := m.Encode(ws, memory.X, source, memory.Batch, nil); err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, len(target)*m.TargetVocab)
	if err := m.Logits(ws, dst, target, transformer.Uniform(1, len(target)), memory); err != nil {
		t.Fatal(err)
	}
	return dst
}

// TestBatch translates several numbers of different lengths in one batch.
func TestBatch(t *testing.T) {
	translator, ws := load(t), new(transformer.Workspace)
	m := translator.Model
	texts := []string{"seven", "ninety-seven thousand, two hundred and eighty-one", "one hundred and twelve"}
	var flat, lengths []int
	for _, text := range texts {
		tokens, err := translator.Tokens(text)
		if err != nil {
			t.Fatal(err)
		}
		flat, lengths = append(flat, tokens...), append(lengths, len(tokens))
	}
	memory := models.Memory{X: make([]float32, len(flat)*m.SourceEmbedding.Dim), Batch: transformer.Ragged(lengths...)}
	if err := m.Encode(ws, memory.X, flat, memory.Batch, nil); err != nil {
		t.Fatal(err)
	}
	d := generation.StartLM(ws, m.Decoder(), &memory, len(texts))
	feed, got := make([][]int, len(texts)), make([][]int, len(texts))
	for i := range feed {
		feed[i] = []int{translator.bos}
	}
	for range m.MaxLen {
		logits, err := d.Feed(feed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range feed {
			row := logits[i*m.TargetVocab : (i+1)*m.TargetVocab]
			best := slices.Index(row, slices.Max(row))
			if len(feed[i]) == 0 || best == translator.eos {
				feed[i] = nil // this text is done
				continue
			}
			got[i], feed[i] = append(got[i], best), []int{best}
		}
	}
	for i, text := range texts {
		want, _, err := translator.Translate(ws, text)
		if err != nil || translator.Text(got[i]) != want {
			t.Errorf("%q in a batch: %q, by itself %q, error %v", text, translator.Text(got[i]), want, err)
		}
	}
}

// TestBeam searches with several hypotheses, which share the memory of one source. No result may be
// less likely than the greedy translation.
func TestBeam(t *testing.T) {
	translator, ws := load(t), new(transformer.Workspace)
	m := translator.Model
	texts := []string{"one hundred and one", "nine hundred and ninety-nine thousand, nine hundred and ninety-nine", english(97281)}
	if testenv.Slow() {
		texts = texts[:1]
	}
	for _, text := range texts {
		source, err := translator.Tokens(text)
		if err != nil {
			t.Fatal(err)
		}
		memory := models.Memory{X: make([]float32, len(source)*m.SourceEmbedding.Dim), Batch: transformer.Uniform(1, len(source))}
		if err := m.Encode(ws, memory.X, source, memory.Batch, nil); err != nil {
			t.Fatal(err)
		}
		best := math.Inf(-1)
		for _, width := range []int{1, 4} {
			found, err := generation.Beam(t.Context(), generation.StartLM(ws, m.Decoder(), &memory, width), []int{translator.bos},
				generation.BeamConfig{Width: width, MaxTokens: m.MaxLen - 1, Stop: []int{translator.eos}})
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := translator.Translate(ws, text)
			if err != nil {
				t.Fatal(err)
			}
			// The model is certain about these numbers: the most likely translation is the greedy
			// one.
			if got := translator.Text(found[0].Tokens); got != want || !found[0].Stopped {
				t.Errorf("%q: width %d gives %q, greedy decoding %q", text, width, got, want)
			}
			if found[0].LogProb < best-1e-4 || found[0].LogProb > 0 {
				t.Errorf("%q: width %d has log probability %v, a narrower one %v", text, width, found[0].LogProb, best)
			}
			best = found[0].LogProb
		}
	}
}

// TestGoroutines shares a model between goroutines, for the race detector.
func TestGoroutines(t *testing.T) {
	translator := load(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			ws := &transformer.Workspace{Threads: kernels.Threads(1 + i%2)}
			for n := range 5 {
				if got, _, err := translator.Translate(ws, english(n)); err != nil || got != translator.Target[translator.target(t, got)] {
					t.Errorf("%d: %q, %v", n, got, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestSteadyState bounds the allocations of a decoding step after its buffers have grown.
func TestSteadyState(t *testing.T) {
	translator, ws := load(t), new(transformer.Workspace)
	m := translator.Model
	source, err := translator.Tokens("seven hundred and six")
	if err != nil {
		t.Fatal(err)
	}
	memory := models.Memory{X: make([]float32, len(source)*m.SourceEmbedding.Dim), Batch: transformer.Uniform(1, len(source))}
	if err := m.Encode(ws, memory.X, source, memory.Batch, nil); err != nil {
		t.Fatal(err)
	}
	d := generation.StartLM(ws, m.Decoder(), &memory, 1)
	feed := [][]int{{translator.bos}}
	for range 17 { // past the first growth of the cache
		if _, err := d.Feed(feed); err != nil {
			t.Fatal(err)
		}
	}
	limit := 10.0
	if race.Enabled {
		limit = 60 // sync.Pool then drops values at random
	}
	if got := testing.AllocsPerRun(10, func() {
		if _, err := d.Feed(feed); err != nil {
			t.Fatal(err)
		}
	}); got > limit {
		t.Errorf("%v allocations per token", got)
	} else {
		t.Logf("%v allocations per token", got)
	}
}

func TestTokens(t *testing.T) {
	translator := load(t)
	want, err := translator.Tokens("ninety seven thousand two hundred and eighty one")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"Ninety-Seven thousand, two hundred and eighty-one",
		"  ninety-seven\tthousand two hundred and eighty-one.\r",
	} {
		if got, err := translator.Tokens(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("Tokens(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "  ", "-,", "hello", "97", "two 2", "zéro", "<eos>", "pad", "one\x00two x", strings.Repeat("one ", 40)} {
		if got, err := translator.Tokens(text); !errors.Is(err, ErrText) {
			t.Errorf("Tokens(%q) = %v, %v, want ErrText", text, got, err)
		}
	}
	if got, err := translator.Tokens(strings.Repeat("one ", 39)); err != nil || len(got) != 40 {
		t.Errorf("39 words: %d tokens, %v", len(got), err)
	}
}

func BenchmarkTranslate(b *testing.B) {
	translator, ws := load(b), new(transformer.Workspace)
	for b.Loop() {
		if _, _, err := translator.Translate(ws, "ninety-seven thousand, two hundred and eighty-one"); err != nil {
			b.Fatal(err)
		}
	}
}
