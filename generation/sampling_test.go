package generation_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

func TestSeeds(t *testing.T) {
	m := tiny(t, 13)
	run := func(s generation.Sampling) []int {
		return tftest.Must(generation.Collect(generation.Generate(t.Context(), generation.Start(new(tf.Workspace), m, 1), []int{1}, generation.SamplerConfig{Sampling: s}, generation.Limits{MaxTokens: 30})))(t)
	}
	s := generation.Sampling{Temperature: 1.5, TopK: 8, TopP: 0.95, Seed: 7}
	if a, b := run(s), run(s); !slices.Equal(a, b) {
		t.Errorf("the same seed gives %v and %v", a, b)
	}
	other := s
	other.Seed = 8
	if slices.Equal(run(s), run(other)) {
		t.Error("another seed gives the same tokens")
	}
	greedy := run(generation.Sampling{})
	for name, s := range map[string]generation.Sampling{
		"top-k of 1":         {Temperature: 5, TopK: 1, Seed: 3},
		"tiny top-p":         {Temperature: 1, TopP: 1e-9, Seed: 3},
		"top-p of 0":         {Temperature: 1, TopP: generation.ZeroP, Seed: 3},
		"min-p of 1":         {Temperature: 1, MinP: 1, Seed: 3},
		"little temperature": {Temperature: 1e-6, Seed: 3},
	} {
		if got := run(s); !slices.Equal(got, greedy) {
			t.Errorf("%s gives %v, greedy decoding %v", name, got, greedy)
		}
	}
}

// fixed is a decoder that always predicts the same logits.
type fixed []float32

func (f fixed) Vocab() int { return len(f) }

func (f fixed) Feed([][]int) ([]float32, error) { return f, nil }

func (f fixed) Reorder([]int) error { return nil }

// TestSamplingDistribution draws many tokens and compares their frequencies with the probabilities
// that the settings define.
func TestSamplingDistribution(t *testing.T) {
	if testenv.Slow() {
		t.Skip("takes long here, and no kernel runs")
	}
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
		s    generation.Sampling
		want []float64
	}{
		"temperature 1": {generation.Sampling{Temperature: 1}, p(1, 0, 1, 2, 3, 4)},
		"temperature 3": {generation.Sampling{Temperature: 3}, p(3, 0, 1, 2, 3, 4)},
		"top-k":         {generation.Sampling{Temperature: 1, TopK: 3}, p(1, 0, 2, 4)},
		// Probabilities are 0.56, 0.21, 0.13, 0.08, 0.03 in order: two make 0.7.
		"top-p":          {generation.Sampling{Temperature: 1, TopP: 0.7}, p(1, 0, 2)},
		"top-p of one":   {generation.Sampling{Temperature: 1, TopP: 0.5}, p(1, 0)},
		"both":           {generation.Sampling{Temperature: 1, TopK: 4, TopP: 0.9}, p(1, 0, 2, 4)},
		"k beyond vocab": {generation.Sampling{Temperature: 1, TopK: 99}, p(1, 0, 1, 2, 3, 4)},
	} {
		c.s.Seed = rand.Uint64()
		count := make([]float64, len(d))
		for _, token := range tftest.Must(generation.Collect(generation.Generate(t.Context(), d, []int{0}, generation.SamplerConfig{Sampling: c.s}, generation.Limits{MaxTokens: n})))(t) {
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

// drawn gives logits of one decimal, so that many are equal, and some that are -Inf.
type drawn struct {
	rand   *rand.Rand
	vocab  int
	logits []float32
}

func (d *drawn) Vocab() int { return d.vocab }

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
	if testenv.Slow() {
		t.Skip("takes long here, and no kernel runs")
	}
	for _, s := range []generation.Sampling{
		{Temperature: 0.7, TopK: 5}, {Temperature: 3, TopK: 40}, {Temperature: 1, TopP: 0.3}, {Temperature: 2, TopP: 0.99},
		{Temperature: 1.5, TopK: 60, TopP: 0.8}, {Temperature: 1, TopK: 1000, TopP: 0.9},
		{Temperature: 1}, {Temperature: 1, MinP: 0.01}, {Temperature: 1, TopP: 0.99, MinP: 0.2}, {Temperature: 2, TopK: 50, TopP: 0.9, MinP: 0.1}, {Temperature: 1, TypicalP: 0.3}, {Temperature: 1.5, TopP: 0.95, MinP: 0.02, TypicalP: 0.6},
	} {
		s.Seed = 11
		draws := rand.New(rand.NewPCG(s.Seed, 0))
		d := &drawn{rand: rand.New(rand.NewPCG(1, 2)), vocab: 300}
		step := 0
		for token, err := range generation.Generate(t.Context(), d, []int{1}, generation.SamplerConfig{Sampling: s}, generation.Limits{MaxTokens: 200}) {
			tftest.NoError(t, err)
			step++
			p, order := make([]float64, d.vocab), make([]int, d.vocab)
			for i, l := range d.logits {
				p[i], order[i] = math.Exp(float64(l-slices.Max(d.logits))/s.Temperature), i
			}
			order = slices.DeleteFunc(order, func(i int) bool { return p[i] == 0 })
			if s.TopK > 0 || s.TopP > 0 {
				slices.SortFunc(order, func(a, b int) int {
					if s.TopP > 0 { // of equals the last
						a, b = b, a
						return cmp.Or(cmp.Compare(p[a], p[b]), a-b)
					}
					return cmp.Or(cmp.Compare(p[b], p[a]), a-b)
				})
			}
			total := func() (sum float64) {
				for _, i := range order {
					sum += p[i]
				}
				return sum
			}
			if k := s.TopK; k > 0 {
				for k < len(order) && p[order[k]] == p[order[s.TopK-1]] {
					k++
				}
				order = order[:min(k, len(order))]
			}
			if all, reached := total(), 0.0; s.TopP > 0 {
				end := slices.IndexFunc(order, func(i int) bool { reached += p[i]; return reached >= s.TopP*all*(1-1e-12) })
				order = order[:end+1]
			}
			if s.MinP > 0 {
				likeliest := 1.0
				order = slices.DeleteFunc(order, func(i int) bool { return p[i] < s.MinP*likeliest })
			}
			if all, entropy, reached := total(), 0.0, 0.0; s.TypicalP > 0 {
				for _, i := range order {
					if p[i] > 0 {
						entropy += p[i] / all * math.Log(all/p[i])
					}
				}
				strange := func(i int) float64 { return math.Abs(math.Log(all/p[i]) - entropy) }
				slices.SortFunc(order, func(a, b int) int {
					if math.Abs(strange(a)-strange(b)) <= 1e-9 { // equal except for rounding
						return cmp.Or(cmp.Compare(p[b], p[a]), a-b)
					}
					return cmp.Compare(strange(a), strange(b))
				})
				end := slices.IndexFunc(order, func(i int) bool { reached += p[i]; return reached >= s.TypicalP*all*(1-1e-12) })
				for end+1 < len(order) && strange(order[end+1])-strange(order[end]) <= 1e-9 {
					end++
				}
				order = order[:end+1]
			}
			distribution := tftest.Must(sampler(t, generation.SamplerConfig{Vocab: d.vocab, Sampling: s}).Distribution(nil, d.logits))(t)
			if len(distribution) != len(order) {
				t.Fatalf("%+v: step %d: %d tokens in the distribution, want %d", s, step, len(distribution), len(order))
			}
			for i, x := range distribution {
				if want := p[order[i]] / total(); x.Token != order[i] || !(math.Abs(x.P-want) <= 1e-7) {
					t.Fatalf("%+v: step %d: the distribution has %+v, want token %d with %v", s, step, x, order[i], want)
				}
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

// TestSamplingInfinite has a token that a hook makes certain.
func TestSamplingInfinite(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, sampling := range []generation.Sampling{{Temperature: 1}, {Temperature: 1, TopK: 2}, {Temperature: 1, TopP: 0.5}} {
		s := generation.SamplerConfig{Sampling: sampling}
		d := fixed{0, 3, 1, -inf}
		s.Hook = func(logits []float32, _ []int) { logits[2] = inf }
		if got := tftest.Must(generation.Collect(generation.Generate(t.Context(), d, []int{0}, s, generation.Limits{MaxTokens: 3})))(t); !slices.Equal(got, []int{2, 2, 2}) {
			t.Errorf("%+v: %v, want the token with +Inf", s, got)
		}
	}
}

// TestHostileSampling has settings and logits that are not numbers: the text ends with an error
// that says so.
func TestHostileSampling(t *testing.T) {
	m := tiny(t, 7)
	nan, inf := math.NaN(), math.Inf(1)
	for _, s := range []generation.Sampling{{Temperature: nan}, {Temperature: inf}, {Temperature: -1}, {Temperature: 1e-300}, {Temperature: 1, TopK: -3},
		{Temperature: 1, TopK: 1 << 30}, {Temperature: 1, TopP: nan}, {Temperature: 1, TopP: -1}, {Temperature: 1, TopP: 1e-300}} {
		tokens, err := generation.Collect(generation.Generate(t.Context(), generation.Start(new(tf.Workspace), m, 1), []int{1}, generation.SamplerConfig{Sampling: s}, generation.Limits{MaxTokens: 3}))
		if meaningless := !(s.Temperature >= 0 && s.Temperature < inf && s.TopK >= 0 && s.TopP >= 0); errors.Is(err, fault.ErrOption) != meaningless || !meaningless && (err != nil || len(tokens) != 3) {
			t.Errorf("%+v: %v, %v", s, tokens, err)
		}
	}
	for _, penalty := range []float64{nan, inf, math.Inf(-1)} {
		_, err := generation.Beam(t.Context(), generation.Start(new(tf.Workspace), m, 2), []int{1}, generation.BeamConfig{Width: 2, MaxTokens: 3, LengthPenalty: penalty})
		if !errors.Is(err, fault.ErrConfig) {
			t.Errorf("length penalty %v: error %v", penalty, err)
		}
	}
	spoilt := tftest.Must(models.New([]byte(tinyConfig(7)), nans{tf.Random(3)}, models.Options{}))(t)
	for _, sampling := range []generation.Sampling{{}, {Temperature: 1}, {Temperature: 1, TopK: 3, TopP: 0.5}} {
		s := generation.SamplerConfig{Sampling: sampling}
		for _, d := range []generation.Decoder{generation.Start(new(tf.Workspace), spoilt, 1), fixed{0, 1, 2, float32(inf)}, fixed{float32(-inf), float32(-inf)}} {
			tokens, err := generation.Collect(generation.Generate(t.Context(), d, []int{1}, s, generation.Limits{MaxTokens: 3}))
			if !errors.Is(err, fault.ErrNotFinite) || len(tokens) > 0 {
				t.Errorf("%+v of %T: tokens %d, %v, want ErrNotFinite", s, d, tokens, err)
			}
		}
	}
	found, err := generation.Beam(t.Context(), generation.Start(new(tf.Workspace), spoilt, 2), []int{1}, generation.BeamConfig{Width: 2, MaxTokens: 3})
	if !errors.Is(err, fault.ErrNotFinite) || found != nil {
		t.Errorf("beam search over NaN: %v, %v, want ErrNotFinite", found, err)
	}
	if _, err := generation.Beam(t.Context(), generation.Start(new(tf.Workspace), spoilt, 2), []int{1}, generation.BeamConfig{Width: 2, MaxTokens: 3, Rules: &generation.Rules{RemoveInvalid: true}}); err != nil {
		t.Errorf("beam search over what RemoveInvalid makes of NaN: %v", err)
	}
}
