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

// TestPrompts: with a second copy of the weights, prompts of at least transformer.ManyRows tokens are computed with it, except for what
// the last layer does with only the last token. Shorter prompts and new tokens are computed with the first copy.
func TestPrompts(t *testing.T) {
	const sizes = ` "vocab_size": 60, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96`
	for name, config := range map[string]string{
		"llama":   `{"model_type": "llama", "architectures": ["LlamaForCausalLM"],` + sizes + `}`,
		"mixtral": `{"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 2, "num_experts_per_tok": 2,` + sizes + `}`,
	} {
		for _, first := range []kernels.Format{kernels.FormatBF16, kernels.FormatQ8_0, kernels.FormatQ4_0} {
			t.Run(fmt.Sprintf("%s/%v", name, first), func(t *testing.T) {
				t.Parallel()
				testPrompts(t, config, first)
			})
		}
	}
	m := tftest.Must(models.New([]byte(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"],`+sizes+`}`), transformer.Random(6),
		models.Options{WeightFormat: kernels.FormatQ8_0, PromptFormat: kernels.FormatBF16Fast, HeadersOnly: true}))(t)
	if !slices.ContainsFunc(m.Holdings, func(h transformer.Holding) bool { return h.Format == kernels.FormatBF16Fast }) {
		t.Error("weights in blocks have no copy in bf16_fast")
	}
	for _, o := range []models.Options{{PromptFormat: kernels.FormatBF16}, {PromptFormat: 99}, {PromptFormat: kernels.FormatInt8, Exact: true}} {
		if _, err := models.New([]byte(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"],`+sizes+`}`), transformer.Random(6), o); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%+v: %v, want ErrOption", o, err)
		}
	}
}

// testPrompts is TestPrompts of a model whose first copy has a format.
func testPrompts(t *testing.T, config string, first kernels.Format) {
	open := func(o models.Options) *models.Model {
		return tftest.Must(models.New([]byte(config), transformer.Random(6), o))(t)
	}
	plain, both := open(models.Options{WeightFormat: first}), open(models.Options{WeightFormat: first, PromptFormat: kernels.FormatInt8})
	int8 := open(models.Options{WeightFormat: kernels.FormatInt8})
	feed := func(m *models.Model, n int) (prompt, next []float32) {
		ids := make([]int, n)
		for i := range ids {
			ids[i] = i * 7 % 60
		}
		d := generation.Start(&models.Workspace{Threads: 2}, m, 1)
		prompt = slices.Clone(tftest.Must(d.Feed([][]int{ids}))(t))
		return prompt, slices.Clone(tftest.Must(d.Feed([][]int{{5}}))(t))
	}
	wantShort, wantNext := feed(plain, transformer.ManyRows-1)
	short, next := feed(both, transformer.ManyRows-1)
	if !slices.Equal(short, wantShort) || !slices.Equal(next, wantNext) {
		t.Error("a short prompt is not computed with the first copy")
	}
	exact, _ := feed(plain, 2*transformer.ManyRows)
	rounded, _ := feed(int8, 2*transformer.ManyRows)
	long, _ := feed(both, 2*transformer.ManyRows)
	fromExact, fromRounded, apart := distance(long, exact), distance(long, rounded), distance(rounded, exact)
	t.Logf("%.2g from the first copy, %.2g from int8, which are %.2g apart", fromExact, fromRounded, apart)
	if fromExact == 0 || fromExact > 2*apart || fromRounded > apart/4 {
		t.Errorf("a long prompt is %.2g from the first copy's and %.2g from int8's, which are %.2g apart", fromExact, fromRounded, apart)
	}
	copies := 0
	for _, h := range both.Holdings {
		if h.Format == kernels.FormatInt8 {
			copies++
		}
	}
	if held := len(plain.Holdings); copies == 0 || len(both.Holdings) != held+copies {
		t.Errorf("%d copies among %d holdings, want them beside %d", copies, len(both.Holdings), held)
	}
}
