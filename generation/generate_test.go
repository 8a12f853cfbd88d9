package generation_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// tiny returns a language model of few tokens, with weights large enough that its predictions
// differ.
func tiny(t testing.TB, vocab int) *models.Model {
	t.Helper()
	return tftest.Must(models.New([]byte(tinyConfig(vocab)), tftest.Strong{Weights: tf.Random(3)}, models.Options{}))(t)
}

func tinyConfig(vocab int) string {
	return fmt.Sprintf(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": %d, "hidden_size": 16,
		"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24, "max_position_embeddings": 64}`, vocab)
}

// nans is weights whose embedding is not numbers.
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

func TestGreedyIsArgMaxOfFullPass(t *testing.T) {
	m := tiny(t, 13)
	seq := []int{1, 7, 2}
	got := tftest.Must(generation.Collect(generation.Generate(t.Context(), generation.Start(new(tf.Workspace), m, 1), seq, generation.SamplerConfig{}, generation.Limits{MaxTokens: 20})))(t)
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
	run := func(l generation.Limits) []int {
		return tftest.Must(generation.Collect(generation.Generate(t.Context(), d, []int{0}, generation.SamplerConfig{}, l)))(t)
	}
	if got := run(generation.Limits{Stop: []int{1, 3}}); len(got) != 0 {
		t.Errorf("generation continues after a stop token: %v", got)
	}
	if got := run(generation.Limits{MaxTokens: 5}); len(got) != 5 {
		t.Errorf("%d tokens, want 5", len(got))
	}
	if got := run(generation.Limits{StopWhen: func(tokens []int) bool { return len(tokens) == 3 }}); len(got) != 3 {
		t.Errorf("%d tokens, want 3", len(got))
	}
	for range generation.Generate(t.Context(), d, []int{0}, generation.SamplerConfig{}, generation.Limits{}) {
		break // the consumer may stop, too
	}
}

// recorder keeps the logits that a decoder returns.
type recorder struct {
	generation.Decoder
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
	why := errors.New("the shop closes")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	d := &recorder{Decoder: generation.Start(new(tf.Workspace), m, 1)}
	n := 0
	for _, err := range generation.Generate(ctx, d, []int{1}, generation.SamplerConfig{}, generation.Limits{}) {
		if err != nil {
			if err != why {
				t.Errorf("%v, want the cause", err)
			}
			break
		}
		if n++; n == 4 {
			cancel(why)
		}
	}
	if n != 4 || len(d.logits) != 4*m.Config.Vocab {
		t.Errorf("%d tokens from %d passes, want 4 of each", n, len(d.logits)/m.Config.Vocab)
	}
	d = &recorder{Decoder: generation.Start(new(tf.Workspace), m, 3)}
	if _, err := generation.Beam(ctx, d, []int{1}, generation.BeamConfig{Width: 3, MaxTokens: 9}); err != why || len(d.logits) > 0 {
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
	if got, err := generation.Collect(generation.Generate(t.Context(), d, []int{0}, generation.SamplerConfig{}, generation.Limits{})); len(got) != 2 || !errors.Is(err, errFeed) {
		t.Errorf("%d tokens, %v", len(got), err)
	}
	*d.passes = 0
	if _, err := generation.Beam(t.Context(), d, []int{0}, generation.BeamConfig{Width: 1, MaxTokens: 9}); !errors.Is(err, errFeed) {
		t.Error(err)
	}
	m := tiny(t, 13)
	for name, err := range map[string]error{
		"no prompt":      tftest.Second(generation.Collect(generation.Generate(t.Context(), d, nil, generation.SamplerConfig{}, generation.Limits{}))),
		"two sequences":  tftest.Second(generation.Collect(generation.Generate(t.Context(), generation.Start(new(tf.Workspace), m, 2), []int{1}, generation.SamplerConfig{}, generation.Limits{}))),
		"beam prompt":    tftest.Second(generation.Beam(t.Context(), d, nil, generation.BeamConfig{Width: 1, MaxTokens: 9})),
		"beam sequences": tftest.Second(generation.Beam(t.Context(), d, []int{0}, generation.BeamConfig{Width: 2, MaxTokens: 9})),
	} {
		if !errors.Is(err, fault.ErrShape) {
			t.Errorf("%s: error %v, want ErrShape", name, err)
		}
	}
	if _, err := generation.Beam(t.Context(), d, []int{0}, generation.BeamConfig{}); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("beam search of width 0: %v", err)
	}
	learned := tftest.Must(models.New([]byte(`{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 13, "n_embd": 16,
		"n_layer": 1, "n_head": 2, "n_positions": 64}`), tf.Random(3), models.Options{}))(t)
	long := generation.Generate(t.Context(), generation.Start(new(tf.Workspace), learned, 1), []int{1}, generation.SamplerConfig{}, generation.Limits{})
	if got, err := generation.Collect(long); len(got) != 64 || !errors.Is(err, fault.ErrTooLong) {
		t.Errorf("beyond the positions: %d tokens, %v", len(got), err)
	}
}
