package generation_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// BenchmarkDraftModel generates one text and four at a time, of 256 tokens each, without a draft
// model, with one that is wrong, and with one that is mostly right, the same with weights of 8
// bits: tokens a second of all together.
func BenchmarkDraftModel(b *testing.B) {
	const length = 256
	open := func(layers, seed int, weights kernels.Format) models.LanguageModel {
		config := fmt.Sprintf(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 8000, "hidden_size": 768,
			"num_hidden_layers": %d, "num_attention_heads": 12, "num_key_value_heads": 4, "intermediate_size": 2048}`, layers)
		return tftest.Must(models.New([]byte(config), tf.Random(uint64(seed)), models.Options{WeightFormat: weights}))(b).LM
	}
	target := open(12, 1, kernels.FormatF32)
	for name, draft := range map[string]models.LanguageModel{"none": nil, "wrong": open(1, 2, kernels.FormatF32), "right": open(12, 1, kernels.FormatInt8)} {
		for _, texts := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/texts=%d", name, texts), func(b *testing.B) {
				s := tftest.Must(generation.NewScheduler(generation.SchedulerConfig{Model: target, DraftModel: draft, Threads: kernels.Threads(runtime.GOMAXPROCS(0))}))(b)
				defer s.Close(context.Background())
				seed := uint64(0)
				for b.Loop() {
					var wg sync.WaitGroup
					for i := range texts {
						seed++
						c := generation.SamplerConfig{Vocab: 8000, Sampling: generation.Sampling{Temperature: 1, Seed: seed}}
						wg.Go(func() {
							r := generation.Request{Prompt: []int{i + 1, 2, 3}, Limits: generation.Limits{MaxTokens: length}, Sampler: tftest.Must(generation.NewSampler(c))(b)}
							if _, _, err := collect(context.Background(), s, r); err != nil {
								b.Error(err)
							}
						})
					}
					wg.Wait()
				}
				b.ReportMetric(float64(b.N*texts*length)/b.Elapsed().Seconds(), "tokens/s")
				st := s.Stats()
				b.ReportMetric(float64(st.AcceptedTokens)/float64(max(st.DraftTokens, 1)), "accepted")
				b.ReportMetric(float64(st.DraftSteps)/float64(st.Steps), "drafts/step")
			})
		}
	}
}
