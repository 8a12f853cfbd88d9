package models_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// outliers is random weights in which every normalization but the last has six channels that are 20
// to 60 times as large as the others, as those of trained encoders have some. In the results they
// would hide the error of all others.
type outliers struct {
	transformer.Weights
	last string // prefix of the last layer's normalization
}

func (w outliers) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := w.Weights.Tensor(name, shape...)
	if err == nil && strings.HasSuffix(name, "LayerNorm.weight") && !strings.HasPrefix(name, w.last) {
		for i := range 6 {
			x[(i*len(x)/6+17*i)%len(x)] *= float32(20 + 8*i)
		}
	}
	return x, err
}

func encoderConfig(dim, layers int) []byte {
	return fmt.Appendf(nil, `{"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 1000, "hidden_size": %d,
		"num_hidden_layers": %d, "num_attention_heads": %d, "intermediate_size": %d, "max_position_embeddings": 128}`,
		dim, layers, dim/32, 4*dim)
}

// embeddings returns the mean of each sequence's rows.
func embeddings(t *testing.T, m *models.Model, in models.Tokens, threads kernels.Threads) (mean, rows []float32) {
	rows = make([]float32, in.Batch.Rows()*m.Encoder.Dim())
	tftest.NoError(t, m.Encoder.Encode(&models.Workspace{Threads: threads}, rows, in))
	return means(rows, m.Encoder.Dim(), in.Batch), rows
}

// means are those of each sequence's rows.
func means(rows []float32, dim int, batch transformer.Batch) []float32 {
	mean := make([]float32, batch.Len()*dim)
	for i := range batch.Len() {
		for r := batch.Start(i); r < batch.Start(i+1); r++ {
			kernels.AXPY(1/float32(batch.Length(i)), rows[r*dim:(r+1)*dim], mean[i*dim:(i+1)*dim])
		}
	}
	return mean
}

// worstCosine returns the least cosine between vectors of dim elements, NaN if one is.
func worstCosine(x, y []float32, dim int) float64 {
	worst := 1.0
	for ; len(x) > 0; x, y = x[dim:], y[dim:] {
		var xy, xx, yy float64
		for i := range dim {
			xy += float64(x[i]) * float64(y[i])
			xx += float64(x[i]) * float64(x[i])
			yy += float64(y[i]) * float64(y[i])
		}
		if c := xy / math.Sqrt(xx*yy); !(c >= worst) && worst == worst {
			worst = c
		}
	}
	return worst
}

var sentences = flag.Int("sentences", 20, "how many sentences TestPrecision embeds")

// TestPrecision compares the sentence embeddings of an encoder with outliers in each format with
// those of float32, and says what int8 with one scale a row would give.
func TestPrecision(t *testing.T) {
	layers, sequences, dims := 6, *sentences, []int{384, 768}
	switch {
	case testenv.Emulated(): // where a layer takes seconds
		layers, sequences, dims = 1, 1, []int{128}
	case testing.Short():
		layers, sequences, dims = 2, 3, dims[:1]
	}
	g := rand.New(rand.NewPCG(1, 2))
	var lengths, ids []int
	for range sequences {
		lengths = append(lengths, 4+g.IntN(29))
		for range lengths[len(lengths)-1] {
			ids = append(ids, g.IntN(1000))
		}
	}
	in := models.Tokens{IDs: ids, Batch: transformer.Ragged(lengths...)}
	for _, dim := range dims {
		weights := outliers{transformer.Random(7), fmt.Sprintf("bert.encoder.layer.%d.output.", layers-1)}
		exact := tftest.Must(models.New(encoderConfig(dim, layers), weights, models.Options{}))(t)
		want, wantRows := embeddings(t, exact, in, 2)
		for _, c := range []struct {
			format kernels.Format
			worst  float64
		}{{kernels.FormatBF16, 0.9999}, {kernels.FormatF16, 0.9999}, {kernels.FormatInt8, 0.998}, {kernels.FormatQ8_0, 0.998}, {kernels.FormatQ6_K, 0.99}} {
			t.Run(fmt.Sprintf("%v/%d", c.format, dim), func(t *testing.T) {
				t.Parallel()
				m := tftest.Must(models.New(encoderConfig(dim, layers), weights, models.Options{WeightFormat: c.format}))(t)
				got, rows := embeddings(t, m, in, 2)
				worst := worstCosine(got, want, dim)
				t.Logf("worst cosine of %d sentences %.6f, of a token %.6f", sequences, worst, worstCosine(rows, wantRows, dim))
				if !(worst >= c.worst) {
					t.Errorf("worst cosine %.6f, want at least %g", worst, c.worst)
				}
				if slices.Equal(got, want) {
					t.Error("the bits of float32: the format was not used")
				}
				if c.format == kernels.FormatInt8 {
					testRoundedRows(t, weights, dim, layers, in, want, wantRows, got)
				}
				if one, _ := embeddings(t, m, in, 1); !slices.Equal(one, got) {
					t.Error("other bits on one thread than on two")
				}
			})
		}
	}
}

// TestNamedFormats has formats decided by name.
func TestNamedFormats(t *testing.T) {
	config, weights := encoderConfig(64, 2), transformer.Random(3)
	in := models.Tokens{IDs: []int{1, 2, 3, 4, 5}, Batch: transformer.Ragged(2, 3)}
	result := func(o models.Options) []float32 {
		_, rows := embeddings(t, tftest.Must(models.New(config, weights, o))(t), in, 1)
		return rows
	}
	plain, all := result(models.Options{}), result(models.Options{WeightFormat: kernels.FormatInt8})
	if slices.Equal(plain, all) {
		t.Error("FormatInt8 changes nothing")
	}
	same := result(models.Options{WeightFormat: kernels.FormatInt8, WeightFormats: []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}})
	if !slices.Equal(same, plain) {
		t.Error("not the bits of float32, though a pattern asks for it everywhere")
	}
	some := result(models.Options{WeightFormats: []models.NamedFormat{
		{Pattern: "*.layer.1.*", Format: kernels.FormatF32}, {Pattern: "*", Format: kernels.FormatInt8},
	}})
	if slices.Equal(some, plain) || slices.Equal(some, all) {
		t.Error("one layer of two in float32 gives the bits of none or both")
	}
	// Values of the second layer alone, which in float32 are fused with queries and keys.
	one := result(models.Options{WeightFormats: []models.NamedFormat{{Pattern: "*.1.attention.self.value.*", Format: kernels.FormatBF16}}})
	if slices.Equal(one, plain) || modelstest.Distance(one, plain) > 0.01 {
		t.Errorf("values in 16 bits give %.3g of the results off", modelstest.Distance(one, plain))
	}
	for _, o := range []models.Options{
		{WeightFormat: 200},
		{WeightFormats: []models.NamedFormat{{Pattern: "["}}},
		{WeightFormats: []models.NamedFormat{{Pattern: "*", Format: 99}}},
	} {
		if _, err := models.New(config, weights, o); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%v: %v, want ErrOption", o, err)
		}
	}
}

// TestPrompts: with a second copy of the weights, prompts of at least transformer.ManyRows tokens
// are computed with it, except for what the last layer does with only the last token. Shorter
// prompts and new tokens are computed with the first copy.
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
	fromExact, fromRounded, apart := modelstest.Distance(long, exact), modelstest.Distance(long, rounded), modelstest.Distance(rounded, exact)
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
