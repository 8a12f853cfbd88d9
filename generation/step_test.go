package generation_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// sized returns a decoder whose sizes all formats of weights allow.
func sized(t testing.TB, o models.Options) *models.Model {
	t.Helper()
	config := `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 60, "hidden_size": 256, "num_hidden_layers": 2,
		"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 256, "max_position_embeddings": 2048}`
	return tftest.Must(models.New([]byte(config), tf.Random(6), o))(t)
}

// mixtures are decoders whose sizes all formats of weights allow: with a mixture of experts as of
// Qwen 3, and of gpt-oss with its windows and sinks; and with a convolution.
func mixtures(t testing.TB, o models.Options) []*models.Model {
	t.Helper()
	sizes := `"vocab_size": 60, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 256,
		"head_dim": 64, "num_experts_per_tok": 2, "max_position_embeddings": 2048`
	return []*models.Model{
		tftest.Must(models.New([]byte(`{"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 6, "moe_intermediate_size": 256, `+sizes+`}`), tf.Random(6), o))(t),
		tftest.Must(models.New([]byte(`{"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "num_local_experts": 4, "sliding_window": 9, `+sizes+`}`), tf.Random(6), o))(t),
		tftest.Must(models.New([]byte(`{"model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"], "layer_types": ["conv", "full_attention"], `+sizes+`}`), tf.Random(6), o))(t),
	}
}

// feedAll runs steps in which each sequence has its pieces one after the other, and returns the
// logits of all rows that each sequence has.
func feedAll(t testing.TB, m *models.Model, threads kernels.Threads, pieces [][][]int) [][]float32 {
	t.Helper()
	stepper := generation.Stepper{Model: m.LM, Workspace: &tf.Workspace{Threads: threads}}
	pages := m.LM.NewPages(0)
	out, past := make([][]float32, len(pieces)), make([]*tf.History, len(pieces))
	for i := range past {
		past[i] = pages.New()
	}
	for n := 0; ; n++ {
		var step generation.Step
		var lengths, of []int
		for i, p := range pieces {
			if n < len(p) {
				step.Past, lengths = append(step.Past, past[i]), append(lengths, len(p[n]))
				for _, token := range p[n] {
					step.Want, of = append(step.Want, len(step.Tokens)), append(of, i)
					step.Tokens = append(step.Tokens, token)
				}
			}
		}
		if len(lengths) == 0 {
			return out
		}
		step.Batch = tf.Ragged(lengths...)
		logits := tftest.Must(stepper.Run(step))(t)
		for row, i := range of {
			out[i] = append(out[i], logits[row*60:(row+1)*60]...)
		}
	}
}

// TestStepAlone: a sequence gets the same bits of logits alone and among 31 others, whatever those
// do, in every format of weights: in those of float32 and 16 bits with Exact.
func TestStepAlone(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("takes long in emulators")
	}
	r := rand.New(rand.NewPCG(1, 2))
	var pieces [][][]int
	for i := range 32 {
		p := prompts(r, 1+i%5, 1, 1+3*i)
		for range 6 {
			p = append(p, prompts(r, 1, 1, 1)...)
		}
		pieces = append(pieces, p)
	}
	tftest.EachTier(t, func(t *testing.T) {
		if testenv.Quick() {
			stepsAlone(t, pieces[:5], 4)
		} else if testenv.Slow() || kernels.Active() == kernels.Generic { // which takes fifty times as long
			stepsAlone(t, pieces[:9], 7)
		} else {
			stepsAlone(t, pieces, 31)
		}
	})
}

func stepsAlone(t *testing.T, pieces [][][]int, last int) {
	kinds := []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ8_0, kernels.FormatQ4_K}
	for f := kernels.FormatF32; f <= kernels.FormatQ3_K; f++ {
		if testenv.Slow() && !slices.Contains(kinds, f) {
			continue
		}
		for _, held := range []kernels.Format{kernels.FormatF32, kernels.FormatInt8} {
			if held != kernels.FormatF32 && f != kernels.FormatQ8_0 {
				continue
			}
			t.Run(fmt.Sprintf("%v/%v", f, held), func(t *testing.T) {
				m := sized(t, models.Options{WeightFormat: f, Exact: true, CacheFormat: held})
				sameAlone(t, m, pieces, 0, 1, last)
			})
		}
	}
}

// sameAlone wants of some sequences the bits among all that they get alone.
func sameAlone(t *testing.T, m *models.Model, pieces [][][]int, some ...int) {
	t.Helper()
	together := feedAll(t, m, 2, pieces)
	for _, i := range some {
		for k, v := range feedAll(t, m, 1, pieces[i:i+1])[0] {
			if math.Float32bits(v) != math.Float32bits(together[i][k]) {
				t.Fatalf("sequence %d, row %d: logit %v alone, %v among others", i, k/60, v, together[i][k])
			}
		}
	}
}

// TestMixturesAlone: so it is with a mixture of experts, where the others take the same experts or
// not, and with convolutions.
func TestMixturesAlone(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("takes long in emulators")
	}
	r := rand.New(rand.NewPCG(7, 8))
	formats := []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ4_K}
	if testing.Short() {
		formats = formats[2:]
	}
	if testenv.Quick() {
		formats = formats[1:]
	}
	var pieces [][][]int
	for i := range 9 {
		pieces = append(pieces, append(prompts(r, 1+i%3, 1, 1+3*i), prompts(r, 2, 1, 1)...))
	}
	tftest.EachTier(t, func(t *testing.T) {
		for _, f := range formats {
			for _, m := range mixtures(t, models.Options{WeightFormat: f, Exact: true}) {
				sameAlone(t, m, pieces, 0, 1, 8)
			}
		}
	})
}

// TestProposedRows: a few tokens that are fed together give the bits that they give one by one, so
// that proposals change no text.
func TestProposedRows(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("takes long in emulators")
	}
	r := rand.New(rand.NewPCG(3, 4))
	text := prompts(r, 1, 200, 200)[0]
	for _, f := range []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ4_K} {
		m := sized(t, models.Options{WeightFormat: f, Exact: true})
		single, several := [][]int{text[:150]}, [][]int{text[:150]}
		for i := range 50 {
			single = append(single, text[150+i:151+i])
		}
		for at, n := 150, 1; at < 200; n++ {
			several = append(several, text[at:min(at+n, 200)])
			at += n
		}
		if one, some := feedAll(t, m, 1, [][][]int{single}), feedAll(t, m, 1, [][][]int{several}); !slices.Equal(one[0], some[0]) {
			t.Errorf("%v: several tokens at a time give other logits", f)
		}
	}
}

// TestStepAllocations: a step of sequences that have been there allocates nothing.
func TestStepAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, f := range []kernels.Format{kernels.FormatF32, kernels.FormatQ8_0} {
		m := sized(t, models.Options{WeightFormat: f})
		stepper := generation.Stepper{Model: m.LM, Workspace: new(tf.Workspace)}
		pages := m.LM.NewPages(0)
		step := generation.Step{Tokens: []int{1, 2, 3, 4, 5}, Want: []int{0, 1, 4}, Past: []*tf.History{pages.New(), pages.New(), pages.New()}, Batch: tf.Ragged(1, 1, 3)}
		run := func() {
			tftest.Must(stepper.Run(step))(t)
			for i, n := range []int{1, 1, 3} {
				tftest.NoError(t, step.Past[i].Truncate(step.Past[i].Len()-n))
			}
		}
		run()
		if n := testing.AllocsPerRun(50, run); n != 0 {
			t.Errorf("%v: %g allocations a step", f, n)
		}
	}
}
