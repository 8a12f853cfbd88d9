package models_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// tiny is a language model of few tokens, with weights large enough that its
// predictions differ.
func tiny(t testing.TB, vocab int) *models.Model {
	t.Helper()
	return tftest.Must(models.New([]byte(tinyConfig(vocab)), strong{tf.Random(3)}))(t)
}

func tinyConfig(vocab int) string {
	return fmt.Sprintf(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": %d, "hidden_size": 16,
		"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24, "max_position_embeddings": 64}`, vocab)
}

// nans is weights whose embedding is no numbers.
type nans struct{ tf.Weights }

func (s nans) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := s.Weights.Tensor(name, shape...)
	for i := range x {
		if name == "model.embed_tokens.weight" {
			x[i] = float32(math.NaN())
		}
	}
	return x, err
}

var errFeed = errors.New("cannot feed")

// strong is weights times five.
type strong struct{ tf.Weights }

func (s strong) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := s.Weights.Tensor(name, shape...)
	for i := range x {
		x[i] *= 5
	}
	return x, err
}

// TestFeedNothing feeds one of two sequences, and wants the other's logits again.
func TestFeedNothing(t *testing.T) {
	d := tiny(t, 5).Start(new(tf.Workspace), 2)
	first := slices.Clone(tftest.Must(d.Feed([][]int{{1, 2}, {3}}))(t))
	second := tftest.Must(d.Feed([][]int{nil, {4}}))(t)
	if !slices.Equal(second[:5], first[:5]) || slices.Equal(second[5:], first[5:]) {
		t.Errorf("logits %v, then %v", first, second)
	}
}

func TestGreedyIsArgMaxOfFullPass(t *testing.T) {
	m := tiny(t, 13)
	seq := []int{1, 7, 2}
	got := tftest.Must(models.Collect(models.Generate(t.Context(), m.Start(new(tf.Workspace), 1), seq, models.Sampling{}, models.Limits{MaxTokens: 20})))(t)
	for i, token := range got {
		logits := make([]float32, len(seq)*m.Config.Vocab)
		tftest.NoError(t, m.Logits(new(tf.Workspace), logits, seq, tf.Uniform(1, len(seq)), nil, nil))
		last := logits[len(logits)-m.Config.Vocab:]
		if want := slices.Index(last, slices.Max(last)); token != want {
			t.Fatalf("token %d is %d, want %d", i, token, want)
		}
		seq = append(seq, token)
	}
	if len(got) != 20 {
		t.Errorf("%d tokens, want 20", len(got))
	}
}

func TestStopConditions(t *testing.T) {
	d := fixed{0, 0, 0, 9}
	run := func(l models.Limits) []int {
		return tftest.Must(models.Collect(models.Generate(t.Context(), d, []int{0}, models.Sampling{}, l)))(t)
	}
	if got := run(models.Limits{Stop: []int{1, 3}}); len(got) != 0 {
		t.Errorf("generation goes on behind a stop token: %v", got)
	}
	if got := run(models.Limits{MaxTokens: 5}); len(got) != 5 {
		t.Errorf("%d tokens, want 5", len(got))
	}
	if got := run(models.Limits{StopWhen: func(tokens []int) bool { return len(tokens) == 3 }}); len(got) != 3 {
		t.Errorf("%d tokens, want 3", len(got))
	}
	for range models.Generate(t.Context(), d, []int{0}, models.Sampling{}, models.Limits{}) {
		break // the consumer may stop, too
	}
}

// recorder keeps the logits that a decoder returns.
type recorder struct {
	models.Decoder
	logits []float32
}

func (r *recorder) Feed(tokens [][]int) ([]float32, error) {
	logits, err := r.Decoder.Feed(tokens)
	r.logits = append(r.logits, logits...)
	return logits, err
}

// TestCancellation cancels after some tokens and expects no further one.
func TestCancellation(t *testing.T) {
	m := tiny(t, 13)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := &recorder{Decoder: m.Start(new(tf.Workspace), 1)}
	n := 0
	for _, err := range models.Generate(ctx, d, []int{1}, models.Sampling{}, models.Limits{}) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		if n++; n == 4 {
			cancel()
		}
	}
	if n != 4 || len(d.logits) != 4*m.Config.Vocab {
		t.Errorf("%d tokens from %d passes, want 4 of each", n, len(d.logits)/m.Config.Vocab)
	}
	d = &recorder{Decoder: m.Start(new(tf.Workspace), 3)}
	if _, err := models.Beam(ctx, d, []int{1}, models.BeamConfig{Width: 3, MaxTokens: 9}); !errors.Is(err, context.Canceled) || len(d.logits) > 0 {
		t.Errorf("beam search with a cancelled context: %v after %d logits", err, len(d.logits))
	}
}

// brokenDecoder fails at its third pass.
type brokenDecoder struct {
	fixed
	passes *int
}

func (b brokenDecoder) Feed(tokens [][]int) ([]float32, error) {
	if *b.passes++; *b.passes == 3 {
		return nil, errFeed
	}
	return b.fixed.Feed(tokens)
}

func TestGenerationReportsErrors(t *testing.T) {
	d := brokenDecoder{fixed{1, 2}, new(int)}
	if got, err := models.Collect(models.Generate(t.Context(), d, []int{0}, models.Sampling{}, models.Limits{})); len(got) != 2 || !errors.Is(err, errFeed) {
		t.Errorf("%d tokens, %v", len(got), err)
	}
	*d.passes = 0
	if _, err := models.Beam(t.Context(), d, []int{0}, models.BeamConfig{Width: 1, MaxTokens: 9}); !errors.Is(err, errFeed) {
		t.Error(err)
	}
	m := tiny(t, 13)
	for name, err := range map[string]error{
		"no prompt":      tftest.Second(models.Collect(models.Generate(t.Context(), d, nil, models.Sampling{}, models.Limits{}))),
		"two sequences":  tftest.Second(models.Collect(models.Generate(t.Context(), m.Start(new(tf.Workspace), 2), []int{1}, models.Sampling{}, models.Limits{}))),
		"beam prompt":    tftest.Second(models.Beam(t.Context(), d, nil, models.BeamConfig{Width: 1, MaxTokens: 9})),
		"beam sequences": tftest.Second(models.Beam(t.Context(), d, []int{0}, models.BeamConfig{Width: 2, MaxTokens: 9})),
	} {
		if !errors.Is(err, tf.ErrShape) {
			t.Errorf("%s: error %v, want ErrShape", name, err)
		}
	}
	if _, err := models.Beam(t.Context(), d, []int{0}, models.BeamConfig{}); !errors.Is(err, tf.ErrConfig) {
		t.Errorf("beam search of width 0: %v", err)
	}
	learned := tftest.Must(models.New([]byte(`{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 13, "n_embd": 16,
		"n_layer": 1, "n_head": 2, "n_positions": 64}`), tf.Random(3)))(t)
	long := models.Generate(t.Context(), learned.Start(new(tf.Workspace), 1), []int{1}, models.Sampling{}, models.Limits{})
	if got, err := models.Collect(long); len(got) != 64 || !errors.Is(err, tf.ErrTooLong) {
		t.Errorf("beyond the positions: %d tokens, %v", len(got), err)
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
	last := tftest.Must(m.Start(ws, 1).Feed([][]int{prompt}))(t)
	all := make([]float32, length*vocab)
	tftest.NoError(t, m.Logits(ws, all, prompt, tf.Uniform(1, length), nil, nil))
	for i, got := range last {
		if want := all[(length-1)*vocab+i]; !(math.Abs(float64(got-want)) <= 1e-4*max(1, math.Abs(float64(want)))) {
			t.Fatalf("logit %d is %v, that of the whole pass %v", i, got, want)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tftest.Must(m.Start(new(tf.Workspace), 1).Feed([][]int{prompt}))(t)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*length*vocab { // the race detector has pools forget at random
		t.Errorf("%d bytes for a prompt of %d tokens; all logits would take %d", got, length, 4*length*vocab)
	}
}

// TestLogitsLength: logits of a wrong length leave the cache as it was.
func TestLogitsLength(t *testing.T) {
	m := tiny(t, 7)
	cache := tf.NewCache(1, 1)
	err := m.Logits(new(tf.Workspace), make([]float32, 6), []int{1}, tf.Uniform(1, 1), nil, cache)
	if !errors.Is(err, tf.ErrShape) || cache.Len(0) != 0 {
		t.Errorf("%v, and %d tokens in the cache", err, cache.Len(0))
	}
}

// TestWindowMemory generates far beyond a window, with a cache that must not
// grow, and equals a pass without cache.
func TestWindowMemory(t *testing.T) {
	const vocab, window = 11, 5
	windowed := func(window int) *models.Model {
		config := fmt.Sprintf(`{"model_type": "mistral", "architectures": ["MistralForCausalLM"], "vocab_size": %d, "hidden_size": 24, "num_hidden_layers": 2,
			"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 32, "max_position_embeddings": 300, "sliding_window": %d}`, vocab, window)
		return tftest.Must(models.New([]byte(config), tf.Random(2)))(t)
	}
	m := windowed(window)
	r := rand.New(rand.NewPCG(5, 5))
	tokens := make([]int, 250)
	for i := range tokens {
		tokens[i] = r.IntN(vocab)
	}
	ws := new(tf.Workspace)
	full := make([]float32, len(tokens)*vocab)
	tftest.NoError(t, m.Logits(ws, full, tokens, tf.Uniform(1, len(tokens)), nil, nil))
	d := m.Start(ws, 1)
	for i := 0; i < len(tokens); {
		n := min(1+r.IntN(4), len(tokens)-i)
		logits := tftest.Must(d.Feed([][]int{tokens[i : i+n]}))(t)
		i += n
		if text := tftest.Mismatch(logits, full[(i-1)*vocab:i*vocab], func(int, float64) float64 { return 1e-4 }); text != "" {
			t.Fatalf("after token %d: %s", i, text)
		}
		if held := len(d.Cache().Keys(0, 0)) / 12; held > 4*window {
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
	tftest.Must(m.Start(ws, 1).Feed([][]int{tokens[:3]}))(t)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes for three tokens", got)
	}
}

// TestLogitsErrors passes what does not fit.
func TestLogitsErrors(t *testing.T) {
	model, ws := tiny(t, 9), new(tf.Workspace)
	for name, c := range map[string]struct{ err, want error }{
		"token":            {model.Logits(ws, make([]float32, 9), []int{9}, tf.Uniform(1, 1), nil, nil), tf.ErrToken},
		"negative token":   {model.Logits(ws, make([]float32, 9), []int{-1}, tf.Uniform(1, 1), nil, nil), tf.ErrToken},
		"tokens and batch": {model.Logits(ws, make([]float32, 9), []int{1}, tf.Uniform(1, 2), nil, nil), tf.ErrShape},
		"cache of another": {model.Logits(ws, make([]float32, 9), []int{1}, tf.Uniform(1, 1), nil, tf.NewCache(2, 0)), tf.ErrShape},
		"nil workspace":    {model.Logits(nil, make([]float32, 9), []int{1}, tf.Uniform(1, 1), nil, nil), tf.ErrConfig},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", name, c.err, c.want)
		}
	}
}
