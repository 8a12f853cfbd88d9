package generation_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// seq2seq are models whose decoders attend to an encoder, with biases of positions and without.
var seq2seq = map[string]string{
	"bart": `{"model_type": "bart", "architectures": ["BartForConditionalGeneration"], "vocab_size": 50, "d_model": 16, "encoder_layers": 1, "decoder_layers": 2,
		"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "max_position_embeddings": 512}`,
	"t5": `{"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "vocab_size": 50, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1,
		"num_decoder_layers": 2, "num_heads": 2, "relative_attention_num_buckets": 8, "feed_forward_proj": "relu"}`,
}

func memoryOf(r *rand.Rand, rows int) *models.Memory {
	m := &models.Memory{X: make([]float32, rows*16), Batch: tf.Uniform(1, rows)} // [rows, 16]
	for i := range m.X {
		m.X[i] = float32(r.NormFloat64())
	}
	return m
}

// TestSchedulerMemories: texts at a time whose decoder attends to what an encoder made for each get
// the tokens that each gets alone, where prompts begin alike and where memory runs out too.
func TestSchedulerMemories(t *testing.T) {
	for name, config := range seq2seq {
		m := tftest.Must(models.New([]byte(config), tftest.Strong{Weights: tf.Random(3)}, models.Options{}))(t)
		for _, c := range []generation.SchedulerConfig{{}, {Memory: 24 * longPage}, {StepTokens: 20, Streams: 3}} {
			t.Run(name, bubble(func(t *testing.T) {
				r := rand.New(rand.NewPCG(18, 19))
				c.Model = m.LM
				s := schedule(t, c)
				start := prompts(r, 1, 40, 40)[0]
				all := prompts(r, 12, 1, 90)
				distinct := map[int]bool{}
				const n = 70
				var texts []func()
				for i, p := range all {
					if i%2 == 0 { // of which the histories differ all the same
						p = start
					}
					memory := memoryOf(r, 1+r.IntN(100))
					config := generation.SamplerConfig{Vocab: 50, Sampling: generation.Sampling{Temperature: float64(i % 3), Seed: uint64(i + 1)}}
					d := generation.StartLM(new(tf.Workspace), m.LM, memory, 1)
					want := tftest.Must(generation.Collect(generation.Generate(t.Context(), d, p, config, generation.Limits{MaxTokens: n})))(t)
					if i%2 == 0 {
						distinct[want[0]] = true
					}
					texts = append(texts, func() {
						r := generation.Request{Prompt: p, Memory: memory, Limits: generation.Limits{MaxTokens: n}, Sampler: tftest.Must(generation.NewSampler(config))(t)}
						got, end, err := collect(t.Context(), s, r)
						if err != nil || end.Finish != generation.FinishLength || !slices.Equal(got, want) {
							t.Errorf("text %d, after %d tokens and %d rows: %v, %+v, %v, want %v", i, len(p), memory.Batch.Rows(), got, end, err, want)
						}
					})
				}
				gate := holdBy(t, s, memoryOf(r, 5))
				var wg sync.WaitGroup
				for _, text := range texts {
					wg.Go(text)
				}
				gate.Wait()
				wg.Wait()
				if st := s.Stats(); len(distinct) < 2 || st.SharedTokens != 0 || st.Steps > st.Tokens || c.Memory > 0 && st.Preempted == 0 {
					t.Errorf("%+v, %d texts differ", st, len(distinct))
				}
			}))
		}
	}
}

// TestSchedulerMemoryRefused: memories that cannot be are errors, as is a missing memory where the
// decoder attends to one.
func TestSchedulerMemoryRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 21))
	m := tftest.Must(models.New([]byte(seq2seq["bart"]), tftest.Strong{Weights: tf.Random(3)}, models.Options{}))(t)
	s, alone := schedule(t, generation.SchedulerConfig{Model: m.LM}), schedule(t, generation.SchedulerConfig{Model: long(t, "").LM})
	whole := memoryOf(r, 6)
	for name, c := range map[string]struct {
		s *generation.Scheduler
		m *models.Memory
	}{
		"none":                     {s, nil},
		"of two":                   {s, &models.Memory{X: whole.X, Batch: tf.Uniform(2, 3)}},
		"with a mask":              {s, &models.Memory{X: whole.X, Batch: whole.Batch, Mask: tf.Causal()}},
		"without rows":             {s, &models.Memory{Batch: tf.Uniform(1, 0)}},
		"of a part of a row":       {s, &models.Memory{X: whole.X[1:], Batch: whole.Batch}},
		"of rows of another width": {s, &models.Memory{X: whole.X[:6*8], Batch: whole.Batch}},
		"for who attends to none":  {alone, whole},
	} {
		_, end, err := collect(t.Context(), c.s, generation.Request{Prompt: []int{1}, Memory: c.m, Limits: generation.Limits{MaxTokens: 2}})
		if !errors.Is(err, fault.ErrShape) && !errors.Is(end.Err, fault.ErrShape) {
			t.Errorf("%s: %+v, %v", name, end, err)
		}
	}
	d := generation.StartLM(new(tf.Workspace), m.LM, whole, 1)
	if _, err := generation.CollectBatch(1, generation.GenerateBatch(t.Context(), d, []generation.Request{{Prompt: []int{1}, Memory: whole}})); !errors.Is(err, fault.ErrConfig) {
		t.Errorf("two memories: %v", err)
	}
}
