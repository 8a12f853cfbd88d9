package text

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// bert is a BERT with random weights.
func bert(b testing.TB, dim, layers int, weights kernels.Format) *models.Model {
	b.Helper()
	config := fmt.Appendf(nil, `{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522, "hidden_size": %d, "num_hidden_layers": %d,
		"num_attention_heads": 12, "intermediate_size": %d, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"}`, dim, layers, 4*dim)
	m, err := models.Options{Weights: weights, Exact: true}.New(config, transformer.Random(1))
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// meansOf is an Embedder of the means of a model's hidden states.
func meansOf(b testing.TB, m *models.Model, dim, threads int) *Embedder {
	b.Helper()
	e, err := OpenEmbedder("testdata/embed", Threads(threads))
	if err != nil {
		b.Fatal(err)
	}
	e.model, e.pool, e.dim, e.limit = m, m.BareEmbedder(), dim, 512
	return e
}

// BenchmarkOneCaller has one caller of 256 texts beside as many callers of 256 texts as threads, in turn, and reports the
// medians of tokens a second and of their quotients.
func BenchmarkOneCaller(b *testing.B) {
	texts := repeat(256, func(i int) int { return 10 + i*i%110 })
	for _, c := range []struct {
		name        string
		dim, layers int
	}{{"MiniLM", 384, 6}, {"BERT-base", 768, 2}} {
		for _, weights := range []kernels.Format{kernels.FormatInt8, kernels.FormatF32} {
			m := bert(b, c.dim, c.layers, weights)
			b.Run(fmt.Sprintf("%s/%v", c.name, weights), func(b *testing.B) {
				threads := runtime.GOMAXPROCS(0)
				e := meansOf(b, m, c.dim, threads)
				tokens, err := e.Tokens(texts)
				if err != nil {
					b.Fatal(err)
				}
				rate := func(callers int) float64 {
					var all sync.WaitGroup
					began := time.Now()
					for range callers {
						all.Go(func() {
							if _, err := e.Embed(context.Background(), texts); err != nil {
								b.Error(err)
							}
						})
					}
					all.Wait()
					return float64(callers*tokens) / time.Since(began).Seconds()
				}
				rate(1)
				var one, many, quotients []float64
				for b.Loop() {
					one, many = append(one, rate(1)), append(many, rate(threads))
					quotients = append(quotients, one[len(one)-1]/many[len(many)-1])
				}
				b.ReportMetric(median(one), "one-tokens/s")
				b.ReportMetric(median(many), "many-tokens/s")
				b.ReportMetric(median(quotients), "one-of-many")
			})
		}
	}
}

// BenchmarkOneText embeds single texts of 8 to 512 tokens on all threads, and reports the median in milliseconds.
func BenchmarkOneText(b *testing.B) {
	for _, weights := range []kernels.Format{kernels.FormatInt8, kernels.FormatF32} {
		m := bert(b, 384, 6, weights)
		for _, tokens := range []int{8, 16, 32, 64, 128, 256, 512} {
			b.Run(fmt.Sprintf("%v/tokens=%d", weights, tokens), func(b *testing.B) {
				e := meansOf(b, m, 384, runtime.GOMAXPROCS(0))
				texts := []string{wordText(tokens - 2)}
				var times []float64
				for b.Loop() {
					for range 5 {
						began := time.Now()
						if _, err := e.Embed(context.Background(), texts); err != nil {
							b.Fatal(err)
						}
						times = append(times, time.Since(began).Seconds()*1e3)
					}
				}
				b.ReportMetric(median(times), "ms")
			})
		}
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
