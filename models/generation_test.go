package models_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"slices"
	"sort"
	"strings"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// generation compares logits and greedy tokens of language models.
func (e *expected) generation(ws *models.Workspace, m *models.Model) {
	if m.LM == nil {
		return
	}
	memory, memories := e.memory(ws, m)
	ids, mask := "input_ids", "attention_mask"
	if memory != nil {
		ids, mask = "decoder_input_ids", "decoder_attention_mask"
	}
	in := e.tokens(ids, mask, "")
	if e.has("last_hidden_state") {
		x := make([]float32, len(in.IDs)*m.LM.Dim())
		e.ok(m.LM.Hidden(ws, x, in.IDs, in.Batch, memory, nil))
		e.check("last_hidden_state", in.pad(x))
	}
	if e.has("logits") {
		e.check("logits", in.pad(e.logits(ws, m, in, memory)))
	}
	e.sentence(ws, m, in)
	e.greedy(ws, m, memories)
}

// logits is those of the token after each token of in.
func (e *expected) logits(ws *models.Workspace, m *models.Model, in batch, memory *models.Memory) []float32 {
	e.t.Helper()
	x := make([]float32, len(in.IDs)*m.LM.Dim())
	e.ok(m.LM.Hidden(ws, x, in.IDs, in.Batch, memory, nil))
	y := make([]float32, len(in.IDs)*m.LM.Vocab())
	e.ok(m.LM.Logits(ws, y, x))
	return y
}

// prompts is the prompts, and what greedy decoding makes of each.
func (e *expected) prompts(m *models.Model) (prompts, want [][]int) {
	var names []string
	for _, name := range e.file.Names() {
		if strings.HasPrefix(name, "greedy_") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		prompt := []int{m.Config.DecoderStart}
		if own := "prompt_" + strings.TrimPrefix(name, "greedy_"); e.has("decoder_prompt") {
			prompt = e.ints("decoder_prompt")
		} else if e.has(own) {
			prompt = e.ints(own)
		}
		prompts, want = append(prompts, prompt), append(want, e.ints(name))
	}
	return prompts, want
}

// greedy decodes each prompt on its own, given its memory if there are any.
func (e *expected) greedy(ws *models.Workspace, m *models.Model, memories []models.Memory) {
	e.t.Helper()
	prompts, want := e.prompts(m)
	for i, prompt := range prompts {
		var memory *models.Memory
		if memories != nil {
			memory = &memories[i]
		}
		got, err := generation.Collect(generation.Generate(e.t.Context(), generation.StartLM(ws, m.LM, memory, 1), prompt,
			generation.SamplerConfig{}, generation.Limits{MaxTokens: len(want[i])}))
		e.ok(err)
		if e.collect != nil {
			e.collect(fmt.Sprintf("greedy_%d", i), floatsOf(got))
			continue
		}
		e.outputs++
		if !slices.Equal(got, want[i]) {
			e.t.Errorf("greedy_%d: %v, want %v", i, got, want[i])
		}
	}
}

// floatsOf are tokens as numbers.
func floatsOf(tokens []int) []float32 {
	x := make([]float32, len(tokens))
	for i, token := range tokens {
		x[i] = float32(token)
	}
	return x
}

// memory is the output of the encoder, if there is one: of all sequences, and of each.
func (e *expected) memory(ws *models.Workspace, m *models.Model) (*models.Memory, []models.Memory) {
	var all models.Memory
	dim := 0
	switch {
	case m.Audio != nil:
		features, shape := e.floats("input_features"), e.shape("input_features")
		n, frames := shape[0], shape[2]
		rows := m.Audio.Rows(frames)
		dim = m.Audio.Dim()
		all = models.Memory{X: make([]float32, n*rows*dim), Batch: transformer.Uniform(n, rows)}
		e.ok(m.Audio.EncodeAudio(ws, all.X, features, n, frames))
		e.check("encoder_last_hidden_state", all.X)
	case m.Encoder != nil:
		in := e.tokens("input_ids", "attention_mask", "")
		dim = m.Encoder.Dim()
		all = models.Memory{X: make([]float32, len(in.IDs)*dim), Batch: in.Batch}
		e.ok(m.Encoder.Encode(ws, all.X, in.Tokens))
		e.check("encoder_last_hidden_state", in.pad(all.X))
	default:
		return nil, nil
	}
	var each []models.Memory
	for i := range all.Batch.Len() {
		each = append(each, models.Memory{X: all.X[all.Batch.Start(i)*dim : all.Batch.Start(i+1)*dim], Batch: transformer.Uniform(1, all.Batch.Length(i))})
	}
	return &all, each
}

// TestCache feeds the prompts of every language model as a batch of sequences of
// different lengths, token by token with a cache, and as continuations of one prompt:
// each time the logits are those of the whole sequence at once.
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
			e := openExpected(t, dir)
			if m.LM == nil || !e.has("greedy_0") {
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

func compareCache(t *testing.T, m *models.Model, e *expected) {
	ws := new(models.Workspace)
	prompts, greedy := e.prompts(m)
	var memory *models.Memory // one that all sequences share
	if _, each := e.memory(ws, m); each != nil {
		memory = &each[0]
	}
	// whole is the logits after ids, computed at once.
	whole := func(ids []int) []float32 {
		x, y := make([]float32, len(ids)*m.LM.Dim()), make([]float32, m.LM.Vocab())
		e.ok(m.LM.Hidden(ws, x, ids, transformer.Uniform(1, len(ids)), memory, nil))
		e.ok(m.LM.Logits(ws, y, x[len(x)-m.LM.Dim():]))
		return y
	}
	near := func(what string, got, want []float32) {
		t.Helper()
		const tolerance = 1e-4 // the logits are of size 1 to 10
		for i := range want {
			if d := math.Abs(float64(got[i] - want[i])); !(d <= tolerance) {
				t.Fatalf("%s: logit %d is %g, want %g", what, i, got[i], want[i])
			}
		}
	}
	vocab := m.LM.Vocab()
	texts := make([][]int, len(prompts))
	d := generation.StartLM(ws, m.LM, memory, len(prompts))
	for i := range prompts {
		texts[i] = slices.Concat(prompts[i], greedy[i])
	}
	for step := 0; ; step++ {
		// The first piece of each sequence is its prompt, the second is three tokens, of
		// one sequence only; then they come one by one.
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
		e.ok(err)
		for i, end := range ends {
			near(fmt.Sprintf("step %d of sequence %d", step, i), logits[i*vocab:(i+1)*vocab], whole(texts[i][:end]))
		}
	}
	// Two continuations of a sequence that share its beginning.
	last := len(prompts) - 1
	one := generation.StartLM(ws, m.LM, memory, 1)
	_, err := one.Feed([][]int{prompts[last]})
	e.ok(err)
	both, err := one.Continue(ws, 0, 2)
	e.ok(err)
	tails := [][]int{greedy[last][:5], greedy[0][:2]}
	logits, err := both.Feed(tails)
	e.ok(err)
	for i, tail := range tails {
		near(fmt.Sprintf("continuation %d", i), logits[i*vocab:(i+1)*vocab], whole(slices.Concat(prompts[last], tail)))
	}
}

// TestGenerateBatch generates from prompts of different lengths at a time, which end at
// different times: each gets the tokens that transformers computes for it alone.
func TestGenerateBatch(t *testing.T) {
	for _, name := range []string{"llama", "mistral", "gemma2", "phi3-long", "t5", "whisper"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(own, name)
			m, err := models.Open(dir, models.Options{})
			if err != nil {
				t.Fatal(err)
			}
			e, ws := openExpected(t, dir), new(models.Workspace)
			prompts, want := e.prompts(m)
			var memory *models.Memory
			if all, each := e.memory(ws, m); all != nil { // of the sequences that are decoded
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
					e.ok(err)
					requests = append(requests, generation.Request{Prompt: prompt, Sampler: sampler, Limits: limits})
				}
				got, err := generation.CollectBatch(len(prompts), generation.GenerateBatch(t.Context(), generation.StartLM(ws, m.LM, memory, len(prompts)), requests))
				e.ok(err)
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
			drawn := generation.SamplerConfig{Temperature: 1, Seed: 7}
			first := generate(drawn, generation.Limits{MaxTokens: n})
			if second := generate(drawn, generation.Limits{MaxTokens: n}); !equal(first, second) {
				t.Errorf("the same seed: %v and %v", first, second)
			}
			if m.Encoder == nil && m.Audio == nil {
				alone, err := generation.Collect(generation.Generate(t.Context(), generation.StartLM(ws, m.LM, nil, 1), prompts[0], drawn, generation.Limits{MaxTokens: n}))
				e.ok(err)
				if !slices.Equal(alone, first[0]) {
					t.Errorf("drawn alone %v, in a batch %v", alone, first[0])
				}
			}
		})
	}
}

func equal(a, b [][]int) bool { return slices.EqualFunc(a, b, slices.Equal[[]int]) }

// TestWindowsBoundCaches feeds more tokens than windows are wide: layers with a window
// keep those and less than two pages of 64 rows, the others all.
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
