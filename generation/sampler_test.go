package generation_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
)

// sampler is one that there is.
func sampler(t testing.TB, c generation.SamplerConfig) *generation.Sampler {
	t.Helper()
	return tftest.Must(generation.NewSampler(c))(t)
}

// choices returns the tokens that s chooses from logits that are always the same.
func choices(t *testing.T, s *generation.Sampler, logits []float32, n int) (tokens []int) {
	t.Helper()
	for range n {
		tokens = append(tokens, tftest.Must(s.Choose(logits))(t).Token)
	}
	return tokens
}

func TestSamplerSeed(t *testing.T) {
	logits := make([]float32, 100)
	c := generation.SamplerConfig{Vocab: 100, Sampling: generation.Sampling{Temperature: 1}}
	one, other := sampler(t, c), sampler(t, c)
	tokens := choices(t, one, logits, 20)
	if slices.Equal(tokens, choices(t, other, logits, 20)) || one.Seed() == 0 || one.Seed() == other.Seed() {
		t.Errorf("seeds %d and %d, both give %v", one.Seed(), other.Seed(), tokens)
	}
	c.Seed = one.Seed()
	if again := choices(t, sampler(t, c), logits, 20); !slices.Equal(again, tokens) {
		t.Errorf("the seed of a sampler gives %v, the sampler %v", again, tokens)
	}
}

// TestSamplerPlaces: the draw at a place is the same whatever was accepted, or chosen and taken
// back, before.
func TestSamplerPlaces(t *testing.T) {
	logits := tftest.Normal(3, 50)
	for name, rules := range map[string]*generation.Rules{"none": nil, "rules": {RepetitionPenalty: 1.5, NoRepeatNgram: 2, PresencePenalty: 0.5}} {
		c := generation.SamplerConfig{Vocab: 50, Sampling: generation.Sampling{Temperature: 2, TopP: 0.95, Seed: 9}, Rules: rules, Prompt: []int{3, 3, 4}}
		want := choices(t, sampler(t, c), logits, 40)
		r := rand.New(rand.NewPCG(2, 2))
		s := sampler(t, c)
		for s.Len() < len(want) {
			if r.IntN(2) == 0 {
				tftest.NoError(t, s.Accept(want[s.Len()]))
			}
			n := r.IntN(4)
			choices(t, s, tftest.Normal(r.Uint64(), 50), n) // a draft
			if r.IntN(2) == 0 {
				tftest.NoError(t, s.Accept(r.IntN(50)))
				n++
			}
			tftest.NoError(t, s.Undo(n))
			if s.Len() == len(want) {
				break
			}
			if at := s.Len(); choices(t, s, logits, 1)[0] != want[at] {
				t.Fatalf("%s: another token %d than in one go", name, at)
			}
		}
		for _, n := range []int{-1, s.Len() + 1} {
			if err := s.Undo(n); !errors.Is(err, fault.ErrConfig) {
				t.Errorf("%s: undo of %d of %d tokens: %v", name, n, s.Len(), err)
			}
		}
	}
}

// TestCertainDistributions: one token has all, where none is drawn and where a hook makes one
// infinitely likely.
func TestCertainDistributions(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		temperature float64
		logits      []float32
		want        int
	}{{0, []float32{1, 3, 2}, 1}, {0, []float32{2, 1, 2}, 0}, {1, []float32{1, 2, 9}, 2}, {1e-300, []float32{1, 2, 1.5}, 1}, {1e-40, []float32{3, 2, 0}, 0}} {
		for _, filter := range []generation.Sampling{{}, {TopP: 0.9}, {MinP: 0.1}, {TypicalP: 0.9}, {TopK: 2}} {
			settings := generation.SamplerConfig{Vocab: 3, Sampling: filter}
			settings.Temperature = c.temperature
			settings.Hook = func(logits []float32, _ []int) {
				if logits[2] == 9 {
					logits[2] = inf
				}
			}
			s := sampler(t, settings)
			got := tftest.Must(s.Distribution(nil, c.logits))(t)
			if likely := slices.DeleteFunc(got, func(x generation.Probability) bool { return x.P == 0 }); !slices.Equal(likely, []generation.Probability{{Token: c.want, P: 1}}) {
				t.Errorf("%+v, logits %v: %v, want token %d", settings, c.logits, got, c.want)
			}
			if token := choices(t, s, c.logits, 1)[0]; token != c.want {
				t.Errorf("%+v, logits %v: token %d, want %d", settings, c.logits, token, c.want)
			}
		}
	}
}

// TestLogProbs compares with logarithms of a softmax in float64. Temperature, rules and filters
// change nothing of them.
func TestLogProbs(t *testing.T) {
	const vocab = 200
	for seed := range uint64(20) {
		logits := tftest.Normal(seed, vocab)
		for i := range logits {
			logits[i] *= 6
		}
		logits[7], logits[9] = logits[8], logits[8]
		logits[11] = float32(math.Inf(-1)) // which is never on top
		want := logSoftmax(logits)
		order := make([]int, vocab)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
		for _, c := range []generation.SamplerConfig{
			{LogProbs: true}, {LogProbs: true, TopLogProbs: 5}, {Sampling: generation.Sampling{Temperature: 3, TopK: 50}, LogProbs: true, TopLogProbs: 1},
			{Sampling: generation.Sampling{Temperature: 1}, TopLogProbs: 3}, {LogProbs: true, TopLogProbs: vocab + 1, Rules: &generation.Rules{SuppressTokens: order[:3]}},
		} {
			c.Vocab, c.Seed = vocab, seed+1
			got := tftest.Must(sampler(t, c).Choose(logits))(t)
			if !c.LogProbs {
				if got.LogProb != 0 || got.Top != nil {
					t.Errorf("%+v, unasked", got)
				}
				continue
			}
			if !(math.Abs(float64(got.LogProb)-want[got.Token]) <= 1e-5) {
				t.Errorf("log probability %v of token %d, want %v", got.LogProb, got.Token, want[got.Token])
			}
			if n := min(c.TopLogProbs, vocab-1); len(got.Top) != n {
				t.Fatalf("%d tokens on top, want %d", len(got.Top), n)
			}
			for i, top := range got.Top {
				if top.Token != order[i] || !(math.Abs(float64(top.LogProb)-want[top.Token]) <= 1e-5) {
					t.Errorf("number %d of the top is %+v, want %d with %v", i, top, order[i], want[order[i]])
				}
			}
		}
	}
}

// witness is a constraint that remembers what it saw, and forbids tokens.
type witness struct {
	forbidden, accepted []int
	saw                 []float32
}

var errRefused = errors.New("refused")

func (w *witness) Apply(logits []float32) error {
	w.saw = slices.Clone(logits)
	for _, token := range w.forbidden {
		logits[token] = float32(math.Inf(-1))
	}
	return nil
}

func (w *witness) Accept(token int) error {
	if slices.Contains(w.forbidden, token) {
		return errRefused
	}
	w.accepted = append(w.accepted, token)
	return nil
}

// A grammar is a constraint.
var _ generation.Constraint = (*grammar.Matcher)(nil)

// undoable is a witness that can be undone, but not to its start.
type undoable struct{ *witness }

func (u undoable) Undo(n int) error {
	if n == len(u.accepted) {
		return errRefused
	}
	u.accepted = u.accepted[:len(u.accepted)-n]
	return nil
}

// TestSamplerOrder has hook, rules and constraint, each of which would choose another token.
func TestSamplerOrder(t *testing.T) {
	logits := []float32{5, 4, 3, 2, 1}
	w := &witness{forbidden: []int{3}}
	var tokens []int
	c := generation.SamplerConfig{Vocab: 5, Prompt: []int{4, 4}, Constraint: w, LogProbs: true,
		Hook: func(x []float32, before []int) {
			if !slices.Equal(x, logits) {
				t.Errorf("the hook sees %v", x)
			}
			tokens = slices.Clone(before)
			x[3] = 9 // which the rules make less likely, and the constraint forbids
			x[2] = 7
		},
		Rules: &generation.Rules{LogitBias: map[int]float64{3: -1}}}
	s := sampler(t, c)
	first := tftest.Must(s.Choose(logits))(t)
	if first.Token != 2 || !slices.Equal(tokens, []int{4, 4}) || !slices.Equal(w.saw, []float32{5, 4, 7, 8, 1}) {
		t.Errorf("token %d after %v, the constraint saw %v", first.Token, tokens, w.saw)
	}
	if want := logSoftmax(logits)[2]; !(math.Abs(float64(first.LogProb)-want) <= 1e-5) {
		t.Errorf("log probability %v, want the model's, %v", first.LogProb, want)
	}
	tftest.Must(s.Choose(logits))(t)
	if !slices.Equal(tokens, []int{4, 4, 2}) || !slices.Equal(w.accepted, []int{2, 2}) || !slices.Equal(logits, []float32{5, 4, 3, 2, 1}) {
		t.Errorf("the hook saw %v, the constraint accepted %v, logits are %v", tokens, w.accepted, logits)
	}
}

// TestConstraintErrors has constraints that leave no token, refuse one, and cannot be undone.
func TestConstraintErrors(t *testing.T) {
	logits := []float32{1, 2, 3}
	for _, temperature := range []float64{0, 1} {
		none := sampler(t, generation.SamplerConfig{Vocab: 3, Sampling: generation.Sampling{Temperature: temperature}, Constraint: &witness{forbidden: []int{0, 2}}, Rules: &generation.Rules{SuppressTokens: []int{1}}})
		if c, err := none.Choose(logits); !errors.Is(err, fault.ErrNoToken) || c.Token != -1 || none.Len() != 0 {
			t.Errorf("temperature %g, all forbidden: %+v, %v", temperature, c, err)
		}
		if d, err := none.Distribution(nil, logits); !errors.Is(err, fault.ErrNoToken) || len(d) != 0 {
			t.Errorf("temperature %g, all forbidden: %v, %v", temperature, d, err)
		}
	}
	w := &witness{forbidden: []int{2}}
	s := sampler(t, generation.SamplerConfig{Vocab: 3, Constraint: w})
	choices(t, s, logits, 3)
	if err := s.Accept(2); !errors.Is(err, errRefused) || s.Len() != 3 {
		t.Errorf("a token that the constraint refuses: %v, %d tokens", err, s.Len())
	}
	if err := s.Undo(1); !errors.Is(err, fault.ErrConfig) || s.Len() != 3 {
		t.Errorf("a constraint without Undo: %v, %d tokens", err, s.Len())
	}
	u := undoable{&witness{}}
	s = sampler(t, generation.SamplerConfig{Vocab: 3, Constraint: u})
	choices(t, s, logits, 3)
	tftest.NoError(t, s.Undo(2))
	if len(u.accepted) != 1 || s.Len() != 1 {
		t.Errorf("after Undo the constraint has %v, the sampler %d tokens", u.accepted, s.Len())
	}
	if err := s.Undo(1); !errors.Is(err, errRefused) || s.Len() != 1 {
		t.Errorf("a constraint that refuses Undo: %v, %d tokens", err, s.Len())
	}
}

// TestSamplerErrors gives samplers what means nothing.
func TestSamplerErrors(t *testing.T) {
	nan := math.NaN()
	for _, c := range []generation.SamplerConfig{
		{}, {Vocab: -1}, {Vocab: 3, Rules: &generation.Rules{FrequencyPenalty: nan}},
		{Vocab: 3, Rules: &generation.Rules{PresencePenalty: math.Inf(1)}}, {Vocab: 3, Rules: &generation.Rules{LogitBias: map[int]float64{1: nan}}},
	} {
		if _, err := generation.NewSampler(c); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%+v: %v, want ErrConfig", c, err)
		}
	}
	for _, s := range []generation.Sampling{{Temperature: -1}, {Temperature: math.Inf(1)}, {TopK: -1}, {TopP: 1.1}, {MinP: nan}, {MinP: 2}, {TypicalP: -1}} {
		if _, err := generation.NewSampler(generation.SamplerConfig{Vocab: 3, Sampling: s}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%+v: %v, want ErrOption", s, err)
		}
	}
	for _, c := range []generation.SamplerConfig{{Vocab: 3, TopLogProbs: -1}, {Vocab: 3, MaxTokens: -1}} {
		if _, err := generation.NewSampler(c); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%+v: %v, want ErrOption", c, err)
		}
	}
	for _, token := range []int{-1, 3} {
		if _, err := generation.NewSampler(generation.SamplerConfig{Vocab: 3, Rules: &generation.Rules{LogitBias: map[int]float64{token: 1}}}); !errors.Is(err, fault.ErrToken) {
			t.Errorf("a bias of token %d: %v, want ErrToken", token, err)
		}
		s := sampler(t, generation.SamplerConfig{Vocab: 3})
		if err := s.Accept(token); !errors.Is(err, fault.ErrToken) || s.Len() != 0 {
			t.Errorf("token %d accepted: %v", token, err)
		}
		if _, err := s.Choose(make([]float32, 3+token)); !errors.Is(err, fault.ErrShape) {
			t.Errorf("%d logits: %v, want ErrShape", 3+token, err)
		}
	}
}

// everyRule returns each rule on its own, for texts of the vocabulary's tokens; then all rules
// together.
func everyRule(vocab int) map[string]*generation.Rules {
	tokens := func(n, step int) []int {
		t := make([]int, n)
		for i := range t {
			t[i] = (i*step + 11) % vocab
		}
		return t
	}
	words := [][]int{tokens(1, 1), tokens(2, 1), tokens(3, 5)}
	bias := map[int]float64{1: 1, 5: -2}
	all := &generation.Rules{LogitBias: bias, RepetitionPenalty: 1.1, FrequencyPenalty: 0.1, PresencePenalty: 0.1, NoRepeatNgram: 3, Encoder: tokens(500, 7),
		EncoderRepetitionPenalty: 1.1, EncoderNoRepeatNgram: 3, BadWords: words, MinLength: 3000, MinNewTokens: 3000, RemoveInvalid: true, ExponentialDecay: 1.01,
		SuppressTokens: []int{1}, BeginSuppressTokens: []int{2}, Renormalize: true, EOS: []int{3}, ForcedBOS: []int{4}, ForcedEOS: []int{3}}
	for _, word := range words {
		all.SequenceBias = append(all.SequenceBias, generation.SequenceBias{Tokens: word, Bias: 1})
	}
	return map[string]*generation.Rules{
		"none": nil, "bias": {LogitBias: bias}, "sequences": {SequenceBias: all.SequenceBias}, "encoder": {Encoder: all.Encoder, EncoderRepetitionPenalty: 1.1, EncoderNoRepeatNgram: 3},
		"repetition": {RepetitionPenalty: 1.1}, "frequency": {FrequencyPenalty: 0.1, PresencePenalty: 0.1}, "unigrams": {NoRepeatNgram: 1}, "ngrams": {NoRepeatNgram: 3},
		"words": {BadWords: words}, "suppressed": {SuppressTokens: tokens(90, 3)}, "lengths": {MinLength: 3000, MinNewTokens: 3000, EOS: []int{3}, ExponentialDecay: 1.01},
		"normalized": {Renormalize: true, RemoveInvalid: true}, "all": all,
	}
}

// TestChoiceAllocatesNothing: of a text that goes on, with each rule and each filter.
func TestChoiceAllocatesNothing(t *testing.T) {
	if testenv.Emulated() || race.Enabled {
		t.Skip("too slow in an emulator, and the race detector has pools forget")
	}
	const vocab = 1000
	logits := tftest.Normal(4, vocab)
	check := func(name string, c generation.SamplerConfig) {
		t.Helper()
		c.Vocab, c.Prompt, c.MaxTokens, c.Seed = vocab, []int{5, 6, 7, 5, 6, 8}, 100000, 3
		s := sampler(t, c)
		choose := func() {
			logits[s.Len()*37%vocab] += 0.01
			if _, err := s.Choose(logits); err != nil {
				t.Fatal(err)
			}
		}
		for range 200 {
			choose()
		}
		if n := testing.AllocsPerRun(200, choose); n > 0 {
			t.Errorf("%s: %v allocations a token", name, n)
		}
	}
	for name, rules := range everyRule(vocab) {
		check(name, generation.SamplerConfig{Rules: rules})
		check(name+", drawn", generation.SamplerConfig{Sampling: generation.Sampling{Temperature: 0.8, TopK: 40, TopP: 0.95}, Rules: rules})
	}
	for _, c := range filters {
		check(fmt.Sprintf("%+v", c), generation.SamplerConfig{Sampling: c})
	}
	check("hook and constraint", generation.SamplerConfig{Sampling: generation.Sampling{Temperature: 1}, Hook: func([]float32, []int) {}, Constraint: allowing{}})
	check("log probabilities", generation.SamplerConfig{LogProbs: true})
}

// TestGenerateAllocatesNothing: a token of a text with rules allocates nothing, from the prompt to
// the end.
func TestGenerateAllocatesNothing(t *testing.T) {
	if race.Enabled || testenv.Emulated() {
		t.Skip("the race detector has pools forget, and emulators take long")
	}
	d := fixed(tftest.Normal(6, 500))
	generate := func(tokens int) func() {
		return func() {
			c := generation.SamplerConfig{Sampling: generation.Sampling{Temperature: 1, TopP: 0.9, Seed: 2}, Rules: &generation.Rules{RepetitionPenalty: 1.1, NoRepeatNgram: 3, SuppressTokens: []int{3}}}
			for _, err := range generation.Generate(t.Context(), d, []int{1, 2}, c, generation.Limits{MaxTokens: tokens, Stop: []int{3}}) {
				tftest.NoError(t, err)
			}
		}
	}
	few, many := testing.AllocsPerRun(5, generate(100)), testing.AllocsPerRun(5, generate(1100))
	if many-few > 100 { // what grows does so ever more rarely
		t.Errorf("%v allocations for 100 tokens, %v for 1,100", few, many)
	}
}

// allowing is a constraint that allows every token.
type allowing struct{}

func (allowing) Apply([]float32) error { return nil }
func (allowing) Accept(int) error      { return nil }

// filters returns each filter on its own, and some together.
var filters = []generation.Sampling{
	{Temperature: 1}, {Temperature: 0.7, TopK: 50}, {Temperature: 0.7, TopP: 0.9}, {Temperature: 0.7, MinP: 0.05}, {Temperature: 1, TypicalP: 0.9}, {Temperature: 0.7, TopK: 20, TopP: 0.95, MinP: 0.01},
}

// BenchmarkChoose chooses among 152,000 tokens, after a text of 2,000 and more, with each rule and
// each filter.
func BenchmarkChoose(b *testing.B) {
	const vocab = 152000
	r := rand.New(rand.NewPCG(1, 1))
	logits := make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(2*r.NormFloat64() - 4)
	}
	for i := range 40 { // those that a model takes for possible
		logits[r.IntN(vocab)] = float32(8 - float64(i)/4)
	}
	prompt := make([]int, 2000)
	for i := range prompt {
		prompt[i] = r.IntN(vocab)
	}
	run := func(name string, c generation.SamplerConfig) {
		c.Vocab, c.Prompt, c.Seed = vocab, prompt, 5
		b.Run(name, func(b *testing.B) {
			s := sampler(b, c)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Choose(logits); err != nil {
					b.Fatal(err)
				}
				if s.Len() == 100 { // so that the text does not grow with b.N
					tftest.NoError(b, s.Undo(100))
				}
			}
		})
	}
	run("greedy", generation.SamplerConfig{})
	for _, c := range filters {
		run(fmt.Sprintf("temperature=%g,topk=%d,topp=%g,minp=%g,typicalp=%g", c.Temperature, c.TopK, c.TopP, c.MinP, c.TypicalP), generation.SamplerConfig{Sampling: c})
	}
	run("logprobs", generation.SamplerConfig{LogProbs: true})
	run("logprobs5", generation.SamplerConfig{LogProbs: true, TopLogProbs: 5})
	for name, rules := range everyRule(vocab) {
		run("rules="+name, generation.SamplerConfig{Rules: rules})
	}
}

// TestRequests has texts that end for different reasons, each alone.
func TestRequests(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	later, cancelLater := context.WithCancelCause(t.Context())
	defer cancelLater(nil)
	cancel()
	why := errors.New("no more of it")
	d := rows{{0, 0, 0, 9}, {0, 9, 1, 0}, {9, 0, 0, 1}, {9, 0, 0, 1}, {9, 1, 0, 0}, {0, 0, 9, 0}}
	requests := []generation.Request{
		{Prompt: []int{1}, Limits: generation.Limits{Stop: []int{2, 3}}},
		{Prompt: []int{1, 2}, Limits: generation.Limits{MaxTokens: 3, Stop: []int{0}}, Sampler: sampler(t, generation.SamplerConfig{Vocab: 4, LogProbs: true})},
		{Prompt: []int{1}, Limits: generation.Limits{StopWhen: func(tokens []int) bool { return len(tokens) == 2 }}},
		{Prompt: []int{1}, Cancelled: cancelled.Err},
		{Prompt: []int{1}, Cancelled: func() error { return context.Cause(later) }},
		{Prompt: []int{1}, Sampler: sampler(t, generation.SamplerConfig{Vocab: 4, Constraint: &witness{forbidden: []int{0, 1, 2, 3}}})},
	}
	tokens, ends := make([][]int, len(requests)), make([]generation.Next, len(requests))
	for next, err := range generation.GenerateBatch(t.Context(), d, requests) {
		tftest.NoError(t, err)
		i := next.Sequence
		if ends[i].Finish != generation.FinishNone {
			t.Fatalf("%+v after the end of %d", next, i)
		}
		if next.Finish != generation.FinishNone {
			ends[i] = next
			continue
		}
		tokens[i] = append(tokens[i], next.Token)
		if i == 4 && len(tokens[i]) == 4 {
			cancelLater(why)
		}
		if want := logSoftmax(d[1])[1]; i == 1 && !(math.Abs(float64(next.LogProb)-want) <= 1e-5) {
			t.Errorf("log probability %v, want %v", next.LogProb, want)
		}
	}
	for i, want := range []struct {
		tokens []int
		finish generation.Finish
		last   int
		err    error
	}{
		{nil, generation.FinishStop, 3, nil}, {[]int{1, 1, 1}, generation.FinishLength, -1, nil}, {[]int{0, 0}, generation.FinishStop, -1, nil},
		{nil, generation.FinishCancelled, -1, context.Canceled}, {[]int{0, 0, 0, 0}, generation.FinishCancelled, -1, why}, {nil, generation.FinishFailed, -1, fault.ErrNoToken},
	} {
		if !slices.Equal(tokens[i], want.tokens) || ends[i].Finish != want.finish || ends[i].Token != want.last || !errors.Is(ends[i].Err, want.err) {
			t.Errorf("request %d: tokens %v, then %+v, want %v, %v", i, tokens[i], ends[i], want.tokens, want.finish)
		}
	}
	for name, c := range map[string]struct {
		requests []generation.Request
		want     error
	}{
		"none": {nil, fault.ErrShape}, "no prompt": {[]generation.Request{{Prompt: []int{1}}, {}}, fault.ErrShape}, "negative": {[]generation.Request{{Prompt: []int{1}, Limits: generation.Limits{MaxTokens: -1}}}, fault.ErrConfig},
		"vocabulary": {[]generation.Request{{Prompt: []int{1}, Sampler: sampler(t, generation.SamplerConfig{Vocab: 3})}}, fault.ErrShape},
	} {
		if _, err := generation.CollectBatch(2, generation.GenerateBatch(t.Context(), d, c.requests)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// rows is a decoder with logits of its own for each sequence, always the same.
type rows [][]float32

func (r rows) Vocab() int                      { return len(r[0]) }
func (r rows) Feed([][]int) ([]float32, error) { return slices.Concat(r...), nil }
func (r rows) Reorder([]int) error             { return nil }
