package generation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// predicting is weights with a layer that predicts further tokens.
type predicting struct {
	tf.Weights
	// knows makes the model look only at the last token, and the layer compute what the model then
	// computes. Its predictions are right.
	knows bool
}

func (p predicting) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := p.Weights.Tensor(name, shape...)
	switch {
	case !p.knows:
	case strings.Contains(name, "o_proj") || strings.Contains(name, "out_proj") || strings.Contains(name, "down_proj"):
		clear(x)
	case strings.HasSuffix(name, "norm.weight") || strings.Contains(name, "pre_fc_norm"):
		clear(x) // for 1+w
	case name == "mtp.fc.weight": // [D, 2D]: the embedding passes, the hidden state does not
		clear(x)
		for i := range shape[0] {
			x[i*shape[1]+i] = 1
		}
	}
	return x, err
}

// recorded keeps what is asked for.
type recorded struct {
	tf.Weights
	mu      sync.Mutex
	tensors tf.TensorMap
}

func (r *recorded) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := r.Weights.Tensor(name, shape...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tensors[name] = safetensors.Tensor{Shape: slices.Clone(shape), Data: slices.Clone(x)}
	return x, err
}

// predictingModel returns a Qwen3.5 of one layer of each kind.
func predictingModel(t testing.TB, knows bool, o models.Options) *models.Model {
	t.Helper()
	config := []byte(`{"model_type": "qwen3_5_text", "architectures": ["Qwen3_5ForCausalLM"], "vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2,
		"layer_types": ["linear_attention", "full_attention"], "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 24, "max_position_embeddings": 4096,
		"linear_num_key_heads": 1, "linear_num_value_heads": 2, "linear_key_head_dim": 4, "linear_value_head_dim": 4, "tie_word_embeddings": false}`)
	source := predicting{tftest.Strong{Weights: tf.Random(3)}, knows}
	asked := &recorded{Weights: source, tensors: tf.TensorMap{}}
	tftest.Must(models.New(config, asked, models.Options{}))(t)
	weights := asked.tensors
	for name, shape := range map[string][]int{
		"fc": {16, 32}, "pre_fc_norm_embedding": {16}, "pre_fc_norm_hidden": {16}, "norm": {16}, "layers.0.input_layernorm": {16}, "layers.0.post_attention_layernorm": {16},
		"layers.0.self_attn.q_proj": {32, 16}, "layers.0.self_attn.k_proj": {8, 16}, "layers.0.self_attn.v_proj": {8, 16}, "layers.0.self_attn.o_proj": {16, 16},
		"layers.0.self_attn.q_norm": {8}, "layers.0.self_attn.k_norm": {8}, "layers.0.mlp.gate_proj": {24, 16}, "layers.0.mlp.up_proj": {24, 16}, "layers.0.mlp.down_proj": {16, 24},
	} {
		name = "mtp." + name + ".weight"
		weights[name] = safetensors.Tensor{Shape: shape, Data: tftest.Must(source.Tensor(name, shape...))(t)}
	}
	return tftest.Must(models.New(config, weights, o))(t)
}

// TestMTP: whether the model's own layer predicts well or not, each text gets the tokens that it
// gets alone, in any kind of steps, and after prefixes.
func TestMTP(t *testing.T) {
	for name, c := range map[string]struct {
		knows       bool
		least, most float64 // of the proposals that are accepted
	}{"right": {true, 0.9, 1}, "wrong": {false, 0, 0.9}} {
		m := predictingModel(t, c.knows, models.Options{MTP: true})
		for i, sc := range []generation.SchedulerConfig{{}, {StepTokens: 11}, {NoPrefixes: true, Draft: 1}, {Draft: 40}, {Memory: 1 << 17}} {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				sc.Model = m.LM
				s := schedule(t, sc)
				s.Guess()
				r := rand.New(rand.NewPCG(23, uint64(i)))
				for range 3 { // the later ones with prefixes
					together(t, s, m, append(prompts(r, 3, 1, 100), prompts(rand.New(rand.NewPCG(24, 25)), 1, 70, 70)...), 60, true)
				}
				st := s.Stats()
				share := float64(st.AcceptedTokens) / float64(st.DraftTokens)
				if st.DraftSteps == 0 || share < c.least || share > c.most {
					t.Errorf("%+v: %.2f of the proposals accepted, want %.2f to %.2f", st, share, c.least, c.most)
				}
			})
		}
	}
}

// TestMTPWithoutMemory: where the layer's memory ends between the proposals of a step, the sampler
// takes all of them back.
func TestMTPWithoutMemory(t *testing.T) {
	m := predictingModel(t, true, models.Options{MTP: true})
	for memory := int64(25); memory <= 40; memory += 5 {
		s := schedule(t, generation.SchedulerConfig{Model: m.LM, Memory: memory << 10, NoPrefixes: true})
		s.Guess()
		together(t, s, m, [][]int{{4, 5, 6}, {7, 8}}, 200, true)
		if st := s.Stats(); st.DraftSteps == 0 {
			t.Errorf("%d KiB: %+v", memory, st)
		}
	}
}

// TestMTPShared: schedulers may share a model from their start.
func TestMTPShared(t *testing.T) {
	m := predictingModel(t, true, models.Options{MTP: true})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s := tftest.Must(generation.NewScheduler(generation.SchedulerConfig{Model: m.LM}))(t)
			tftest.NoError(t, s.Close(t.Context()))
		})
	}
	all.Wait()
}

// TestMTPSaves: a text whose layer is right takes a step for several tokens. Where proposals are
// switched off, each token takes a step.
func TestMTPSaves(t *testing.T) {
	for name, c := range map[string]struct {
		o           models.Options
		draft       int
		most, least uint64 // steps
	}{"with": {models.Options{MTP: true}, 0, 70, 0}, "switched off": {models.Options{MTP: true}, -1, 1 << 30, 201}} {
		m := predictingModel(t, true, c.o)
		s := schedule(t, generation.SchedulerConfig{Model: m.LM, Draft: c.draft})
		s.Guess()
		together(t, s, m, [][]int{{4, 5, 6}}, 200, false)
		if st := s.Stats(); st.Steps > c.most || st.Steps < min(c.least, 199) {
			t.Errorf("%s: %+v", name, st)
		}
	}
}
