package generation_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/tftest"
	tf "github.com/avoformer/avoformer/transformer"
)

var (
	_ generation.Forcer   = (*grammar.Matcher)(nil)
	_ generation.Proposer = (*grammar.Matcher)(nil)
)

const endToken = 49

// spelling returns a vocabulary of 50 tokens: letters, pieces of several, and the end.
func spelling(t testing.TB, pieces ...string) (v *grammar.Vocabulary, long []int) {
	t.Helper()
	tokens := make([][]byte, 50)
	for i, s := range strings.Split(`abcdefghijklmnopqrstuvwxyz{}":, `, "") {
		tokens[i] = []byte(s)
	}
	for i, s := range pieces {
		tokens[32+i], long = []byte(s), append(long, 32+i)
	}
	return tftest.Must(grammar.NewVocabulary(tokens, []int{endToken}))(t), long
}

// TestForced: with a constraint that leaves one token or one text in places, texts are those that
// each gets alone and token by token, of fewer steps.
func TestForced(t *testing.T) {
	m := long(t, "")
	letters, _ := spelling(t)
	pieces, bias := spelling(t, `{"`, "na", "name", `":`, ` "`, `":"`, "description", "des", "cription", `","`, `"}`, "ab", "abc")
	favoured := map[int]float64{}
	for _, token := range bias {
		favoured[token] = 50
	}
	g := tftest.Must(grammar.Regexp(`(\{"name": "[a-c]{1,4}","description": "(abc|def)+"\})+`))(t)
	for _, c := range []struct {
		name     string
		v        *grammar.Vocabulary
		draft    int // of the scheduler
		c        generation.SamplerConfig
		l        generation.Limits
		steps    int // at most, in 100 tokens; 0: any number
		accepted bool
	}{
		{name: "letters", v: letters, draft: -1, steps: 45},
		{name: "letters and proposals", v: letters, steps: 45},
		{name: "pieces", v: pieces, accepted: true},
		{name: "pieces that the model likes", v: pieces, c: generation.SamplerConfig{Rules: &generation.Rules{LogitBias: favoured}}, steps: 60, accepted: true},
		{name: "pieces without proposals", v: pieces, draft: -1},
		{name: "log probabilities", v: letters, c: generation.SamplerConfig{LogProbs: true, TopLogProbs: 3}, steps: 55, accepted: true},
		{name: "hook", v: letters, c: generation.SamplerConfig{Hook: func(logits []float32, tokens []int) { logits[len(tokens)%32] += 9 }}, accepted: true},
		{name: "drawn", v: letters, c: generation.SamplerConfig{Sampling: generation.Sampling{Temperature: 1, TopP: 0.9, Seed: 5}}, steps: 45},
		{name: "drawn pieces", v: pieces, c: generation.SamplerConfig{Sampling: generation.Sampling{Temperature: 1, Seed: 6}}, accepted: true},
		{name: "a rule forbids it", v: letters, c: generation.SamplerConfig{Rules: &generation.Rules{SuppressTokens: []int{'s' - 'a'}}}},
		{name: "a rule forbids it and is taken back", v: letters, c: generation.SamplerConfig{Rules: &generation.Rules{SuppressTokens: []int{'s' - 'a'}, RemoveInvalid: true}}},
		{name: "a stop token", v: letters, l: generation.Limits{Stop: []int{'r' - 'a'}}},
		{name: "a limit", v: letters, l: generation.Limits{MaxTokens: 5}},
		{name: "a condition", v: letters, l: generation.Limits{StopWhen: func(tokens []int) bool { return len(tokens) == 7 }}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := schedule(t, generation.SchedulerConfig{Model: m.LM, Draft: c.draft})
			c.c.Vocab = 50
			if c.l.MaxTokens == 0 {
				c.l.MaxTokens = 100
			}
			if c.l.Stop == nil {
				c.l.Stop = []int{endToken}
			}
			c.c.MaxTokens = c.l.MaxTokens
			request := func(prompt []int) generation.Request {
				c := c
				c.c.Prompt, c.c.Constraint = prompt, g.Matcher(c.v)
				return generation.Request{Prompt: prompt, Limits: c.l, Sampler: tftest.Must(generation.NewSampler(c.c))(t)}
			}
			for _, p := range prompts(rand.New(rand.NewPCG(14, 15)), 3, 1, 60) {
				var want, got []generation.Next
				for next, err := range generation.GenerateBatch(t.Context(), generation.Start(new(tf.Workspace), m, 1), []generation.Request{request(p)}) {
					tftest.NoError(t, err)
					want = append(want, next)
				}
				before := s.Stats()
				for next, err := range s.Generate(t.Context(), request(p)) {
					tftest.NoError(t, err)
					got = append(got, next)
				}
				for i := range want {
					if i >= len(got) || !alike(got[i], want[i]) {
						t.Fatalf("%d of %d tokens, token %d: %v\nwant %v", len(got), len(want), i, got[min(i, len(got)-1)], want[i])
					}
				}
				if !slices.EqualFunc(got, want, alike) {
					t.Fatalf("%v\nwant %v", got, want)
				}
				if n := int(s.Stats().Steps - before.Steps); c.steps > 0 && n > c.steps*len(want)/100+3 {
					t.Errorf("%d steps for %d tokens", n, len(want))
				}
			}
			if st := s.Stats(); c.accepted && st.AcceptedTokens == 0 || c.draft < 0 && st.DraftTokens > 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// alike reports whether both are the same except for the rounding of log probabilities. Tokens fed
// together are summed in another order than one alone; the random weights spread the logits over
// 100 and make 1e-3 of the last bits.
func alike(a, b generation.Next) bool {
	close := func(x, y float32) bool { return math.Abs(float64(x-y)) <= 1e-2 }
	return a.Token == b.Token && a.Finish == b.Finish && close(a.LogProb, b.LogProb) && (a.Err == nil) == (b.Err == nil) &&
		errors.Is(a.Err, fault.ErrNoToken) == errors.Is(b.Err, fault.ErrNoToken) &&
		slices.EqualFunc(a.Top, b.Top, func(x, y generation.TokenLogProb) bool {
			return x.Token == y.Token && close(x.LogProb, y.LogProb)
		})
}

// TestForcedTogether: texts with constraints beside others, where steps have little room and memory
// runs out.
func TestForcedTogether(t *testing.T) {
	m := long(t, "")
	v, _ := spelling(t, "ab", "abc", "description")
	g := tftest.Must(grammar.Regexp(`((abc|x)description [a-c]{3}" abcdefghijklmnopqrstuvwxyz{2,9}){9}`))(t)
	for _, c := range []generation.SchedulerConfig{{StepTokens: 9}, {Memory: 12 * longPage}, {}} {
		synctest.Test(t, func(t *testing.T) {
			c.Model = m.LM
			s := schedule(t, c)
			all := prompts(rand.New(rand.NewPCG(16, 17)), 10, 1, 90)
			gate := hold(t, s)
			var wg sync.WaitGroup
			for i, p := range all {
				config := func() generation.SamplerConfig {
					c := generation.SamplerConfig{Vocab: 50, Sampling: generation.Sampling{Temperature: float64(i % 2), Seed: uint64(i + 1)}, Prompt: p, MaxTokens: 150}
					if i%4 > 0 {
						c.Constraint = g.Matcher(v)
					}
					return c
				}
				want := alone(t, m, p, config(), 150)
				wg.Go(func() {
					got, end, err := collect(t.Context(), s, generation.Request{Prompt: p, Limits: generation.Limits{MaxTokens: 150}, Sampler: tftest.Must(generation.NewSampler(config()))(t)})
					if err != nil || end.Finish != generation.FinishLength || !slices.Equal(got, want) {
						t.Errorf("text %d: %v, %+v, %v, want %v", i, got, end, err, want)
					}
				})
			}
			gate.Wait()
			wg.Wait()
			if st := s.Stats(); st.ForcedTokens == 0 || c.Memory > 0 && st.Preempted == 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
