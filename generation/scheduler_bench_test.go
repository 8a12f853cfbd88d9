package generation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/gaps"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// The time that a scheduler adds to the necessary steps, with the model of the flags.

func benchScheduler(b *testing.B, m *models.Model, c generation.SchedulerConfig) *generation.Scheduler {
	c.Model, c.Threads = m.LM, kernels.Threads(runtime.GOMAXPROCS(0))
	s := tftest.Must(generation.NewScheduler(c))(b)
	b.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func benchStepper(m *models.Model) *generation.Stepper {
	return &generation.Stepper{Model: m.LM, Workspace: &tf.Workspace{Threads: kernels.Threads(runtime.GOMAXPROCS(0))}}
}

// benchTokens are n tokens of a model drawn at random.
func benchTokens(r *rand.Rand, m *models.Model, n int) []int {
	tokens := make([]int, n)
	for i := range tokens {
		tokens[i] = r.IntN(m.LM.Vocab())
	}
	return tokens
}

// times generates n tokens, and returns when each came, from the call on.
func times(b *testing.B, m *models.Model, s *generation.Scheduler, prompt []int, n int, hook generation.LogitHook) (at []time.Duration) {
	r := generation.Request{Prompt: prompt, Limits: generation.Limits{MaxTokens: n}}
	if hook != nil {
		r.Sampler = tftest.Must(generation.NewSampler(generation.SamplerConfig{Vocab: m.LM.Vocab(), Hook: hook, Prompt: prompt}))(b)
	}
	begin := time.Now()
	for next, err := range s.Generate(context.Background(), r) {
		if err != nil || next.Err != nil {
			b.Error(err, next.Err)
		}
		if next.Token >= 0 {
			at = append(at, time.Since(begin))
		}
	}
	return at
}

// quantile returns the p-quantile of x, which it sorts.
func quantile(x []float64, p float64) float64 {
	slices.Sort(x)
	return x[int(p*float64(len(x)-1)+0.5)]
}

// BenchmarkSecondTurn is how long the first token of a chat's second turn takes, of 32 new tokens
// after a history of 1,500, beside steps of these tokens alone.
func BenchmarkSecondTurn(b *testing.B) {
	const history, added = 1500, 32
	m, r := benchLM(b), rand.New(rand.NewPCG(1, 2))
	s, stepper := benchScheduler(b, m, generation.SchedulerConfig{}), benchStepper(m)
	first := benchTokens(r, m, history)
	times(b, m, s, first, 1, nil)
	h := m.LM.NewPages(0).New()
	tftest.Must(stepper.Run(generation.Step{Tokens: first, Batch: tf.Uniform(1, history), Past: []*tf.History{h}}))(b)
	var turn, least, quotient []float64
	for b.Loop() {
		fresh := benchTokens(r, m, added)
		begin := time.Now()
		tftest.Must(stepper.Run(generation.Step{Tokens: fresh, Batch: tf.Uniform(1, added), Past: []*tf.History{h}, Want: []int{added - 1}}))(b)
		least = append(least, time.Since(begin).Seconds())
		tftest.NoError(b, h.Truncate(history))
		turn = append(turn, times(b, m, s, slices.Concat(first, fresh), 1, nil)[0].Seconds())
		quotient = append(quotient, turn[len(turn)-1]/least[len(least)-1])
	}
	b.ReportMetric(1e3*quantile(turn, 0.5), "ms/first-token")
	b.ReportMetric(1e3*quantile(least, 0.5), "ms/new-alone")
	b.ReportMetric(quantile(quotient, 0.5), "times")
}

// BenchmarkSharedPrompt is 100 requests at once that share 1,000 tokens, and have 20 of their own
// and one that is generated, beside steps by hand: the 1,000 once, then what is left of all.
func BenchmarkSharedPrompt(b *testing.B) {
	const shared, own, length, requests, streams = 1000, 20, 1, 100, 64
	m, r := benchLM(b), rand.New(rand.NewPCG(3, 4))
	stepper := benchStepper(m)
	byHand := func(system []int) {
		pages := m.LM.NewPages(0)
		run := func(n int, past ...*tf.History) {
			step := generation.Step{Tokens: benchTokens(r, m, n*len(past)), Batch: tf.Uniform(len(past), n), Past: past}
			for i := range past {
				step.Want = append(step.Want, (i+1)*n-1)
			}
			tftest.Must(stepper.Run(step))(b)
		}
		h := pages.New()
		run(len(system)/2, h)
		run(len(system)/2, h)
		var all []*tf.History
		for range requests {
			all = append(all, tftest.Must(h.Fork(shared))(b))
		}
		for some := range slices.Chunk(all, streams) {
			for part := range slices.Chunk(some, 512/own) {
				run(own, part...)
			}
			for range length - 1 {
				run(1, some...)
			}
		}
	}
	var total, least, quotient []float64
	for b.Loop() {
		system := benchTokens(r, m, shared)
		begin := time.Now()
		byHand(system)
		least = append(least, time.Since(begin).Seconds())
		s := benchScheduler(b, m, generation.SchedulerConfig{Streams: streams, Draft: -1})
		var wg sync.WaitGroup
		begin = time.Now()
		for range requests {
			prompt := slices.Concat(system, benchTokens(r, m, own))
			wg.Go(func() { times(b, m, s, prompt, length, nil) })
		}
		wg.Wait()
		total = append(total, time.Since(begin).Seconds())
		quotient = append(quotient, total[len(total)-1]/least[len(least)-1])
	}
	b.ReportMetric(quantile(total, 0.5), "s")
	b.ReportMetric(quantile(least, 0.5), "s/by-hand")
	b.ReportMetric(quantile(quotient, 0.5), "times")
}

// BenchmarkPieces is what a prompt of 2,048 tokens takes in pieces, beside all of it in one step.
func BenchmarkPieces(b *testing.B) {
	const long = 2048
	m, r := benchLM(b), rand.New(rand.NewPCG(15, 16))
	stepper, prompt := benchStepper(m), benchTokens(r, m, long)
	sizes := []int{long, 512, 128, 32, 8}
	took := make([][]float64, len(sizes))
	for b.Loop() {
		for i, size := range sizes {
			h, begin := m.LM.NewPages(0).New(), time.Now()
			for piece := range slices.Chunk(prompt, size) {
				tftest.Must(stepper.Run(generation.Step{Tokens: piece, Batch: tf.Uniform(1, len(piece)), Past: []*tf.History{h}}))(b)
			}
			took[i] = append(took[i], time.Since(begin).Seconds())
			h.Release()
		}
	}
	for i, size := range sizes {
		b.ReportMetric(long/quantile(took[i], 0.5), fmt.Sprintf("tokens/s-by-%d", size))
	}
}

// BenchmarkLongPrompt is what 16 texts that are being generated and a prompt of 2,000 tokens cost
// each other, for several values of SchedulerConfig.Stall or that of -stall: the gaps between
// tokens before the prompt comes and while it is computed, and the time to the prompt's first token
// beside that of the prompt alone.
func BenchmarkLongPrompt(b *testing.B) {
	m := benchLM(b)
	stalls := []float64{1.5, 2, 2.5, 3, 4}
	if *benchStall != 0 {
		stalls = []float64{*benchStall}
	}
	for _, stall := range stalls {
		b.Run(fmt.Sprintf("stall=%g", stall), func(b *testing.B) {
			const long, streams = 2000, 16
			r := rand.New(rand.NewPCG(5, 6))
			s := benchScheduler(b, m, generation.SchedulerConfig{NoPrefixes: true, Draft: -1, Stall: stall})
			var calm, beside, quotient []float64
			for b.Loop() {
				alone := times(b, m, s, benchTokens(r, m, long), 1, nil)[0].Seconds()
				w, stop := watchGaps(b, m, s, streams)
				w.During(func() { time.Sleep(time.Second) })
				calm = append(calm, w.During(func() { time.Sleep(time.Second) })...)
				beside = append(beside, w.During(func() {
					quotient = append(quotient, times(b, m, s, benchTokens(r, m, long), 1, nil)[0].Seconds()/alone)
				})...)
				stop()
			}
			usual := quantile(calm, 0.5)
			b.ReportMetric(1e3*usual, "ms/gap")
			for _, p := range []float64{0.5, 0.95, 0.99, 1} {
				b.ReportMetric(quantile(beside, p)/usual, fmt.Sprintf("times-gap-p%g", 100*p))
			}
			b.ReportMetric(quantile(quotient, 0.5), "times-prompt")
		})
	}
}

// watchGaps begins texts, and returns once each has a token. stop ends them.
func watchGaps(b *testing.B, m *models.Model, s *generation.Scheduler, texts int) (w *gaps.Watch, stop func()) {
	const depth = 64
	w = gaps.New(texts)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	begun := make(chan struct{}, texts)
	for i := range texts {
		prompt := benchTokens(rand.New(rand.NewPCG(7, uint64(i))), m, depth)
		running.Go(func() {
			for range s.Generate(ctx, generation.Request{Prompt: prompt}) {
				if w.Token(i) {
					begun <- struct{}{}
				}
			}
		})
	}
	for range texts {
		<-begun
	}
	return w, func() { cancel(); running.Wait() }
}

// BenchmarkProposals generates a text of 512 tokens with proposals of what it had before and
// without, in turn: one that repeats 50 tokens, and one of random tokens. Whatever the model says,
// a hook forces the length.
func BenchmarkProposals(b *testing.B) {
	const length = 512
	m := benchLM(b)
	for name, distinct := range map[string]int{"repeats": 50, "random": 1 << 30} {
		b.Run(name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(9, 10))
			said := benchTokens(r, m, min(distinct, 4*length))
			with, without := benchScheduler(b, m, generation.SchedulerConfig{NoPrefixes: true}), benchScheduler(b, m, generation.SchedulerConfig{NoPrefixes: true, Draft: -1})
			prompt := said[:min(distinct, 100)]
			hook := func(logits []float32, tokens []int) { logits[said[len(tokens)%len(said)]] = 1e6 }
			var quotient []float64
			for b.Loop() {
				fast := times(b, m, with, prompt, length, hook)
				slow := times(b, m, without, prompt, length, hook)
				quotient = append(quotient, slow[length-1].Seconds()/fast[length-1].Seconds())
			}
			st := with.Stats()
			b.ReportMetric(quantile(quotient, 0.5), "times-faster")
			b.ReportMetric(float64(st.Tokens)/float64(st.Steps), "tokens/step")
		})
	}
}

// BenchmarkBeam4 is a search of width 4 after a prompt of 500 tokens: the bytes that a token takes,
// over searches of 8 and of 72 tokens.
func BenchmarkBeam4(b *testing.B) {
	m, r := benchLM(b), rand.New(rand.NewPCG(11, 12))
	prompt := benchTokens(r, m, 500)
	search := func(n int) (bytes, seconds float64) {
		var before, after runtime.MemStats
		d := generation.Start(benchStepper(m).Workspace, m, 4)
		runtime.ReadMemStats(&before)
		begin := time.Now()
		tftest.Must(generation.Beam(context.Background(), d, prompt, generation.BeamConfig{Width: 4, MaxTokens: n}))(b)
		seconds = time.Since(begin).Seconds()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc), seconds
	}
	search(72) // takes memory that is used again
	var bytes, took float64
	for b.Loop() {
		few, start := search(8)
		many, end := search(72)
		bytes, took = (many-few)/64, (end-start)/64
	}
	b.ReportMetric(bytes, "B/token")
	b.ReportMetric(1e3*took, "ms/token")
}

// BenchmarkSoak is the memory that is resident after 1,000 requests and after 10,000 more, with
// room for the keys and values of a hundred of them, which the first fill.
func BenchmarkSoak(b *testing.B) {
	m, r := benchLM(b), rand.New(rand.NewPCG(13, 14))
	pages := m.LM.NewPages(0)
	tftest.Must(benchStepper(m).Run(generation.Step{Tokens: []int{1}, Batch: tf.Uniform(1, 1), Past: []*tf.History{pages.New()}}))(b)
	s := benchScheduler(b, m, generation.SchedulerConfig{Memory: 200 * pages.Used()})
	serve := func(n int) float64 {
		for range n / 50 {
			var wg sync.WaitGroup
			for range 50 {
				prompt := benchTokens(r, m, 1+r.IntN(60))
				wg.Go(func() { times(b, m, s, prompt, 8, nil) })
			}
			wg.Wait()
		}
		return residentMiB()
	}
	for b.Loop() {
		before := serve(1000)
		after := serve(10000)
		b.ReportMetric(before, "MiB/after-1000")
		b.ReportMetric(after, "MiB/after-11000")
	}
}

// residentMiB returns the memory that is resident; 0 where it is not known.
func residentMiB() float64 {
	text, _ := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(text)); len(fields) > 1 {
		pages := 0.0
		for _, c := range fields[1] {
			pages = 10*pages + float64(c-'0')
		}
		return pages * float64(os.Getpagesize()) / (1 << 20)
	}
	return 0
}
