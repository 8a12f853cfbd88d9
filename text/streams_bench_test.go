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

// shaped is an Embedder of a BERT with random weights and the mean of the hidden states.
func shaped(b testing.TB, threads, dim, layers int, weights kernels.Format) *Embedder {
	b.Helper()
	e, err := OpenEmbedder("testdata/embed", Threads(threads))
	if err != nil {
		b.Fatal(err)
	}
	config := fmt.Appendf(nil, `{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522, "hidden_size": %d, "num_hidden_layers": %d,
		"num_attention_heads": 12, "intermediate_size": %d, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"}`, dim, layers, 4*dim)
	m, err := models.Options{Weights: weights, Exact: true}.New(config, transformer.Random(1))
	if err != nil {
		b.Fatal(err)
	}
	e.model, e.pool, e.dim, e.limit = m, m.BareEmbedder(), dim, 256
	return e
}

// BenchmarkOneCaller has one caller of 256 texts beside as many callers of 256 texts as threads, in turn, and reports the
// medians of tokens a second and of their quotients.
func BenchmarkOneCaller(b *testing.B) {
	threads := runtime.GOMAXPROCS(0)
	texts := repeat(256, func(i int) int { return 10 + i*i%110 })
	for _, c := range []struct {
		name        string
		dim, layers int
	}{{"MiniLM", 384, 6}, {"BERT-base", 768, 2}} {
		for _, weights := range []kernels.Format{kernels.FormatInt8, kernels.FormatF32} {
			b.Run(fmt.Sprintf("%s/%v/threads=%d", c.name, weights, threads), func(b *testing.B) {
				e := shaped(b, threads, c.dim, c.layers, weights)
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
	threads := runtime.GOMAXPROCS(0)
	for _, weights := range []kernels.Format{kernels.FormatInt8, kernels.FormatF32} {
		e := shaped(b, threads, 384, 6, weights)
		e.limit = 512
		for _, tokens := range []int{8, 16, 32, 64, 128, 256, 512} {
			b.Run(fmt.Sprintf("%v/tokens=%d/threads=%d", weights, tokens, threads), func(b *testing.B) {
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
