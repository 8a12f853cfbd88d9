package models_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// TestCache feeds the prompts of every language model as a batch of sequences of different lengths,
// token by token with a cache, and as continuations of one prompt: each time the logits are those
// of the whole sequence at once or, where rotary positions depend on the prompt's length, those of
// the prompt at once and of the rest at once.
func TestCache(t *testing.T) {
	entries, err := os.ReadDir(own)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, entry := range entries {
		dir := filepath.Join(own, entry.Name())
		if _, err := os.Stat(filepath.Join(dir, "config.json")); err != nil {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			m, err := models.Open(dir, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			e := modelstest.OpenExpected(t, dir)
			if m.LM == nil || !e.Has("greedy_0") {
				t.Skip("no language model")
			}
			compared++
			compareCache(t, m, e)
		})
	}
	if compared < 20 {
		t.Errorf("%d language models", compared)
	}
}

func compareCache(t *testing.T, m *models.Model, e *modelstest.Expected) {
	ws := new(models.Workspace)
	prompts, greedy := e.Prompts(m)
	var memory *models.Memory // one that all sequences share
	if _, each := e.Memory(ws, m); each != nil {
		memory = &each[0]
	}
	r, ok := m.LM.(models.HistoryRewriter)
	byLength := ok && r.RewritesHistory() && m.Config.ModelType != "phi3" // which computes its history again
	// whole is the logits after the tokens of a prompt and those that follow, computed at once.
	whole := func(prompt, rest []int) []float32 {
		if byLength {
			d := generation.StartLM(ws, m.LM, memory, 1)
			y, err := d.Feed([][]int{prompt})
			if e.NoError(err); len(rest) > 0 {
				y, err = d.Feed([][]int{rest})
				e.NoError(err)
			}
			return y
		}
		ids := slices.Concat(prompt, rest)
		x, y := make([]float32, len(ids)*m.LM.Dim()), make([]float32, m.LM.Vocab())
		e.NoError(m.LM.Hidden(ws, x, ids, transformer.Uniform(1, len(ids)), memory, nil))
		e.NoError(m.LM.Logits(ws, y, x[len(x)-m.LM.Dim():]))
		return y
	}
	within := func(tolerance float64, what string, got, want []float32) {
		t.Helper()
		for i := range want {
			if d := math.Abs(float64(got[i] - want[i])); !(d <= tolerance) {
				t.Fatalf("%s: logit %d is %g, want %g", what, i, got[i], want[i])
			}
		}
	}
	// near wants equal bits. With a memory it allows a difference: attention to a memory that is
	// not in a cache may add in another order if there are few queries.
	near := func(what string, got, want []float32) {
		t.Helper()
		tolerance := 0.0
		if memory != nil {
			tolerance = 1e-4 // the logits are of size 1 to 10
		}
		within(tolerance, what, got, want)
	}
	vocab := m.LM.Vocab()
	texts := make([][]int, len(prompts))
	d := generation.StartLM(ws, m.LM, memory, len(prompts))
	for i := range prompts {
		texts[i] = slices.Concat(prompts[i], greedy[i])
	}
	for step := 0; ; step++ {
		// The first piece of each sequence is its prompt, the second is three tokens, of one
		// sequence only; then they come one by one.
		feed, ends := make([][]int, len(prompts)), make([]int, len(prompts))
		for i := range feed {
			from, to := len(prompts[i])+step+1, len(prompts[i])+step+2
			switch step {
			case 0:
				from, to = 0, len(prompts[i])
			case 1:
				from, to = len(prompts[i]), len(prompts[i])+3*(1-i%2)
			default:
				if i%2 == 1 {
					from, to = from-3, to-3
				}
			}
			to = min(to, len(texts[i]))
			feed[i], ends[i] = texts[i][min(from, to):to], to
		}
		if step > 1 && !slices.ContainsFunc(feed, func(f []int) bool { return len(f) > 0 }) {
			break
		}
		logits, err := d.Feed(feed)
		e.NoError(err)
		for i, end := range ends {
			near(fmt.Sprintf("step %d of sequence %d", step, i), logits[i*vocab:(i+1)*vocab], whole(prompts[i], texts[i][len(prompts[i]):end]))
		}
	}
	// A sequence in pieces of equal lengths has the bits of the whole one.
	text := texts[len(texts)-1]
	inPieces := func(size int) (logits []float32) {
		one := generation.StartLM(ws, m.LM, memory, 1)
		e.NoError(one.Cache().History(0).Expect(len(prompts[len(prompts)-1])))
		for piece := range slices.Chunk(text, size) {
			var err error
			logits, err = one.Feed([][]int{piece})
			e.NoError(err)
		}
		return logits
	}
	together := whole(prompts[len(prompts)-1], text[len(prompts[len(prompts)-1]):])
	if memory != nil { // whose attention may add in another order
		together = inPieces(len(text))
	}
	for _, size := range []int{1, 3, 5} {
		within(0, fmt.Sprintf("pieces of %d", size), inPieces(size), together)
	}
	// Two continuations of a sequence that share its beginning.
	last := len(prompts) - 1
	one := generation.StartLM(ws, m.LM, memory, 1)
	_, err := one.Feed([][]int{prompts[last]})
	e.NoError(err)
	both, err := one.Continue(ws, 0, 2)
	e.NoError(err)
	tails := [][]int{greedy[last][:5], greedy[0][:2]}
	logits, err := both.Feed(tails)
	e.NoError(err)
	for i, tail := range tails {
		near(fmt.Sprintf("continuation %d", i), logits[i*vocab:(i+1)*vocab], whole(prompts[last], tail))
	}
}

// TestGenerateBatch generates from prompts of different lengths at a time, which end at different
// times: each gets the tokens that transformers computes for it alone.
func TestGenerateBatch(t *testing.T) {
	for _, name := range []string{"llama", "mistral", "gemma2", "phi3-long", "t5", "whisper"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(own, name)
			m, err := models.Open(dir, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			e, ws := modelstest.OpenExpected(t, dir), new(models.Workspace)
			prompts, want := e.Prompts(m)
			var memory *models.Memory
			if all, each := e.Memory(ws, m); all != nil { // of the sequences that are decoded
				rows, lengths := 0, []int{}
				for _, one := range each[:len(prompts)] {
					rows, lengths = rows+len(one.X), append(lengths, one.Batch.Length(0))
				}
				memory = &models.Memory{X: all.X[:rows], Batch: transformer.Ragged(lengths...)}
			}
			generate := func(s generation.SamplerConfig, limits generation.Limits) [][]int {
				var requests []generation.Request
				for i, prompt := range prompts {
					own := s
					own.Vocab, own.Seed = m.LM.Vocab(), s.Seed+uint64(i)
					sampler, err := generation.NewSampler(own)
					e.NoError(err)
					requests = append(requests, generation.Request{Prompt: prompt, Sampler: sampler, Limits: limits})
				}
				got, err := generation.CollectBatch(len(prompts), generation.GenerateBatch(t.Context(), generation.StartLM(ws, m.LM, memory, len(prompts)), requests))
				e.NoError(err)
				return got
			}
			stop := want[0][3]
			ended := slices.Clone(want)
			for i, w := range want {
				if at := slices.Index(w, stop); at >= 0 {
					ended[i] = w[:at]
				}
			}
			n := len(want[0])
			if got := generate(generation.SamplerConfig{}, generation.Limits{MaxTokens: n}); !equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if got := generate(generation.SamplerConfig{}, generation.Limits{MaxTokens: n, Stop: []int{stop}}); !equal(got, ended) {
				t.Errorf("up to token %d: %v, want %v", stop, got, ended)
			}
			drawn := generation.SamplerConfig{Sampling: generation.Sampling{Temperature: 1, Seed: 7}}
			first := generate(drawn, generation.Limits{MaxTokens: n})
			if second := generate(drawn, generation.Limits{MaxTokens: n}); !equal(first, second) {
				t.Errorf("the same seed: %v and %v", first, second)
			}
			if m.Encoder == nil && m.Audio == nil {
				alone, err := generation.Collect(generation.Generate(t.Context(), generation.StartLM(ws, m.LM, nil, 1), prompts[0], drawn, generation.Limits{MaxTokens: n}))
				e.NoError(err)
				if !slices.Equal(alone, first[0]) {
					t.Errorf("drawn alone %v, in a batch %v", alone, first[0])
				}
			}
		})
	}
}

func equal(a, b [][]int) bool { return slices.EqualFunc(a, b, slices.Equal[[]int]) }

// TestWindowsBoundCaches feeds more tokens than windows are wide: layers with a window keep those
// and less than two pages of 64 rows, the others all.
func TestWindowsBoundCaches(t *testing.T) {
	const tokens, window, rowSize = 240, 6, 2 * 16 // key heads times their size
	m, err := models.Open(filepath.Join(own, "gemma3_text"), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := generation.StartLM(new(models.Workspace), m.LM, nil, 1)
	for i := range tokens {
		if _, err := d.Feed([][]int{{3 + i%80}}); err != nil {
			t.Fatal(err)
		}
	}
	for layer, most := range []int{window + 2*64, window + 2*64, tokens} {
		rows := len(d.Cache().Keys(layer, 0)) / rowSize
		if rows > most || rows < min(window, most) || most == tokens && rows != tokens {
			t.Errorf("layer %d keeps %d rows, want at most %d", layer, rows, most)
		}
	}
}

// TestNarrowCaches generates with keys and values in each format, with windows and capped scores
// too, and compares logits with those of a float32 cache. The numbers are rounded once, so that
// tokens fed one by one, in other sequences, or after others that are given up, see the same.
func TestNarrowCaches(t *testing.T) {
	const rows = ` "vocab_size": 60, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96`
	configs := map[string]string{
		"llama":   `{"model_type": "llama", "architectures": ["LlamaForCausalLM"],` + rows + `}`,
		"mistral": `{"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 5,` + rows + `}`,
		"gemma2": `{"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "sliding_window": 5, "query_pre_attn_scalar": 16,
			"attn_logit_softcapping": 30, "final_logit_softcapping": 20,` + rows + `}`,
	}
	prompt := []int{3, 14, 15, 9, 2, 6, 5, 35, 8, 9, 7, 9, 32, 38, 46, 26, 43, 38, 32}
	for name, config := range configs {
		feed := func(d *generation.Decoding, tokens ...[]int) []float32 {
			return slices.Clone(tftest.Must(d.Feed(tokens))(t))
		}
		start := func(f kernels.Format, sequences int) *generation.Decoding {
			m := tftest.Must(models.New([]byte(config), transformer.Random(6), models.Options{CacheFormat: f}))(t)
			return generation.Start(&models.Workspace{Threads: 2}, m, sequences)
		}
		exact := feed(start(kernels.FormatF32, 1), prompt)
		for f, bound := range map[kernels.Format]float64{kernels.FormatBF16: 0.01, kernels.FormatF16: 0.001, kernels.FormatInt8: 0.02} {
			t.Run(fmt.Sprintf("%s/%v", name, f), func(t *testing.T) {
				d := start(f, 1)
				whole := feed(d, prompt)
				off := modelstest.Distance(whole, exact)
				t.Logf("%.2g off", off)
				if !(off <= bound) || off == 0 {
					t.Errorf("%.3g of the logits off, want at most %g, and more than 0", off, bound)
				}
				same := func(what string, got []float32) {
					t.Helper()
					if off := modelstest.Distance(got, whole); !(off <= 1e-3) { // a sum in another order may round to another number
						t.Errorf("%s: %.3g of the logits off", what, off)
					}
				}
				pieces := start(f, 2)
				feed(pieces, prompt[:2], []int{1, 2, 3})
				for _, token := range prompt[2:6] {
					feed(pieces, []int{token}, []int{4})
				}
				tftest.NoError(t, pieces.Reorder([]int{1, 0}))
				same("piece by piece", feed(pieces, []int{5}, prompt[6:])[60:])
				part := start(f, 1)
				feed(part, prompt[:12])
				copies := tftest.Must(part.Continue(&models.Workspace{}, 0, 3))(t)
				same("continued", feed(copies, nil, []int{1, 2}, prompt[12:])[120:])
			})
		}
	}
	for _, o := range []models.Options{{CacheFormat: kernels.FormatQ8_0}, {CacheFormat: 99}} {
		if _, err := models.New([]byte(configs["llama"]), transformer.Random(6), o); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%v: %v, want ErrOption", o, err)
		}
	}
}

// llama returns a language model with made-up weights.
func llama(t *testing.T, vocab int) *models.Model {
	t.Helper()
	config := fmt.Sprintf(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": %d, "hidden_size": 16,
		"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}`, vocab)
	return tftest.Must(models.New([]byte(config), transformer.Random(3), models.Options{}))(t)
}

// TestLogitsLength: logits of a wrong length leave the cache as it was.
func TestLogitsLength(t *testing.T) {
	m := llama(t, 7)
	cache := transformer.NewCache(1)
	err := m.Logits(new(transformer.Workspace), make([]float32, 6), []int{1}, transformer.Uniform(1, 1), nil, cache)
	if !errors.Is(err, fault.ErrShape) || cache.Len(0) != 0 {
		t.Errorf("%v, and %d tokens in the cache", err, cache.Len(0))
	}
}

// TestLogitsErrors passes what does not fit.
func TestLogitsErrors(t *testing.T) {
	model, ws := llama(t, 9), new(transformer.Workspace)
	for name, c := range map[string]struct{ err, want error }{
		"token":            {model.Logits(ws, make([]float32, 9), []int{9}, transformer.Uniform(1, 1), nil, nil), fault.ErrToken},
		"negative token":   {model.Logits(ws, make([]float32, 9), []int{-1}, transformer.Uniform(1, 1), nil, nil), fault.ErrToken},
		"tokens and batch": {model.Logits(ws, make([]float32, 9), []int{1}, transformer.Uniform(1, 2), nil, nil), fault.ErrShape},
		"cache of another": {model.Logits(ws, make([]float32, 9), []int{1}, transformer.Uniform(1, 1), nil, transformer.NewCache(2)), fault.ErrShape},
		"nil workspace":    {model.Logits(nil, make([]float32, 9), []int{1}, transformer.Uniform(1, 1), nil, nil), fault.ErrConfig},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", name, c.err, c.want)
		}
	}
}
