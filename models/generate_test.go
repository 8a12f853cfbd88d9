package models_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// tiny is a language model of few tokens, with weights large enough that its
// predictions differ.
func tiny(t testing.TB, vocab int) *models.Model {
	t.Helper()
	return tftest.Must(models.New([]byte(tinyConfig(vocab)), strong{tf.Random(3)}))(t)
}

func tinyConfig(vocab int) string {
	return fmt.Sprintf(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": %d, "hidden_size": 16,
		"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24, "max_position_embeddings": 64}`, vocab)
}

// nans is weights whose embedding is no numbers.
type nans struct{ tf.Weights }

func (s nans) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := s.Weights.Tensor(name, shape...)
	for i := range x {
		if name == "model.embed_tokens.weight" {
			x[i] = float32(math.NaN())
		}
	}
	return x, err
}

var errFeed = errors.New("cannot feed")

// strong is weights times five.
type strong struct{ tf.Weights }

func (s strong) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := s.Weights.Tensor(name, shape...)
	for i := range x {
		x[i] *= 5
	}
	return x, err
}

func logSoftmax(x []float32) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(float64(v))
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v) - math.Log(sum)
	}
	return y
}

// exhaustive lists all hypotheses by full passes, without cache, best first.
func exhaustive(t *testing.T, m *models.Model, prompt []int, c models.BeamConfig) []models.Hypothesis {
	var all []models.Hypothesis
	var extend func(tokens []int, logProb float64)
	extend = func(tokens []int, logProb float64) {
		seq := append(slices.Clone(prompt), tokens...)
		logits := make([]float32, len(seq)*m.Config.Vocab)
		tftest.NoError(t, m.Logits(new(tf.Workspace), logits, seq, tf.Uniform(1, len(seq)), nil, nil))
		for token, lp := range logSoftmax(logits[len(logits)-m.Config.Vocab:]) {
			h := models.Hypothesis{Tokens: tokens, LogProb: logProb + lp, Stopped: slices.Contains(c.Stop, token)}
			h.Score = h.LogProb / math.Pow(float64(len(tokens)+1), c.LengthPenalty)
			switch {
			case h.Stopped:
				all = append(all, h)
			default:
				h.Tokens = append(slices.Clone(tokens), token)
				if len(h.Tokens) == c.MaxTokens {
					all = append(all, h)
				} else {
					extend(h.Tokens, h.LogProb)
				}
			}
		}
	}
	extend(nil, 0)
	slices.SortStableFunc(all, func(a, b models.Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
	return all
}

func TestBeamEqualsExhaustiveSearch(t *testing.T) {
	const vocab = 4
	m := tiny(t, vocab)
	for _, penalty := range []float64{0, 0.7, 1, 2} {
		for _, stop := range [][]int{nil, {2}, {0, 3}} {
			for maxTokens := 1; maxTokens <= 4; maxTokens++ {
				c := models.BeamConfig{Width: 256, MaxTokens: maxTokens, Stop: stop, LengthPenalty: penalty}
				want := exhaustive(t, m, []int{1, 3}, c)
				got := tftest.Must(models.Beam(t.Context(), m.Start(new(tf.Workspace), c.Width), []int{1, 3}, c))(t)
				name := fmt.Sprintf("penalty %g, stop %v, %d tokens", penalty, stop, maxTokens)
				if len(got) != len(want) {
					t.Errorf("%s: %d hypotheses, want %d", name, len(got), len(want))
					continue
				}
				for i, w := range want {
					g := got[i]
					if !(math.Abs(g.Score-w.Score) <= 1e-4 && math.Abs(g.LogProb-w.LogProb) <= 1e-4) {
						t.Errorf("%s: hypothesis %d is %+v, want %+v", name, i, g, w)
					}
				}
				if !slices.Equal(got[0].Tokens, want[0].Tokens) || got[0].Stopped != want[0].Stopped {
					t.Errorf("%s: best is %+v, want %+v", name, got[0], want[0])
				}
			}
		}
	}
}

// TestBeamWidths: width 1 is greedy, and wider is no worse on what this model
// was seen to do; all hypotheses are what the model says of their tokens.
func TestBeamWidths(t *testing.T) {
	m := tiny(t, 7)
	best := math.Inf(-1)
	for _, width := range []int{1, 2, 3, 8} {
		c := models.BeamConfig{Width: width, MaxTokens: 8, Stop: []int{5}}
		got := tftest.Must(models.Beam(t.Context(), m.Start(new(tf.Workspace), width), []int{1}, c))(t)
		if len(got) == 0 || len(got) > width {
			t.Fatalf("width %d: %d hypotheses", width, len(got))
		}
		for _, h := range got {
			seq := append([]int{1}, h.Tokens...)
			if h.Stopped {
				seq = append(seq, 5)
			}
			logits := make([]float32, len(seq)*m.Config.Vocab)
			tftest.NoError(t, m.Logits(new(tf.Workspace), logits, seq, tf.Uniform(1, len(seq)), nil, nil))
			sum := 0.0
			for i, token := range seq[1:] {
				sum += logSoftmax(logits[i*m.Config.Vocab : (i+1)*m.Config.Vocab])[token]
			}
			if !(math.Abs(sum-h.LogProb) <= 1e-3) {
				t.Errorf("width %d: %v has log probability %v, the model says %v", width, h.Tokens, h.LogProb, sum)
			}
		}
		if width == 1 {
			greedy := tftest.Must(models.Collect(models.Generate(t.Context(), m.Start(new(tf.Workspace), 1), []int{1}, models.Sampling{}, models.Limits{MaxTokens: 8, Stop: []int{5}})))(t)
			if !slices.Equal(greedy, got[0].Tokens) {
				t.Errorf("beam of width 1 gives %v, greedy decoding %v", got[0].Tokens, greedy)
			}
		}
		if got[0].Score < best-1e-4 {
			t.Errorf("width %d finds %v, a narrower one found %v", width, got[0].Score, best)
		}
		best = got[0].Score
	}
}

// hesitant stops at once with a probability of 0.6, and else goes on for good.
type hesitant struct{ step int }

func (*hesitant) Vocab() int          { return 2 }
func (*hesitant) Reorder([]int) error { return nil }
func (h *hesitant) Feed([][]int) ([]float32, error) {
	if h.step++; h.step == 1 {
		return []float32{float32(math.Log(0.6)), float32(math.Log(0.4))}, nil
	}
	return []float32{-50, 0}, nil
}

// TestBeamWaits has a hypothesis that is the worse one for as long as it is short.
func TestBeamWaits(t *testing.T) {
	found := tftest.Must(models.Beam(t.Context(), new(hesitant), []int{0}, models.BeamConfig{Width: 1, MaxTokens: 4, Stop: []int{0}, LengthPenalty: 1}))(t)
	if len(found) != 1 || !slices.Equal(found[0].Tokens, []int{1, 1, 1, 1}) {
		t.Errorf("%+v, want four tokens", found)
	}
}

// TestFeedNothing feeds one of two sequences, and wants the other's logits again.
func TestFeedNothing(t *testing.T) {
	d := tiny(t, 5).Start(new(tf.Workspace), 2)
	first := slices.Clone(tftest.Must(d.Feed([][]int{{1, 2}, {3}}))(t))
	second := tftest.Must(d.Feed([][]int{nil, {4}}))(t)
	if !slices.Equal(second[:5], first[:5]) || slices.Equal(second[5:], first[5:]) {
		t.Errorf("logits %v, then %v", first, second)
	}
}

func TestGreedyIsArgMaxOfFullPass(t *testing.T) {
	m := tiny(t, 13)
	seq := []int{1, 7, 2}
	got := tftest.Must(models.Collect(models.Generate(t.Context(), m.Start(new(tf.Workspace), 1), seq, models.Sampling{}, models.Limits{MaxTokens: 20})))(t)
	for i, token := range got {
		logits := make([]float32, len(seq)*m.Config.Vocab)
		tftest.NoError(t, m.Logits(new(tf.Workspace), logits, seq, tf.Uniform(1, len(seq)), nil, nil))
		last := logits[len(logits)-m.Config.Vocab:]
		if want := slices.Index(last, slices.Max(last)); token != want {
			t.Fatalf("token %d is %d, want %d", i, token, want)
		}
		seq = append(seq, token)
	}
	if len(got) != 20 {
		t.Errorf("%d tokens, want 20", len(got))
	}
}

func TestSeeds(t *testing.T) {
	m := tiny(t, 13)
	run := func(s models.Sampling) []int {
		return tftest.Must(models.Collect(models.Generate(t.Context(), m.Start(new(tf.Workspace), 1), []int{1}, s, models.Limits{MaxTokens: 30})))(t)
	}
	s := models.Sampling{Temperature: 1.5, TopK: 8, TopP: 0.95, Seed: 7}
	if a, b := run(s), run(s); !slices.Equal(a, b) {
		t.Errorf("the same seed gives %v and %v", a, b)
	}
	other := s
	other.Seed = 8
	if slices.Equal(run(s), run(other)) {
		t.Error("another seed gives the same tokens")
	}
	greedy := run(models.Sampling{})
	for name, s := range map[string]models.Sampling{
		"top-k of 1":         {Temperature: 5, TopK: 1, Seed: 3},
		"tiny top-p":         {Temperature: 1, TopP: 1e-9, Seed: 3},
		"little temperature": {Temperature: 1e-6, Seed: 3},
	} {
		if got := run(s); !slices.Equal(got, greedy) {
			t.Errorf("%s gives %v, greedy decoding %v", name, got, greedy)
		}
	}
}

// fixed is a decoder that always predicts the same logits.
type fixed []float32

func (f fixed) Vocab() int                      { return len(f) }
func (f fixed) Feed([][]int) ([]float32, error) { return f, nil }
func (f fixed) Reorder([]int) error             { return nil }

// TestSamplingDistribution draws many tokens and compares their frequencies
// with the probabilities that the settings define.
func TestSamplingDistribution(t *testing.T) {
	d := fixed{2, 0, 1, -1, 0.5}
	p := func(temperature float64, kept ...int) []float64 {
		want, sum := make([]float64, len(d)), 0.0
		for _, i := range kept {
			want[i] = math.Exp(float64(d[i]) / temperature)
			sum += want[i]
		}
		for i := range want {
			want[i] /= sum
		}
		return want
	}
	const n = 20000
	for name, c := range map[string]struct {
		s    models.Sampling
		want []float64
	}{
		"temperature 1": {models.Sampling{Temperature: 1}, p(1, 0, 1, 2, 3, 4)},
		"temperature 3": {models.Sampling{Temperature: 3}, p(3, 0, 1, 2, 3, 4)},
		"top-k":         {models.Sampling{Temperature: 1, TopK: 3}, p(1, 0, 2, 4)},
		// Probabilities are 0.56, 0.21, 0.13, 0.08, 0.03 in order: two make 0.7.
		"top-p":          {models.Sampling{Temperature: 1, TopP: 0.7}, p(1, 0, 2)},
		"top-p of one":   {models.Sampling{Temperature: 1, TopP: 0.5}, p(1, 0)},
		"both":           {models.Sampling{Temperature: 1, TopK: 4, TopP: 0.9}, p(1, 0, 2, 4)},
		"k beyond vocab": {models.Sampling{Temperature: 1, TopK: 99}, p(1, 0, 1, 2, 3, 4)},
	} {
		c.s.Seed = rand.Uint64()
		count := make([]float64, len(d))
		for _, token := range tftest.Must(models.Collect(models.Generate(t.Context(), d, []int{0}, c.s, models.Limits{MaxTokens: n})))(t) {
			count[token]++
		}
		for i, w := range c.want {
			// Six standard deviations of a binomial distribution.
			if dev := 6 * math.Sqrt(n*w*(1-w)); math.Abs(count[i]-n*w) > dev {
				t.Errorf("%s, seed %d: token %d drawn %v times of %d, want %.0f±%.0f", name, c.s.Seed, i, count[i], n, n*w, dev)
			}
		}
	}
}

func TestStopConditions(t *testing.T) {
	d := fixed{0, 0, 0, 9}
	run := func(l models.Limits) []int {
		return tftest.Must(models.Collect(models.Generate(t.Context(), d, []int{0}, models.Sampling{}, l)))(t)
	}
	if got := run(models.Limits{Stop: []int{1, 3}}); len(got) != 0 {
		t.Errorf("generation goes on behind a stop token: %v", got)
	}
	if got := run(models.Limits{MaxTokens: 5}); len(got) != 5 {
		t.Errorf("%d tokens, want 5", len(got))
	}
	if got := run(models.Limits{StopWhen: func(tokens []int) bool { return len(tokens) == 3 }}); len(got) != 3 {
		t.Errorf("%d tokens, want 3", len(got))
	}
	for range models.Generate(t.Context(), d, []int{0}, models.Sampling{}, models.Limits{}) {
		break // the consumer may stop, too
	}
}

// recorder keeps the logits that a decoder returns.
type recorder struct {
	models.Decoder
	logits []float32
}

func (r *recorder) Feed(tokens [][]int) ([]float32, error) {
	logits, err := r.Decoder.Feed(tokens)
	r.logits = append(r.logits, logits...)
	return logits, err
}

// TestCancellation cancels after some tokens and expects no further one.
func TestCancellation(t *testing.T) {
	m := tiny(t, 13)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := &recorder{Decoder: m.Start(new(tf.Workspace), 1)}
	n := 0
	for _, err := range models.Generate(ctx, d, []int{1}, models.Sampling{}, models.Limits{}) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		if n++; n == 4 {
			cancel()
		}
	}
	if n != 4 || len(d.logits) != 4*m.Config.Vocab {
		t.Errorf("%d tokens from %d passes, want 4 of each", n, len(d.logits)/m.Config.Vocab)
	}
	d = &recorder{Decoder: m.Start(new(tf.Workspace), 3)}
	if _, err := models.Beam(ctx, d, []int{1}, models.BeamConfig{Width: 3, MaxTokens: 9}); !errors.Is(err, context.Canceled) || len(d.logits) > 0 {
		t.Errorf("beam search with a cancelled context: %v after %d logits", err, len(d.logits))
	}
}

// brokenDecoder fails at its third pass.
type brokenDecoder struct {
	fixed
	passes *int
}

func (b brokenDecoder) Feed(tokens [][]int) ([]float32, error) {
	if *b.passes++; *b.passes == 3 {
		return nil, errFeed
	}
	return b.fixed.Feed(tokens)
}

func TestGenerationReportsErrors(t *testing.T) {
	d := brokenDecoder{fixed{1, 2}, new(int)}
	if got, err := models.Collect(models.Generate(t.Context(), d, []int{0}, models.Sampling{}, models.Limits{})); len(got) != 2 || !errors.Is(err, errFeed) {
		t.Errorf("%d tokens, %v", len(got), err)
	}
	*d.passes = 0
	if _, err := models.Beam(t.Context(), d, []int{0}, models.BeamConfig{Width: 1, MaxTokens: 9}); !errors.Is(err, errFeed) {
		t.Error(err)
	}
	m := tiny(t, 13)
	for name, err := range map[string]error{
		"no prompt":      tftest.Second(models.Collect(models.Generate(t.Context(), d, nil, models.Sampling{}, models.Limits{}))),
		"two sequences":  tftest.Second(models.Collect(models.Generate(t.Context(), m.Start(new(tf.Workspace), 2), []int{1}, models.Sampling{}, models.Limits{}))),
		"beam prompt":    tftest.Second(models.Beam(t.Context(), d, nil, models.BeamConfig{Width: 1, MaxTokens: 9})),
		"beam sequences": tftest.Second(models.Beam(t.Context(), d, []int{0}, models.BeamConfig{Width: 2, MaxTokens: 9})),
	} {
		if !errors.Is(err, tf.ErrShape) {
			t.Errorf("%s: error %v, want ErrShape", name, err)
		}
	}
	if _, err := models.Beam(t.Context(), d, []int{0}, models.BeamConfig{}); !errors.Is(err, tf.ErrConfig) {
		t.Errorf("beam search of width 0: %v", err)
	}
	learned := tftest.Must(models.New([]byte(`{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 13, "n_embd": 16,
		"n_layer": 1, "n_head": 2, "n_positions": 64}`), tf.Random(3)))(t)
	long := models.Generate(t.Context(), learned.Start(new(tf.Workspace), 1), []int{1}, models.Sampling{}, models.Limits{})
	if got, err := models.Collect(long); len(got) != 64 || !errors.Is(err, tf.ErrTooLong) {
		t.Errorf("beyond the positions: %d tokens, %v", len(got), err)
	}
}

// drawn gives logits of one decimal, so that many are equal, and some that are -Inf.
type drawn struct {
	rand   *rand.Rand
	vocab  int
	logits []float32
}

func (d *drawn) Vocab() int          { return d.vocab }
func (d *drawn) Reorder([]int) error { return nil }
func (d *drawn) Feed(tokens [][]int) ([]float32, error) {
	d.logits = make([]float32, len(tokens)*d.vocab)
	for i := range d.logits {
		d.logits[i] = float32(math.Round(d.rand.NormFloat64()*20)) / 10
		if d.rand.IntN(10) == 0 {
			d.logits[i] = float32(math.Inf(-1))
		}
	}
	return d.logits, nil
}

// TestSamplingSorts compares what Generate draws with drawing from all tokens sorted.
func TestSamplingSorts(t *testing.T) {
	for _, s := range []models.Sampling{
		{Temperature: 0.7, TopK: 5}, {Temperature: 3, TopK: 40}, {Temperature: 1, TopP: 0.3}, {Temperature: 2, TopP: 0.99},
		{Temperature: 1.5, TopK: 60, TopP: 0.8}, {Temperature: 1, TopK: 1000, TopP: 0.9},
	} {
		s.Seed = 11
		draws := rand.New(rand.NewPCG(s.Seed, 0))
		d := &drawn{rand: rand.New(rand.NewPCG(1, 2)), vocab: 300}
		step := 0
		for token, err := range models.Generate(t.Context(), d, []int{1}, s, models.Limits{MaxTokens: 200}) {
			tftest.NoError(t, err)
			step++
			p, order := make([]float64, d.vocab), make([]int, d.vocab)
			for i, l := range d.logits {
				p[i], order[i] = math.Exp(float64(l-slices.Max(d.logits))/s.Temperature), i
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[b], p[a]) })
			total := func() (sum float64) {
				for _, i := range order {
					sum += p[i]
				}
				return sum
			}
			if s.TopK > 0 {
				order = order[:min(s.TopK, len(order))]
			}
			if all, reached := total(), 0.0; s.TopP > 0 {
				end := slices.IndexFunc(order, func(i int) bool { reached += p[i]; return reached >= s.TopP*all*(1-1e-12) })
				order = order[:end+1]
			}
			at, want := draws.Float64()*total(), -1
			for _, i := range order {
				if at -= p[i]; at < 0 {
					want = i
					break
				}
			}
			if token != want {
				t.Fatalf("%+v: token %d is %d, want %d", s, step, token, want)
			}
		}
	}
}

// TestSamplingInfinite has a token that is certain.
func TestSamplingInfinite(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, s := range []models.Sampling{{Temperature: 1}, {Temperature: 1, TopK: 2}, {Temperature: 1, TopP: 0.5}} {
		d := fixed{0, 3, inf, -inf}
		if got := tftest.Must(models.Collect(models.Generate(t.Context(), d, []int{0}, s, models.Limits{MaxTokens: 3})))(t); !slices.Equal(got, []int{2, 2, 2}) {
			t.Errorf("%+v: %v, want the token with +Inf", s, got)
		}
	}
}

// TestBeamSorts compares Beam with sorting all continuations at each step.
func TestBeamSorts(t *testing.T) {
	for _, width := range []int{1, 2, 3, 7, 20} {
		const vocab, steps = 30, 6
		found := tftest.Must(models.Beam(t.Context(), &drawn{rand: rand.New(rand.NewPCG(3, 4)), vocab: vocab}, []int{0}, models.BeamConfig{Width: width, MaxTokens: steps}))(t)
		d := &drawn{rand: rand.New(rand.NewPCG(3, 4)), vocab: vocab}
		live := []models.Hypothesis{{}}
		for range steps {
			logits := tftest.Must(d.Feed(make([][]int, width)))(t)
			var all []models.Hypothesis
			for i, h := range live {
				for token, l := range logSoftmax(logits[i*vocab:][:vocab]) {
					all = append(all, models.Hypothesis{Tokens: append(slices.Clone(h.Tokens), token), LogProb: h.LogProb + l})
				}
			}
			slices.SortStableFunc(all, func(a, b models.Hypothesis) int {
				if math.Abs(a.LogProb-b.LogProb) <= 1e-9 { // equal but for rounding
					return 0
				}
				return cmp.Compare(b.LogProb, a.LogProb)
			})
			live = all[:min(width, len(all))]
		}
		for i, h := range found {
			if !slices.Equal(h.Tokens, live[i].Tokens) || !(math.Abs(h.LogProb-live[i].LogProb) <= 1e-9) {
				t.Fatalf("width %d: hypothesis %d is %v, %v, want %v, %v", width, i, h.Tokens, h.LogProb, live[i].Tokens, live[i].LogProb)
			}
		}
		if len(found) != len(live) {
			t.Errorf("width %d: %d hypotheses, want %d", width, len(found), len(live))
		}
	}
}

// TestPromptLogits: of a prompt, only the last token's logits are computed.
func TestPromptLogits(t *testing.T) {
	const vocab, length = 20000, 64
	m := tiny(t, vocab)
	prompt := make([]int, length)
	for i := range prompt {
		prompt[i] = i * 7 % vocab
	}
	ws := new(tf.Workspace)
	last := tftest.Must(m.Start(ws, 1).Feed([][]int{prompt}))(t)
	all := make([]float32, length*vocab)
	tftest.NoError(t, m.Logits(ws, all, prompt, tf.Uniform(1, length), nil, nil))
	for i, got := range last {
		if want := all[(length-1)*vocab+i]; !(math.Abs(float64(got-want)) <= 1e-4*max(1, math.Abs(float64(want)))) {
			t.Fatalf("logit %d is %v, that of the whole pass %v", i, got, want)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tftest.Must(m.Start(new(tf.Workspace), 1).Feed([][]int{prompt}))(t)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*length*vocab { // the race detector has pools forget at random
		t.Errorf("%d bytes for a prompt of %d tokens; all logits would take %d", got, length, 4*length*vocab)
	}
}

// TestLogitsLength: logits of a wrong length leave the cache as it was.
func TestLogitsLength(t *testing.T) {
	m := tiny(t, 7)
	cache := tf.NewCache(1, 1)
	err := m.Logits(new(tf.Workspace), make([]float32, 6), []int{1}, tf.Uniform(1, 1), nil, cache)
	if !errors.Is(err, tf.ErrShape) || cache.Len(0) != 0 {
		t.Errorf("%v, and %d tokens in the cache", err, cache.Len(0))
	}
}

// TestWindowMemory generates far beyond a window, with a cache that must not
// grow, and equals a pass without cache.
func TestWindowMemory(t *testing.T) {
	const vocab, window = 11, 5
	windowed := func(window int) *models.Model {
		config := fmt.Sprintf(`{"model_type": "mistral", "architectures": ["MistralForCausalLM"], "vocab_size": %d, "hidden_size": 24, "num_hidden_layers": 2,
			"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 32, "max_position_embeddings": 300, "sliding_window": %d}`, vocab, window)
		return tftest.Must(models.New([]byte(config), tf.Random(2)))(t)
	}
	m := windowed(window)
	r := rand.New(rand.NewPCG(5, 5))
	tokens := make([]int, 250)
	for i := range tokens {
		tokens[i] = r.IntN(vocab)
	}
	ws := new(tf.Workspace)
	full := make([]float32, len(tokens)*vocab)
	tftest.NoError(t, m.Logits(ws, full, tokens, tf.Uniform(1, len(tokens)), nil, nil))
	d := m.Start(ws, 1)
	for i := 0; i < len(tokens); {
		n := min(1+r.IntN(4), len(tokens)-i)
		logits := tftest.Must(d.Feed([][]int{tokens[i : i+n]}))(t)
		i += n
		if text := tftest.Mismatch(logits, full[(i-1)*vocab:i*vocab], func(int, float64) float64 { return 1e-4 }); text != "" {
			t.Fatalf("after token %d: %s", i, text)
		}
		if held := len(d.Cache().Keys(0, 0)) / 12; held > 4*window {
			t.Fatalf("after token %d the cache holds %d rows for a window of %d", i, held, window)
		}
	}
	if d.Cache().Len(0) != len(tokens) {
		t.Errorf("Len = %d, want %d", d.Cache().Len(0), len(tokens))
	}

	// A window that no sequence fills takes no memory.
	m = windowed(math.MaxInt32)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tftest.Must(m.Start(ws, 1).Feed([][]int{tokens[:3]}))(t)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes for three tokens", got)
	}
}

// TestHostileSampling has settings and logits that are no numbers: a token of the
// vocabulary comes out, or an error.
func TestHostileSampling(t *testing.T) {
	m := tiny(t, 7)
	nan, inf := math.NaN(), math.Inf(1)
	for _, s := range []models.Sampling{{Temperature: nan}, {Temperature: inf}, {Temperature: -1}, {Temperature: 1e-300}, {Temperature: 1, TopK: -3},
		{Temperature: 1, TopK: 1 << 30}, {Temperature: 1, TopP: nan}, {Temperature: 1, TopP: -1}, {Temperature: 1, TopP: 1e-300}} {
		tokens, err := models.Collect(models.Generate(t.Context(), m.Start(new(tf.Workspace), 1), []int{1}, s, models.Limits{MaxTokens: 3}))
		if err != nil || len(tokens) != 3 {
			t.Errorf("%+v: %v, %v", s, tokens, err)
		}
	}
	for _, penalty := range []float64{nan, -1, math.Inf(-1)} {
		_, err := models.Beam(t.Context(), m.Start(new(tf.Workspace), 2), []int{1}, models.BeamConfig{Width: 2, MaxTokens: 3, LengthPenalty: penalty})
		if !errors.Is(err, tf.ErrConfig) {
			t.Errorf("length penalty %v: error %v", penalty, err)
		}
	}
	spoilt := tftest.Must(models.New([]byte(tinyConfig(7)), nans{tf.Random(3)}))(t)
	for _, s := range []models.Sampling{{}, {Temperature: 1}, {Temperature: 1, TopK: 3, TopP: 0.5}} {
		for token, err := range models.Generate(t.Context(), spoilt.Start(new(tf.Workspace), 1), []int{1}, s, models.Limits{MaxTokens: 3}) {
			if err != nil || token < 0 || token >= 7 {
				t.Errorf("%+v, logits NaN: token %d, %v", s, token, err)
			}
		}
	}
	if _, err := models.Beam(t.Context(), spoilt.Start(new(tf.Workspace), 2), []int{1}, models.BeamConfig{Width: 2, MaxTokens: 3}); err != nil {
		t.Logf("beam search over NaN: %v", err)
	}
}

// TestLogitsErrors passes what does not fit.
func TestLogitsErrors(t *testing.T) {
	model, ws := tiny(t, 9), new(tf.Workspace)
	for name, c := range map[string]struct{ err, want error }{
		"token":            {model.Logits(ws, make([]float32, 9), []int{9}, tf.Uniform(1, 1), nil, nil), tf.ErrToken},
		"negative token":   {model.Logits(ws, make([]float32, 9), []int{-1}, tf.Uniform(1, 1), nil, nil), tf.ErrToken},
		"tokens and batch": {model.Logits(ws, make([]float32, 9), []int{1}, tf.Uniform(1, 2), nil, nil), tf.ErrShape},
		"cache of another": {model.Logits(ws, make([]float32, 9), []int{1}, tf.Uniform(1, 1), nil, tf.NewCache(2, 0)), tf.ErrShape},
		"nil workspace":    {model.Logits(nil, make([]float32, 9), []int{1}, tf.Uniform(1, 1), nil, nil), tf.ErrConfig},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", name, c.err, c.want)
		}
	}
}
