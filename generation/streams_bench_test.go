package generation_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

var (
	benchModel   = flag.String("model", "", "the model, a folder or a .gguf `file`, of benchmarks; none: a small one of random weights")
	benchWeights = flag.String("weights", "f32", "the format of its weights")
	benchCache   = flag.String("cache", "f32", "the format of its keys and values")
	benchStall   = flag.Float64("stall", 0, "SchedulerConfig.Stall of BenchmarkLongPrompt; 0: several")
)

// benchLM returns the model that the flags name.
func benchLM(b *testing.B) *models.Model {
	format, held := tftest.Must(kernels.ParseFormat(*benchWeights))(b), tftest.Must(kernels.ParseFormat(*benchCache))(b)
	o := models.Options{WeightFormat: format, CacheFormat: held}
	if *benchModel != "" {
		return tftest.Must(models.Open(*benchModel, o))(b)
	}
	return tftest.Must(models.New([]byte(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "hidden_size": 1024,
		"num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 2816}`), tf.Random(1), o))(b)
}

// BenchmarkStreams generates as many texts at a time as its name says, each 32 tokens after a
// prompt of 512 that is computed before, on as many threads as -cpu says: tokens a second of all
// together.
func BenchmarkStreams(b *testing.B) {
	const depth, length = 512, 32
	m := benchLM(b)
	for _, streams := range []int{1, 2, 4, 8, 16, 32} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			stepper := generation.Stepper{Model: m.LM, Workspace: &tf.Workspace{Threads: kernels.Threads(runtime.GOMAXPROCS(0))}}
			pages := m.LM.NewPages(0)
			step := generation.Step{}
			for i := range streams {
				h := pages.New()
				prompt := generation.Step{Batch: tf.Uniform(1, depth), Past: []*tf.History{h}}
				for j := range depth {
					prompt.Tokens = append(prompt.Tokens, (i*7919+j*259)%m.LM.Vocab())
				}
				tftest.Must(stepper.Run(prompt))(b)
				step.Past, step.Tokens, step.Want = append(step.Past, h), append(step.Tokens, i), append(step.Want, i)
			}
			step.Batch = tf.Uniform(streams, 1)
			for b.Loop() {
				for range length {
					tftest.Must(stepper.Run(step))(b)
				}
				b.StopTimer()
				for _, h := range step.Past {
					tftest.NoError(b, h.Truncate(depth))
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*streams*length)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
	b.Run("scheduler=8", func(b *testing.B) {
		s := tftest.Must(generation.NewScheduler(generation.SchedulerConfig{Model: m.LM, Threads: kernels.Threads(runtime.GOMAXPROCS(0)), Draft: -1, Stall: 100}))(b)
		defer s.Close(context.Background())
		for b.Loop() {
			var wg sync.WaitGroup
			begin := time.Now()
			for i := range 8 {
				wg.Go(func() {
					r := generation.Request{Prompt: []int{i + 1}, Limits: generation.Limits{MaxTokens: 64}}
					for range s.Generate(context.Background(), r) {
					}
				})
			}
			wg.Wait()
			b.ReportMetric(8*64/time.Since(begin).Seconds(), "tokens/s")
		}
	})
}
