package text

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// miniLM returns an Embedder of MiniLM's shape with random weights and the mean of the hidden
// states.
func miniLM(b testing.TB, threads, batchTokens int) *Embedder {
	b.Helper()
	e, err := OpenEmbedder("testdata/embed", Options{Threads: threads, BatchTokens: batchTokens})
	if err != nil {
		b.Fatal(err)
	}
	m, err := models.New([]byte(`{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6,
		"num_attention_heads": 12, "intermediate_size": 1536, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"}`), transformer.Random(1), models.Options{})
	if err != nil {
		b.Fatal(err)
	}
	e.model, e.pool, e.dim, e.limit = m, m.BareEmbedder(), 384, 256
	return e
}

// benchEmbed times Embed, and reports tokens a second.
func benchEmbed(b *testing.B, e *Embedder, texts []string) {
	tokens, err := e.Tokens(texts)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := e.Embed(context.Background(), Texts(texts...), EmbedOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// wordText returns a text of n words that are one token each.
func wordText(n int) string { return strings.Repeat("the ", n) }

func BenchmarkEmbed(b *testing.B) {
	for _, c := range []struct {
		name  string
		texts []string
	}{
		{"1x16", []string{wordText(14)}},
		{"1x256", []string{wordText(254)}},
		{"32x30", repeat(32, func(i int) int { return 28 })},
		{"32x128", repeat(32, func(i int) int { return 126 })},
		{"mixed", repeat(64, func(i int) int { return 3 + i*i%150 })},
	} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("texts=%s/threads=%d", c.name, threads), func(b *testing.B) {
				benchEmbed(b, miniLM(b, threads, replica.BatchTokens), c.texts)
			})
		}
	}
}

func repeat(n int, length func(i int) int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = wordText(length(i))
	}
	return texts
}

// BenchmarkBatchTokens is why replica.BatchTokens is what it is.
func BenchmarkBatchTokens(b *testing.B) {
	texts := repeat(256, func(i int) int { return 3 + i*i%150 })
	for _, tokens := range []int{128, 256, 512, 1024, 2048, 4096, 8192} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("tokens=%d/threads=%d", tokens, threads), func(b *testing.B) {
				benchEmbed(b, miniLM(b, threads, tokens), texts)
			})
		}
	}
}

// BenchmarkCallers has 8 texts embedded by calls of one text each, one after the other and at once.
func BenchmarkCallers(b *testing.B) {
	const calls = 8
	for _, words := range []int{14, 126} {
		texts := repeat(calls, func(int) int { return words })
		e := miniLM(b, 2, replica.BatchTokens)
		b.Run(fmt.Sprintf("words=%d/in turn", words), func(b *testing.B) {
			for b.Loop() {
				for i := range calls {
					if _, err := e.Embed(context.Background(), Texts(texts[i:i+1]...), EmbedOptions{}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(calls*b.N)/b.Elapsed().Seconds(), "calls/s")
		})
		b.Run(fmt.Sprintf("words=%d/at once", words), func(b *testing.B) {
			for b.Loop() {
				together(b, e, calls, texts[:1])
			}
			b.ReportMetric(float64(calls*b.N)/b.Elapsed().Seconds(), "calls/s")
		})
	}
}

// BenchmarkCallsMemory has calls of 4096 tokens at once, and reports the most memory beyond the
// model's.
func BenchmarkCallsMemory(b *testing.B) {
	texts := repeat(32, func(int) int { return 126 })
	for _, calls := range []int{2, 50} {
		b.Run(fmt.Sprintf("calls=%d", calls), func(b *testing.B) {
			e := miniLM(b, 2, replica.BatchTokens)
			most := 0
			for b.Loop() {
				most = max(most, peak(func() { together(b, e, calls, texts) }))
			}
			b.ReportMetric(float64(most)/1e6, "peak-MB")
		})
	}
}

// bert returns a BERT with random weights.
func bert(b testing.TB, dim, layers int, weights kernels.Format) *models.Model {
	b.Helper()
	config := fmt.Appendf(nil, `{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 30522, "hidden_size": %d, "num_hidden_layers": %d,
		"num_attention_heads": 12, "intermediate_size": %d, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"}`, dim, layers, 4*dim)
	return tftest.Must(models.New(config, transformer.Random(1), models.Options{WeightFormat: weights, Exact: true}))(b)
}

// meansOf returns an Embedder of the means of a model's hidden states.
func meansOf(b testing.TB, m *models.Model, dim, threads int) *Embedder {
	b.Helper()
	e := tftest.Must(OpenEmbedder("testdata/embed", Options{Threads: threads}))(b)
	e.model, e.pool, e.dim, e.limit = m, m.BareEmbedder(), dim, 512
	return e
}

// BenchmarkOneCaller has one caller of 256 texts on 1, 2, 4 and more threads in turn, and as many
// callers of 256 texts as threads on 2 and on the most. It reports the medians of thousands of
// tokens a second, of what one caller reaches by what as many as threads reach, and the most memory
// that the process had resident with one caller and with many.
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

// BenchmarkOneText embeds single texts of 8 to 512 tokens on 1, 2, 4 and more threads in turn, and
// reports the medians in milliseconds.
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
