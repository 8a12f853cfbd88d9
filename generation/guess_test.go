package generation_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// blurred is slightly different weights.
type blurred struct{ tf.Weights }

func (b blurred) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := b.Weights.Tensor(name, shape...)
	r := rand.New(rand.NewPCG(22, uint64(len(name))))
	for i := range x {
		x[i] += 0.1 * float32(r.NormFloat64())
	}
	return x, err
}

// TestDraftModel: whatever a draft model proposes, each text gets the tokens that it gets alone,
// and the more of them at a time the better the draft is.
func TestDraftModel(t *testing.T) {
	w := tftest.Strong{Weights: tf.Random(3)}
	for name, more := range map[string]string{"all keys": "", "windows": `, "sliding_window": 20`} {
		m := tftest.Must(models.New([]byte(longConfig(more)), w, models.Options{}))(t)
		for draft, c := range map[string]struct {
			w     tf.Weights
			least float64 // of the proposals, those of the text itself too: accepted
		}{"itself": {w, 0.4}, "alike": {blurred{w}, 0.02}, "another": {tftest.Strong{Weights: tf.Random(4)}, 0}} {
			d := tftest.Must(models.New([]byte(longConfig(more)), c.w, models.Options{}))(t)
			for i, sc := range []generation.SchedulerConfig{{}, {StepTokens: 11}, {Memory: 16 * longPage}, {NoPrefixes: true, Draft: 1}, {Draft: 40}} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, draft, i), func(t *testing.T) {
					sc.Model, sc.DraftModel = m.LM, d.LM
					s := schedule(t, sc)
					s.Guess()
					r := rand.New(rand.NewPCG(23, uint64(i)))
					rounds := 3 // the later ones with prefixes
					if testenv.Slow() {
						rounds = 1
					}
					for range rounds {
						together(t, s, m, append(prompts(r, 3, 1, 100), prompts(rand.New(rand.NewPCG(24, 25)), 1, 70, 70)...), 60, true)
					}
					st := s.Stats()
					// How many proposals there are depends on which texts share a step, and few of
					// them are a small sample.
					n := float64(st.DraftTokens)
					chance := 3 * math.Sqrt(n*c.least*(1-c.least))
					if float64(st.AcceptedTokens)+chance < n*c.least || st.DraftSteps == 0 || sc.Memory > 0 && st.PageBytes > sc.Memory {
						t.Errorf("%+v: want at least %.2f of the proposals accepted", st, c.least)
					}
				})
			}
		}
	}
}

// TestDraftModelSaves: a text whose draft is right takes a step for several tokens, and gets them
// where the draft model has too short a context or too little memory too.
func TestDraftModelSaves(t *testing.T) {
	m := long(t, "")
	short := tftest.Must(models.New([]byte(`{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 50, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 30}`),
		tftest.Strong{Weights: tf.Random(3)}, models.Options{}))(t)
	for name, c := range map[string]struct {
		draft  models.LanguageModel
		memory int64
		steps  uint64
	}{"right": {m.LM, 0, 60}, "short": {short.LM, 0, 201}, "without memory": {m.LM, 12 * longPage, 201}} {
		s := schedule(t, generation.SchedulerConfig{Model: m.LM, DraftModel: c.draft, Memory: c.memory})
		s.Guess()
		together(t, s, m, [][]int{{4, 5, 6}}, 200, false)
		if st := s.Stats(); st.Steps > c.steps {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// TestDraftModelDistribution: over many seeds, tokens after proposals come as often as the model
// has them likely.
func TestDraftModelDistribution(t *testing.T) {
	if testing.Short() || race.Enabled || testenv.Emulated() {
		t.Skip("thousands of texts")
	}
	const vocab, texts = 5, 6000
	m := tiny(t, vocab)
	d := tftest.Must(models.New([]byte(tinyConfig(vocab)), blurred{tftest.Strong{Weights: tf.Random(3)}}, models.Options{}))(t)
	s := schedule(t, generation.SchedulerConfig{Model: m.LM, DraftModel: d.LM, NoPrefixes: true})
	s.Guess()
	prompt, temperature := []int{1, 2}, 3.0
	after := func(tokens ...int) []float64 {
		logits := make([]float32, len(tokens)*vocab)
		tftest.NoError(t, m.Logits(new(tf.Workspace), logits, tokens, tf.Uniform(1, len(tokens)), nil, nil))
		p, sum := make([]float64, vocab), 0.0
		for i, x := range logits[len(logits)-vocab:] {
			p[i] = math.Exp(float64(x) / temperature)
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		return p
	}
	var want, got [vocab * vocab * vocab]float64
	for a, p := range after(prompt...) {
		for b, q := range after(1, 2, a) {
			for c, r := range after(1, 2, a, b) {
				want[(a*vocab+b)*vocab+c] = p * q * r
			}
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for worker := range 4 {
		wg.Go(func() {
			for i := range texts / 4 {
				c := generation.SamplerConfig{Vocab: vocab, Sampling: generation.Sampling{Temperature: temperature, Seed: uint64(worker*texts + i + 1)}}
				tokens, _, err := collect(t.Context(), s, generation.Request{Prompt: prompt, Limits: generation.Limits{MaxTokens: 4}, Sampler: tftest.Must(generation.NewSampler(c))(t)})
				if err != nil || len(tokens) != 4 {
					t.Errorf("%v, %v", tokens, err)
					return
				}
				mu.Lock()
				got[(tokens[0]*vocab+tokens[1])*vocab+tokens[2]]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	chi, cells, rareWant, rareGot := 0.0, 0, 0.0, 0.0
	add := func(got, want float64) { chi, cells = chi+(got-want)*(got-want)/want, cells+1 }
	for i, p := range want {
		if p*texts < 5 {
			rareWant, rareGot = rareWant+p*texts, rareGot+got[i]
			continue
		}
		add(got[i], p*texts)
	}
	if rareWant >= 5 {
		add(rareGot, rareWant)
	}
	free := float64(cells - 1)
	if most := free + 5*math.Sqrt(2*free); chi > most || cells < 10 || s.Stats().AcceptedTokens == 0 {
		t.Errorf("chi-square %.1f of %d cells, want at most %.1f; %+v", chi, cells, most, s.Stats())
	}
}

// TestDraftModelLoses: a draft that is as slow as the model and wrong is soon asked no more.
func TestDraftModelLoses(t *testing.T) {
	m, d := long(t, ""), tftest.Must(models.New([]byte(longConfig("")), tftest.Strong{Weights: tf.Random(4)}, models.Options{}))(t)
	s := schedule(t, generation.SchedulerConfig{Model: m.LM, DraftModel: d.LM})
	together(t, s, m, prompts(rand.New(rand.NewPCG(26, 27)), 4, 10, 20), 500, true)
	if st := s.Stats(); st.DraftSteps == 0 || st.DraftSteps > st.Steps/8 {
		t.Errorf("%+v", st)
	}
}

func TestDraftModelRefused(t *testing.T) {
	m := long(t, "")
	dynamic := tftest.Must(models.New([]byte(longConfig(`, "rope_scaling": {"rope_type": "dynamic", "factor": 2}`)), tftest.Strong{Weights: tf.Random(3)}, models.Options{}))(t)
	after := tftest.Must(models.New([]byte(seq2seq["bart"]), tftest.Strong{Weights: tf.Random(3)}, models.Options{}))(t)
	for name, c := range map[string]generation.SchedulerConfig{
		"another vocabulary":   {Model: m.LM, DraftModel: tiny(t, 49).LM},
		"no proposals":         {Model: m.LM, DraftModel: m.LM, Draft: -1},
		"a draft that changes": {Model: m.LM, DraftModel: dynamic.LM},
		"a model that changes": {Model: dynamic.LM, DraftModel: m.LM},
		"a draft that attends": {Model: m.LM, DraftModel: after.LM},
	} {
		if _, err := generation.NewScheduler(c); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
