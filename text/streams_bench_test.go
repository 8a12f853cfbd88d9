package text

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// bert is a BERT with random weights.
func bert(b testing.TB, dim, layers int, weights kernels.Format) *models.Model {
	b.Helper()
	config := fmt.Appendf(nil, `{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522, "hidden_size": %d, "num_hidden_layers": %d,
		"num_attention_heads": 12, "intermediate_size": %d, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"}`, dim, layers, 4*dim)
	return tftest.Must(models.New(config, transformer.Random(1), models.Options{WeightFormat: weights, Exact: true}))(b)
}

// meansOf is an Embedder of the means of a model's hidden states.
func meansOf(b testing.TB, m *models.Model, dim, threads int) *Embedder {
	b.Helper()
	e := tftest.Must(OpenEmbedder("testdata/embed", Options{Threads: threads}))(b)
	e.model, e.pool, e.dim, e.limit = m, m.BareEmbedder(), dim, 512
	return e
}

// BenchmarkOneCaller has one caller of 256 texts on 1, 2, 4 and more threads in turn, and as many callers of 256 texts as
// threads on 2 and on the most. It reports the medians of thousands of tokens a second, of what one caller reaches by
// what as many as threads reach, and the most memory that the process had resident with one caller and with many.
func BenchmarkOneCaller(b *testing.B) {
	texts := repeat(256, func(i int) int { return 10 + i*i%110 })
	counts := testenv.ThreadCounts()
	most := slices.Max(counts)
	for _, c := range []struct {
		name        string
		dim, layers int
	}{{"MiniLM", 384, 6}, {"BERT-base", 768, 2}} {
		for _, weights := range []kernels.Format{kernels.FormatInt8, kernels.FormatF32} {
			b.Run(fmt.Sprintf("%s/%v", c.name, weights), func(b *testing.B) {
				m := bert(b, c.dim, c.layers, weights)
				embedders := map[int]*Embedder{}
				for _, n := range counts {
					embedders[n] = meansOf(b, m, c.dim, n)
				}
				tokens := tftest.Must(embedders[1].Tokens(texts))(b)
				rate := func(threads, callers int) float64 {
					begin := time.Now()
					together(b, embedders[threads], callers, texts)
					return float64(callers*tokens) / time.Since(begin).Seconds() / 1e3
				}
				samples := testenv.Samples{}
				runtime.GC()
				testenv.PeakMemory()
				rate(most, 1)
				samples.Add(testenv.PeakMemory(), "one-MiB")
				for b.Loop() {
					for _, n := range counts {
						one := []float64{rate(n, 1)}
						for n > 2 && n == most && len(one) < 5 { // they are short
							one = append(one, rate(n, 1))
						}
						for _, r := range one {
							samples.Add(r, "one-%02d-ktok/s", n)
						}
						if n == 2 || n > 2 && n == most {
							slices.Sort(one)
							many := rate(n, n)
							samples.Add(many, "many-%02d-ktok/s", n)
							samples.Add(one[len(one)/2]/many, "one/many-%02d", n)
						}
					}
				}
				samples.Add(testenv.PeakMemory(), "many-MiB")
				samples.Report(b)
				if weights == kernels.FormatInt8 {
					testenv.Profile(b, "", func() { rate(most, 1) })
				}
			})
		}
	}
}

// BenchmarkOneText embeds single texts of 8 to 512 tokens on 1, 2, 4 and more threads in turn, and reports the medians in milliseconds.
func BenchmarkOneText(b *testing.B) {
	counts := testenv.ThreadCounts()
	for _, weights := range []kernels.Format{kernels.FormatInt8, kernels.FormatF32} {
		m := bert(b, 384, 6, weights)
		for _, tokens := range []int{8, 16, 32, 64, 128, 256, 512} {
			b.Run(fmt.Sprintf("%v/tokens=%d", weights, tokens), func(b *testing.B) {
				texts := []string{wordText(tokens - 2)}
				embed := func(e *Embedder) {
					tftest.Must(outputs(e.Embed(context.Background(), Texts(texts...), EmbedOptions{})))(b)
				}
				var embedders []*Embedder
				for _, n := range counts {
					embedders = append(embedders, meansOf(b, m, 384, n))
				}
				samples := testenv.Samples{}
				for b.Loop() {
					for i, n := range counts {
						embed(embedders[i])
						for range max(3, 64/tokens) {
							samples.Time(func() { embed(embedders[i]) }, "%02d-ms", n)
						}
					}
				}
				samples.Report(b)
				if tokens == 256 {
					testenv.Profile(b, "", func() { embed(embedders[len(embedders)-1]) })
				}
			})
		}
	}
}
