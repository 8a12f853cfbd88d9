package models_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

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
				off := distance(whole, exact)
				t.Logf("%.2g off", off)
				if !(off <= bound) || off == 0 {
					t.Errorf("%.3g of the logits off, want at most %g, and more than 0", off, bound)
				}
				same := func(what string, got []float32) {
					t.Helper()
					if off := distance(got, whole); !(off <= 1e-3) { // a sum in another order may round to another number
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
