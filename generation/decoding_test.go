package generation_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// TestStartWithoutLM generates with models that cannot, and without what generating needs.
func TestStartWithoutLM(t *testing.T) {
	encoder := tftest.Must(models.Open("../models/testdata/folders/bert", models.Options{}))(t)
	both := tftest.Must(models.Open("../models/testdata/folders/t5", models.Options{}))(t)
	decoder := tiny(t, 50)
	rules := &generation.Rules{BadWords: [][]int{{3}}}
	for what, start := range map[string]func() *generation.Decoding{
		"an encoder":      func() *generation.Decoding { return generation.Start(new(tf.Workspace), encoder, 1) },
		"no model":        func() *generation.Decoding { return generation.StartLM(new(tf.Workspace), nil, nil, 1) },
		"encoder-decoder": func() *generation.Decoding { return generation.Start(new(tf.Workspace), both, 1) },
		"no workspace":    func() *generation.Decoding { return generation.Start(nil, decoder, 1) },
		"no sequences":    func() *generation.Decoding { return generation.Start(new(tf.Workspace), decoder, -1) },
	} {
		_, err1 := generation.Collect(generation.Generate(t.Context(), start(), []int{1}, generation.SamplerConfig{Rules: rules}, generation.Limits{MaxTokens: 3}))
		_, err2 := generation.Beam(t.Context(), start(), []int{1}, generation.BeamConfig{Width: 2, MaxTokens: 3, Rules: rules})
		_, err3 := start().Feed([][]int{{1}})
		_, err4 := start().Continue(new(tf.Workspace), 0, 2)
		for _, err := range []error{err1, err2, err3, err4, start().Reorder([]int{0})} {
			if !errors.Is(err, fault.ErrConfig) && !errors.Is(err, fault.ErrShape) || errors.Is(err, fault.ErrConfig) && what == "an encoder" && !strings.Contains(err.Error(), "bert") {
				t.Errorf("%s: error %v, want one that says so", what, err)
			}
		}
		if start().Vocab() != 0 {
			t.Errorf("%s: a vocabulary", what)
		}
	}
}

// TestSharedModels has many goroutines generate with one model at once, each with a workspace of
// its own, and wants the bits that each use has alone. It is for the race detector too.
func TestSharedModels(t *testing.T) {
	uses := map[string]func(ws *tf.Workspace) (result any, err error){}
	llama := tiny(t, 50)
	uses["LanguageModel, greedy"] = func(ws *tf.Workspace) (any, error) {
		return generation.Collect(generation.Generate(t.Context(), generation.Start(ws, llama, 1), []int{1, 4, 2}, generation.SamplerConfig{}, generation.Limits{MaxTokens: 12}))
	}
	uses["LanguageModel, sampled"] = func(ws *tf.Workspace) (any, error) {
		s := generation.SamplerConfig{Sampling: generation.Sampling{Temperature: 0.8, TopK: 20, TopP: 0.9, Seed: 5}}
		return generation.Collect(generation.Generate(t.Context(), generation.Start(ws, llama, 1), []int{1, 4, 2}, s, generation.Limits{MaxTokens: 12}))
	}
	uses["LanguageModel, beam"] = func(ws *tf.Workspace) (any, error) {
		return generation.Beam(t.Context(), generation.Start(ws, llama, 3), []int{1}, generation.BeamConfig{Width: 3, MaxTokens: 6, Stop: []int{5}, LengthPenalty: 1})
	}
	tftest.Shared(t, uses)
}

// TestFeedNothing feeds one of two sequences, and wants the other's logits again.
func TestFeedNothing(t *testing.T) {
	d := generation.Start(new(tf.Workspace), tiny(t, 5), 2)
	first := slices.Clone(tftest.Must(d.Feed([][]int{{1, 2}, {3}}))(t))
	second := tftest.Must(d.Feed([][]int{nil, {4}}))(t)
	if !slices.Equal(second[:5], first[:5]) || slices.Equal(second[5:], first[5:]) {
		t.Errorf("logits %v, then %v", first, second)
	}
}

// TestPromptLogits: of a prompt, only the last token's logits are computed.
func TestPromptLogits(t *testing.T) {
	const vocab, length = 20000, 64
	m := tiny(t, vocab)
	prompt := make([]int, length)
	for i := range prompt {
		prompt[i] = i * 7 % vocab
	}
	ws := new(tf.Workspace)
	last := tftest.Must(generation.Start(ws, m, 1).Feed([][]int{prompt}))(t)
	all := make([]float32, length*vocab)
	tftest.NoError(t, m.Logits(ws, all, prompt, tf.Uniform(1, length), nil, nil))
	for i, got := range last {
		if want := all[(length-1)*vocab+i]; !(math.Abs(float64(got-want)) <= 1e-4*max(1, math.Abs(float64(want)))) {
			t.Fatalf("logit %d is %v, that of the whole pass %v", i, got, want)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tftest.Must(generation.Start(new(tf.Workspace), m, 1).Feed([][]int{prompt}))(t)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*length*vocab { // the race detector has pools forget at random
		t.Errorf("%d bytes for a prompt of %d tokens; all logits would take %d", got, length, 4*length*vocab)
	}
}

// TestWindowMemory generates far beyond a window, with a cache that must not grow, and equals a
// pass without cache.
func TestWindowMemory(t *testing.T) {
	const vocab, window = 11, 5
	windowed := func(window int) *models.Model {
		config := fmt.Sprintf(`{"model_type": "mistral", "architectures": ["MistralForCausalLM"], "vocab_size": %d, "hidden_size": 24, "num_hidden_layers": 2,
			"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 32, "max_position_embeddings": 500, "sliding_window": %d}`, vocab, window)
		return tftest.Must(models.New([]byte(config), tf.Random(2), models.Options{}))(t)
	}
	m := windowed(window)
	r := rand.New(rand.NewPCG(5, 5))
	tokens := make([]int, 400)
	for i := range tokens {
		tokens[i] = r.IntN(vocab)
	}
	ws := new(tf.Workspace)
	full := make([]float32, len(tokens)*vocab)
	tftest.NoError(t, m.Logits(ws, full, tokens, tf.Uniform(1, len(tokens)), nil, nil))
	d := generation.Start(ws, m, 1)
	for i := 0; i < len(tokens); {
		n := min(1+r.IntN(4), len(tokens)-i)
		logits := tftest.Must(d.Feed([][]int{tokens[i : i+n]}))(t)
		i += n
		if text := tftest.Mismatch(logits, full[(i-1)*vocab:i*vocab], func(int, float64) float64 { return 1e-4 }); text != "" {
			t.Fatalf("after token %d: %s", i, text)
		}
		if held := len(d.Cache().Keys(0, 0)) / 12; held > window+2*64 { // and less than two pages
			t.Fatalf("after token %d the cache holds %d rows for a window of %d", i, held, window)
		}
	}
	if d.Cache().Len(0) != len(tokens) {
		t.Errorf("Len = %d, want %d", d.Cache().Len(0), len(tokens))
	}

	// A window that no sequence fills takes no memory.
	m = windowed(math.MaxInt32)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tftest.Must(generation.Start(ws, m, 1).Feed([][]int{tokens[:3]}))(t)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes for three tokens", got)
	}
}
