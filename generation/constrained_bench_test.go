package generation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/tftest"
)

// BenchmarkConstrained generates texts that follow a JSON schema, after it was used once, and as
// many tokens without one, in turn, with the model of the flags: how many times the one takes a
// token of what the other does. Its tokens are every byte, and words of random letters.
func BenchmarkConstrained(b *testing.B) {
	const length = 48
	m, r := benchLM(b), rand.New(rand.NewPCG(15, 16))
	words := make([][]byte, m.LM.Vocab())
	for i := range words {
		words[i] = []byte{byte(i)}
		for n := r.IntN(8); i > 255 && n >= 0; n-- {
			words[i] = append(words[i], " aeinorst"[r.IntN(9)])
		}
	}
	words[len(words)-1] = nil
	v := tftest.Must(grammar.NewVocabulary(words, []int{len(words) - 1}))(b)
	g := tftest.Must(grammar.JSONSchema([]byte(`{"type": "array", "minItems": 8, "items": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"},
		"kind": {"enum": ["staff", "student"]}}, "required": ["name", "age", "kind"], "additionalProperties": false}}`)))(b)
	s := benchScheduler(b, m, generation.SchedulerConfig{NoPrefixes: true, Draft: -1})
	generate := func(seed uint64, constrained bool) (tokens int, took time.Duration) {
		c := generation.SamplerConfig{Vocab: m.LM.Vocab(), Sampling: generation.Sampling{Temperature: 1, Seed: seed}, Prompt: []int{1}}
		if constrained {
			c.Constraint = g.Matcher(v)
		}
		request := generation.Request{Prompt: c.Prompt, Sampler: tftest.Must(generation.NewSampler(c))(b), Limits: generation.Limits{MaxTokens: length, Stop: []int{len(words) - 1}}}
		var begin time.Time
		for next, err := range s.Generate(context.Background(), request) {
			if err != nil || next.Err != nil {
				b.Fatal(fmt.Sprint(err, next.Err))
			}
			if took = time.Since(begin); begin.IsZero() {
				begin, took = time.Now(), 0
			} else if next.Token >= 0 {
				tokens++
			}
		}
		return tokens, took
	}
	var quotient []float64
	for seed := uint64(1); seed <= 4; seed++ {
		generate(seed, true)
	}
	forced := s.Stats().ForcedTokens
	for b.Loop() {
		var tokens [2]int
		var took [2]time.Duration
		for seed := uint64(1); seed <= 4; seed++ {
			for i := range 2 {
				n, t := generate(seed, i == 0)
				tokens[i], took[i] = tokens[i]+n, took[i]+t
			}
		}
		quotient = append(quotient, took[0].Seconds()/float64(tokens[0])/(took[1].Seconds()/float64(tokens[1])))
		b.ReportMetric(float64(s.Stats().ForcedTokens-forced), "tokens-forced")
		forced = s.Stats().ForcedTokens
		b.ReportMetric(float64(tokens[0]), "tokens-constrained")
		b.ReportMetric(1e3*took[1].Seconds()/float64(tokens[1]), "ms/token-free")
	}
	b.ReportMetric(quantile(quotient, 0.5), "times")
}
