package generation_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// sameLayers is random weights whose layers are all the same, which are soon made.
type sameLayers struct {
	tf.Weights
	made map[string][]float32
}

// Tensor makes the tensors of one layer.
func (s sameLayers) Tensor(name string, shape ...int) ([]float32, error) {
	kind := fmt.Sprint(name[strings.LastIndexAny(name[:max(0, strings.LastIndexByte(name, '.'))], ".")+1:], shape)
	if x := s.made[kind]; x != nil {
		return x, nil
	}
	x, err := s.Weights.Tensor(name, shape...)
	s.made[kind] = x
	return x, err
}

// The shape of BenchmarkThreads' model: 1.5 billion weights.
const llamaLayers, llamaKVHeads, llamaHeadDim = 23, 8, 64

// llamaOf returns a model of that shape, a head of the same format included, or one of few weights
// whose keys and values are of the same shape.
func llamaOf(b *testing.B, format kernels.Format, weights tf.Weights, vocab, dim, hidden int) *models.Model {
	o := models.Options{WeightFormat: format, CacheFormat: kernels.FormatF16, WeightFormats: []models.NamedFormat{{Pattern: "lm_head.*", Format: format}}}
	return tftest.Must(models.New(fmt.Appendf(nil, `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": %d, "hidden_size": %d,
		"num_hidden_layers": %d, "num_attention_heads": 32, "num_key_value_heads": %d, "head_dim": %d, "intermediate_size": %d}`,
		vocab, dim, llamaLayers, llamaKVHeads, llamaHeadDim, hidden), weights, o))(b)
}

// BenchmarkThreads reads a prompt of 512 tokens, generates 16 tokens after it, and generates with
// 16 streams of 512 tokens each, with a Llama of 1.5 billion weights on 1, 4 and more threads in
// turn. It reports the medians of tokens a second, the bytes that steps read, in GB a second, and
// what a read by all threads reaches.
func BenchmarkThreads(b *testing.B) {
	const depth, length, streams = 512, 16, 16
	counts := testenv.ThreadCounts()
	most := slices.Max(counts)
	counts = slices.DeleteFunc(counts, func(n int) bool { return n < most && (n == 2 || n == 8) })
	weights := sameLayers{tf.Random(1), map[string][]float32{}}
	small := llamaOf(b, kernels.FormatF32, tf.Random(1), 64, 64, 64)
	for _, c := range []struct {
		format kernels.Format
		bytes  float64 // of a weight
	}{{kernels.FormatQ4_0, 18. / 32}, {kernels.FormatQ8_0, 34. / 32}, {kernels.FormatBF16, 2}} {
		b.Run(fmt.Sprint(c.format), func(b *testing.B) {
			m := llamaOf(b, c.format, weights, 32000, 2048, 8192)
			size := c.bytes * float64(32000*2048+llamaLayers*(2*2048*2048+2*2048*llamaKVHeads*llamaHeadDim+3*2048*8192))
			cache := float64(llamaLayers * 2 * 2 * llamaKVHeads * llamaHeadDim * depth) // of a text
			stepper := map[int]*generation.Stepper{}
			filler := generation.Stepper{Model: small.LM, Workspace: &tf.Workspace{Threads: kernels.Threads(most)}}
			for _, n := range counts {
				stepper[n] = &generation.Stepper{Model: m.LM, Workspace: &tf.Workspace{Threads: kernels.Threads(n)}}
			}
			pages := m.LM.NewPages(0)
			prompt := generation.Step{Tokens: make([]int, depth), Batch: tf.Uniform(1, depth), Past: []*tf.History{nil}, Want: []int{depth - 1}}
			fill := func(by *generation.Stepper) *tf.History {
				prompt.Past[0] = pages.New()
				tftest.Must(by.Run(prompt))(b)
				return prompt.Past[0]
			}
			// steps of some texts on some threads
			steps := func(threads, steps int, texts []*tf.History) (perSecond float64) {
				s := generation.Step{Batch: tf.Uniform(len(texts), 1), Past: texts, Tokens: make([]int, len(texts))}
				for i := range texts {
					s.Want = append(s.Want, i)
				}
				tftest.Must(stepper[threads].Run(s))(b)
				begin := time.Now()
				for range steps {
					tftest.Must(stepper[threads].Run(s))(b)
				}
				rate := float64(steps) / time.Since(begin).Seconds()
				for _, h := range texts {
					tftest.NoError(b, h.Truncate(depth))
				}
				return rate
			}
			var texts []*tf.History
			for range streams {
				texts = append(texts, fill(&filler))
			}
			samples := testenv.Samples{}
			round := 0
			for b.Loop() {
				samples.Add(readBandwidth(most), "read-GB/s")
				for _, n := range counts {
					if n > 1 || round == 0 { // one thread takes long
						begin := time.Now()
						fill(stepper[n]).Release()
						samples.Add(depth/time.Since(begin).Seconds(), "%02d-prompt-tok/s", n)
					}
					rate := steps(n, length/2+length/2*min(n-1, 1), texts[:1])
					samples.Add(rate, "%02d-generate-tok/s", n)
					samples.Add(rate*(size+cache)/1e9, "%02d-generate-GB/s", n)
				}
				rate := steps(most, length, texts)
				samples.Add(rate*streams, "%d-streams-tok/s", streams)
				samples.Add(rate*(size+streams*cache)/1e9, "%d-streams-GB/s", streams)
				round++
			}
			samples.Report(b)
			if c.format == kernels.FormatQ4_0 {
				testenv.Profile(b, "/generate", func() { steps(most, length, texts[:1]) })
				testenv.Profile(b, "/streams", func() { steps(most, length, texts) })
				testenv.Profile(b, "/prompt", func() { fill(stepper[most]).Release() })
			}
		})
	}
}

// readBandwidth returns the best of three reads of 128 MiB for each thread, in GB a second.
func readBandwidth(threads int) (best float64) {
	const words = 16 << 20
	memory := make([][]uint64, threads)
	sums := make([]uint64, threads)
	each := func(do func(i int)) {
		var all sync.WaitGroup
		for i := range threads {
			all.Go(func() { do(i) })
		}
		all.Wait()
	}
	each(func(i int) {
		memory[i] = make([]uint64, words)
		for j := range memory[i] { // a page takes no memory until it is written
			memory[i][j] = uint64(j)
		}
	})
	for range 3 {
		begin := time.Now()
		each(func(i int) {
			var a, b, c, d uint64
			for x := memory[i]; len(x) >= 8; x = x[8:] {
				a, b, c, d = a+x[0]+x[1], b+x[2]+x[3], c+x[4]+x[5], d+x[6]+x[7]
			}
			sums[i] = a + b + c + d
		})
		best = max(best, float64(8*words*threads)/time.Since(begin).Seconds()/1e9)
	}
	return best
}
