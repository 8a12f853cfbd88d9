package serve

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// miniLM returns a folder with an encoder of MiniLM's shape, except for its vocabulary, with random
// weights.
func miniLM(b *testing.B) (dir string) {
	b.Helper()
	const vocab, dim, within, layers = 1024, 384, 1536, 6
	dir = b.TempDir()
	if err := os.CopyFS(dir, os.DirFS(testdata+"embed")); err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	tensors := map[string]safetensors.Tensor{}
	add := func(name string, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(r.NormFloat64()) * 0.02
		}
		tensors[name] = safetensors.Tensor{Shape: shape, Data: data}
	}
	both := func(name string, shape ...int) {
		add(name+".weight", shape...)
		add(name+".bias", shape[0])
	}
	add("embeddings.word_embeddings.weight", vocab, dim)
	add("embeddings.position_embeddings.weight", 512, dim)
	add("embeddings.token_type_embeddings.weight", 2, dim)
	both("embeddings.LayerNorm", dim)
	for i := range layers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for _, name := range []string{"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"} {
			both(layer+name, dim, dim)
		}
		both(layer+"attention.output.LayerNorm", dim)
		both(layer+"intermediate.dense", within, dim)
		both(layer+"output.dense", dim, within)
		both(layer+"output.LayerNorm", dim)
	}
	var file bytes.Buffer
	if err := safetensors.Write(&file, tensors, nil); err != nil {
		b.Fatal(err)
	}
	for name, data := range map[string]string{
		"model.safetensors": file.String(),
		"config.json": fmt.Sprintf(`{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": %d, "hidden_size": %d, "num_hidden_layers": %d,
			"num_attention_heads": 12, "intermediate_size": %d, "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu"}`, vocab, dim, layers, within),
		"1_Pooling/config.json": fmt.Sprintf(`{"word_embedding_dimension": %d, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}`, dim),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkOverhead embeds a short text by the pipeline and over HTTP in turn, with a client of Go
// on a connection that stays open: added-µs is the difference of the quantiles, and health-p50-µs
// what a request takes that computes nothing.
func BenchmarkOverhead(b *testing.B) {
	dir := miniLM(b)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) { overhead(b, dir, threads) })
	}
	b.Run("tiny", func(b *testing.B) { overhead(b, testdata+"embed", 1) }) // where computing hardly counts
}

func overhead(b *testing.B, dir string, threads int) {
	s, err := New([]Model{{Dir: dir, Name: "minilm", Options: text.Options{Threads: threads}}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Wait(b.Context()); err != nil {
		b.Fatal(err)
	}
	h := httptest.NewServer(s)
	defer h.Close()
	e, err := text.OpenEmbedder(dir, text.Options{Threads: threads})
	if err != nil {
		b.Fatal(err)
	}
	const short = "hello world, the cat reads"
	for _, c := range []struct{ name, path, body string }{
		{"openai-base64", "/v1/embeddings", `{"model":"minilm","input":"` + short + `","encoding_format":"base64"}`},
		{"openai-float", "/v1/embeddings", `{"model":"minilm","input":"` + short + `"}`},
		{"tei", "/embed", `{"inputs":"` + short + `"}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			var direct, served, bare []time.Duration
			for b.Loop() {
				began := time.Now()
				if _, err := e.Embed(b.Context(), text.Texts(short), text.EmbedOptions{Scale: text.ScaleUnit}); err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				resp, err := http.Post(h.URL+c.path, "application/json", bytes.NewReader([]byte(c.body)))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
					b.Fatal(resp.Status, err)
				}
				resp.Body.Close()
				after := time.Now()
				if resp, err = http.Get(h.URL + "/health"); err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				direct, served, bare = append(direct, between.Sub(began)), append(served, after.Sub(between)), append(bare, time.Since(after))
			}
			slices.Sort(direct)
			slices.Sort(served)
			slices.Sort(bare)
			b.ReportMetric(float64(bare[len(bare)/2].Microseconds()), "health-p50-µs")
			for _, q := range []struct {
				name string
				at   int
			}{{"p50", len(direct) / 2}, {"p99", len(direct) * 99 / 100}} {
				b.ReportMetric(float64(direct[q.at].Microseconds()), "direct-"+q.name+"-µs")
				b.ReportMetric(float64((served[q.at] - direct[q.at]).Microseconds()), "added-"+q.name+"-µs")
			}
		})
	}
}
