package text

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// miniLM is an Embedder of MiniLM's shape with random weights and the mean of
// the hidden states.
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

// wordText is a text of n words that are one token each.
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
				benchEmbed(b, miniLM(b, threads, defaultBatchTokens), c.texts)
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

// BenchmarkBatchTokens is why defaultBatchTokens is what it is.
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
		e := miniLM(b, 2, defaultBatchTokens)
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

// BenchmarkCallsMemory has calls of 4096 tokens at once, and reports the most memory beyond the model's.
func BenchmarkCallsMemory(b *testing.B) {
	texts := repeat(32, func(int) int { return 126 })
	for _, calls := range []int{2, 50} {
		b.Run(fmt.Sprintf("calls=%d", calls), func(b *testing.B) {
			e := miniLM(b, 2, defaultBatchTokens)
			most := 0
			for b.Loop() {
				most = max(most, peak(func() { together(b, e, calls, texts) }))
			}
			b.ReportMetric(float64(most)/1e6, "peak-MB")
		})
	}
}
