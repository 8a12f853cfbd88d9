package lora_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// besideOf opens the base of adapters that stay beside its weights, named as their folders.
func besideOf(t *testing.T, base string, o models.Options, names ...string) *models.Model {
	t.Helper()
	for _, name := range names {
		o.Adapters = append(o.Adapters, models.Adapter{Path: filepath.Join(modelstest.Adapters, name), Name: name})
	}
	return tftest.Must(models.Open(base, o))(t)
}

// withAdapters returns the logits of sequences that have modelstest.Adapters, by their numbers, in
// one pass.
func withAdapters(t *testing.T, m *models.Model, threads kernels.Threads, tokens []int, lengths []int, numbers []int) []float32 {
	t.Helper()
	pages := m.LM.NewPages(0)
	var past []*models.History
	for _, n := range numbers {
		h := pages.New()
		tftest.NoError(t, h.Adapt(n))
		past = append(past, h)
	}
	y := make([]float32, len(tokens)*m.LM.Vocab())
	ws := &models.Workspace{Threads: threads}
	tftest.NoError(t, m.Logits(ws, y, tokens, transformer.Ragged(lengths...), nil, transformer.NewCacheOf(past...)))
	return y
}

// TestAdaptersBeside compares sequences that have an adapter beside the weights with what peft and
// transformers compute, and those without one in the same pass with the model without adapters, on
// every tier.
func TestAdaptersBeside(t *testing.T) {
	for _, name := range []string{"llama-linear", "llama-patterns", "gpt2-conv", "phi3-layers"} {
		dir := filepath.Join(modelstest.Adapters, name)
		t.Run(name, func(t *testing.T) {
			tftest.EachTier(t, func(t *testing.T) {
				m := besideOf(t, baseOf(t, dir), models.Options{}, name)
				if !slices.Equal(m.Adapters, []string{name}) {
					t.Errorf("adapters %q", m.Adapters)
				}
				e := modelstest.OpenExpected(t, dir)
				in := e.Tokens("input_ids", "attention_mask", "")
				rows, vocab := len(in.IDs), m.LM.Vocab()
				lengths, numbers := []int{}, []int{}
				for adapter := range 2 { // all sequences without it, and all with it
					for i := range in.Batch.Len() {
						lengths, numbers = append(lengths, in.Batch.Length(i)), append(numbers, adapter)
					}
				}
				y := withAdapters(t, m, 2, slices.Concat(in.IDs, in.IDs), lengths, numbers)
				e.Check("logits", in.Pad(y[rows*vocab:]))
				plain := e.Logits(new(models.Workspace), m, in, nil)
				if text := tftest.Mismatch(y[:rows*vocab], plain, func(int, float64) float64 { return 1e-4 }); text != "" {
					t.Errorf("without the adapter: %s", text)
				}
			})
		})
	}
}

// TestAdaptersTogether: with several modelstest.Adapters, each sequence gets the bits that it gets
// alone, in weights of every kind of format; an adapter changes them, and a scale of it does.
func TestAdaptersTogether(t *testing.T) {
	tokens, lengths := []int{5, 9, 77, 3, 1, 60, 14, 8, 2, 51, 33, 20}, []int{4, 1, 2, 3, 2}
	numbers := []int{2, 0, 1, 2, 3}
	for _, weights := range []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ8_0} {
		o := models.Options{WeightFormat: weights, Exact: true, Adapters: []models.Adapter{{Path: filepath.Join(modelstest.Adapters, "llama-linear"), Name: "half", Scale: 0.5}}}
		m := besideOf(t, filepath.Join(modelstest.Own, "llama"), o, "llama-linear", "llama-patterns")
		vocab, from := m.LM.Vocab(), 0
		together := withAdapters(t, m, 2, tokens, lengths, numbers)
		for i, n := range lengths {
			own := tokens[from : from+n]
			alone := withAdapters(t, m, 1, own, []int{n}, numbers[i:i+1])
			other := withAdapters(t, m, 1, own, []int{n}, []int{(numbers[i] + 1) % 4})
			for k, v := range together[from*vocab : (from+n)*vocab] {
				if math.Float32bits(v) != math.Float32bits(alone[k]) {
					t.Fatalf("%v: sequence %d: logit %d is %v alone, %v among others", weights, i, k, alone[k], v)
				}
			}
			if slices.Equal(alone, other) {
				t.Errorf("%v: sequence %d: adapters %d and %d give the same", weights, i, numbers[i], (numbers[i]+1)%4)
			}
			from += n
		}
	}
}

// TestAdaptersBesideRefused opens adapters that cannot stay beside the weights.
func TestAdaptersBesideRefused(t *testing.T) {
	at := func(adapter, name string) models.Adapter {
		return models.Adapter{Path: filepath.Join(modelstest.Adapters, adapter), Name: name}
	}
	for name, c := range map[string]struct {
		base string
		list []models.Adapter
	}{
		"twice":           {"llama", []models.Adapter{at("llama-linear", "a"), at("llama-patterns", "a")}},
		"tables":          {"llama", []models.Adapter{at("llama-vectors", "a")}},
		"encoder":         {"bert-classify", []models.Adapter{at("bert-classify-saved", "a")}},
		"encoder-decoder": {"t5", []models.Adapter{at("t5-attention", "a")}},
	} {
		base := filepath.Join(modelstest.Own, c.base)
		if c.base != "llama" {
			base = baseOf(t, c.list[0].Path)
		}
		if _, err := models.Open(base, models.Options{Adapters: c.list}); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: error %v, want ErrOption", name, err)
		}
	}
	m := besideOf(t, filepath.Join(modelstest.Own, "llama"), models.Options{}, "llama-linear")
	h := m.LM.NewPages(0).New()
	tftest.NoError(t, h.Adapt(2))
	y := make([]float32, m.LM.Vocab())
	if err := m.Logits(new(models.Workspace), y, []int{1}, transformer.Uniform(1, 1), nil, transformer.NewCacheOf(h)); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("an adapter that is not there: error %v, want ErrConfig", err)
	}
	tftest.NoError(t, h.Adapt(1))
	tftest.NoError(t, m.Logits(new(models.Workspace), y, []int{1}, transformer.Uniform(1, 1), nil, transformer.NewCacheOf(h)))
	if err := h.Adapt(0); !errors.Is(err, fault.ErrShape) {
		t.Errorf("another adapter for rows that have passed: error %v, want ErrShape", err)
	}
}
