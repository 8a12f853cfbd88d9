package bulk_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// mixed returns n texts with lengths as in a search index: many short ones and a few long ones.
func mixed(n int) []string {
	words := strings.Fields("the cat reads a long letter and nobody forgets three numbers in French because it has to go to Paris where attention is paid to every word of an answer that was never given")
	lengths := []int{3, 5, 8, 8, 12, 16, 20, 24, 30, 30, 40, 60, 90, 120, 8, 16}
	r := rand.New(rand.NewPCG(9, 8))
	out := make([]string, n)
	for i := range out {
		var b strings.Builder
		for range lengths[r.IntN(len(lengths))] {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		out[i] = b.String()
	}
	return out
}

// modelOnly runs only the model, on prepared tokens: batches of texts of similar lengths, as many
// at once as there are processors.
type modelOnly struct {
	model   *models.SentenceEmbedder
	batches []models.Tokens
}

func newModelOnly(b *testing.B, dir string, weights kernels.Format, ids [][]int) *modelOnly {
	m, err := models.Open(dir, models.Options{WeightFormat: weights})
	if err != nil {
		b.Fatal(err)
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(x, y []int) int { return len(y) - len(x) })
	a := &modelOnly{model: m.Embedders.Sentence}
	for len(ids) > 0 {
		var t models.Tokens
		var lengths []int
		for len(ids) > 0 && (len(t.IDs) == 0 || len(t.IDs)+len(ids[0]) <= 2048) {
			t.IDs, lengths, ids = append(t.IDs, ids[0]...), append(lengths, len(ids[0])), ids[1:]
		}
		t.Batch = transformer.Ragged(lengths...)
		a.batches = append(a.batches, t)
	}
	return a
}

// run computes all batches by workers of some threads each.
func (a *modelOnly) run(b *testing.B, workers int, threads kernels.Threads) time.Duration {
	began := time.Now()
	var next atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			ws := &models.Workspace{Threads: threads}
			for i := int(next.Add(1)) - 1; i < len(a.batches); i = int(next.Add(1)) - 1 {
				mark := ws.Mark()
				if err := a.model.Embed(ws, ws.Alloc(a.batches[i].Batch.Len()*a.model.Dim()), a.batches[i]); err != nil {
					b.Error(err)
				}
				ws.Release(mark)
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// BenchmarkFiles compares Run from Parquet to Parquet with only the model on the same tokens, in
// alternation. AVOFORMER_BENCH_MODEL is a folder such as text/scripts/bench_folders.py writes. The
// model computes a batch on each processor or one batch on all of them, whichever is faster. The
// benchmark reports the median, minimum and maximum of the quotients of tokens per second.
func BenchmarkFiles(b *testing.B) {
	dir := os.Getenv("AVOFORMER_BENCH_MODEL")
	if dir == "" {
		b.Skip("needs AVOFORMER_BENCH_MODEL")
	}
	const files, rows = 4, 250
	in := b.TempDir()
	texts := mixed(files * rows)
	for i := range files {
		var records []record
		for j, s := range texts[i*rows : (i+1)*rows] {
			records = append(records, record{int64(j), s})
		}
		name := fmt.Sprintf("%d.parquet", i)
		write(b, filepath.Join(in, name), encoded(b, name, records))
	}
	threads := runtime.GOMAXPROCS(0)
	for _, weights := range []kernels.Format{kernels.FormatF32, kernels.FormatInt8} {
		b.Run(weights.String(), func(b *testing.B) {
			e, err := text.OpenEmbedder(dir, text.Options{Model: models.Options{WeightFormat: weights}})
			if err != nil {
				b.Fatal(err)
			}
			task, err := bulk.Embed(e, "", bulk.Float32Vectors)
			if err != nil {
				b.Fatal(err)
			}
			k, err := tokenizer.Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			k = k.WithPadding(nil).WithTruncation(nil) // no text exceeds the model's limit
			var ids [][]int
			tokens := 0
			for _, s := range texts {
				x, err := k.Encode(s, tokenizer.Options{})
				if err != nil {
					b.Fatal(err)
				}
				ids, tokens = append(ids, x.IDs), tokens+len(x.IDs)
			}
			model := newModelOnly(b, dir, weights, ids)
			whole := func() time.Duration {
				began := time.Now()
				report, err := bulk.Run(b.Context(), task, bulk.Options{Inputs: []string{in}, Out: b.TempDir(), Format: "parquet"})
				if err != nil || report.Tokens != uint64(tokens) {
					b.Fatalf("%+v, %v; want %d tokens", report, err, tokens)
				}
				return time.Since(began)
			}
			whole()
			workers, each := threads, kernels.Threads(1)
			if model.run(b, 1, kernels.Threads(threads)) < model.run(b, threads, 1) {
				workers, each = 1, kernels.Threads(threads)
			}
			var quotients, rates []float64
			for b.Loop() {
				only := model.run(b, workers, each)
				took := whole()
				quotients = append(quotients, only.Seconds()/took.Seconds())
				rates = append(rates, float64(tokens)/took.Seconds())
			}
			b.ReportMetric(median(rates), "tokens/s")
			b.ReportMetric(median(quotients), "of-kernels")
			b.ReportMetric(slices.Min(quotients), "least-of-kernels")
			b.ReportMetric(slices.Max(quotients), "most-of-kernels")
		})
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// BenchmarkClaims measures the number of shards per second that are claimed, written and released
// if there is nothing to compute.
func BenchmarkClaims(b *testing.B) {
	in := b.TempDir()
	const files = 500
	for i := range files {
		write(b, filepath.Join(in, fmt.Sprintf("%03d.txt", i)), nil)
	}
	task := embedding(b, bulk.Float32Vectors, text.Options{})
	for _, n := range []int{1, 2, 8} {
		b.Run(fmt.Sprintf("runs=%d", n), func(b *testing.B) {
			for b.Loop() {
				out := b.TempDir()
				var all sync.WaitGroup
				for range n {
					all.Go(func() {
						if _, err := bulk.Run(b.Context(), task, bulk.Options{Inputs: []string{in}, Out: out, Format: "npy"}); err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
			}
			b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}
