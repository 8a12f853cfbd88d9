package models_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// llama is a language model with made-up weights.
func llama(t *testing.T, vocab int) *models.Model {
	t.Helper()
	config := fmt.Sprintf(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": %d, "hidden_size": 16,
		"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}`, vocab)
	return tftest.Must(models.New([]byte(config), tf.Random(3), models.Options{}))(t)
}

// TestLogitsLength: logits of a wrong length leave the cache as it was.
func TestLogitsLength(t *testing.T) {
	m := llama(t, 7)
	cache := tf.NewCache(1)
	err := m.Logits(new(tf.Workspace), make([]float32, 6), []int{1}, tf.Uniform(1, 1), nil, cache)
	if !errors.Is(err, fault.ErrShape) || cache.Len(0) != 0 {
		t.Errorf("%v, and %d tokens in the cache", err, cache.Len(0))
	}
}

// TestLogitsErrors passes what does not fit.
func TestLogitsErrors(t *testing.T) {
	model, ws := llama(t, 9), new(tf.Workspace)
	for name, c := range map[string]struct{ err, want error }{
		"token":            {model.Logits(ws, make([]float32, 9), []int{9}, tf.Uniform(1, 1), nil, nil), fault.ErrToken},
		"negative token":   {model.Logits(ws, make([]float32, 9), []int{-1}, tf.Uniform(1, 1), nil, nil), fault.ErrToken},
		"tokens and batch": {model.Logits(ws, make([]float32, 9), []int{1}, tf.Uniform(1, 2), nil, nil), fault.ErrShape},
		"cache of another": {model.Logits(ws, make([]float32, 9), []int{1}, tf.Uniform(1, 1), nil, tf.NewCache(2)), fault.ErrShape},
		"nil workspace":    {model.Logits(nil, make([]float32, 9), []int{1}, tf.Uniform(1, 1), nil, nil), fault.ErrConfig},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error %v, want %v", name, c.err, c.want)
		}
	}
}
