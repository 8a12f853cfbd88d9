package llamacpp_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// drawnKeys are the keys, without the architecture before them, that llama.cpp's loader reads for
// any of the architectures here. Every key is tried with every file, since a key that llama.cpp
// reads for one architecture has no effect on another. The values are those to try where the file
// lacks the key. A file's own number is also doubled and halved, its own flag reversed.
var drawnKeys = map[string][]any{
	"vocab_size": {uint32(101)}, "tensor_data_layout": {"reference"},
	"context_length": {uint32(96)}, "embedding_length": {uint32(32)}, "embedding_length_out": {uint32(16), uint32(32)}, "block_count": {uint32(2)},
	"embedding_length_per_layer_input": {uint32(0), uint32(8)}, "leading_dense_block_count": {uint32(0), uint32(1)}, "nextn_predict_layers": {uint32(0), uint32(1)},
	"feed_forward_length": {uint32(64)}, "expert_feed_forward_length": {uint32(16)}, "expert_shared_feed_forward_length": {uint32(0), uint32(16)},
	"use_parallel_residual": {true, false}, "hidden_activation": {"gelu", "silu"}, "pooling_type": {uint32(0)},
	"expert_count": {uint32(0), uint32(4)}, "expert_used_count": {uint32(0), uint32(1), uint32(3)}, "expert_shared_count": {uint32(0), uint32(1), uint32(2)},
	"expert_group_count": {uint32(0), uint32(1), uint32(2)}, "expert_group_used_count": {uint32(0), uint32(1), uint32(2)},
	"expert_weights_scale": {float32(0), float32(1), float32(0.7)}, "expert_weights_norm": {true, false}, "expert_gating_func": {uint32(0), uint32(1), uint32(2), uint32(3)},
	"moe_every_n_layers": {uint32(2)}, "moe_latent_size": {uint32(0), uint32(16)}, "interleave_moe_layer_step": {uint32(1), uint32(2)},
	"logit_scale": {float32(0), float32(1), float32(0.3)}, "residual_scale": {float32(0), float32(1), float32(0.3)}, "embedding_scale": {float32(0), float32(1), float32(3)},
	"attn_logit_softcapping": {float32(0), float32(1.5)}, "router_logit_softcapping": {float32(1.5)}, "final_logit_softcapping": {float32(0), float32(1.5)},
	"full_attention_interval": {uint32(2), uint32(3)}, "deepstack_mapping": {[]int32{-1, -1}}, "n_deepstack_layers": {uint32(0)},
	"swiglu_clamp_exp": {[]float32{1, 1}, float32(1)}, "swiglu_clamp_shexp": {[]float32{1, 1}, float32(1)},
	"attention.head_count": {uint32(4)}, "attention.head_count_kv": {uint32(1), uint32(2), uint32(4)}, "attention.max_alibi_bias": {float32(0), float32(8)}, "attention.clamp_kqv": {float32(0), float32(0.1)},
	"attention.key_length": {uint32(8)}, "attention.value_length": {uint32(8)}, "attention.key_length_swa": {uint32(8)}, "attention.value_length_swa": {uint32(8)},
	"attention.key_length_mla": {uint32(8)}, "attention.value_length_mla": {uint32(8)},
	"attention.layer_norm_epsilon": {float32(0.1)}, "attention.layer_norm_rms_epsilon": {float32(0.1)}, "attention.group_norm_epsilon": {float32(0.1)}, "attention.group_norm_groups": {uint32(2)},
	"attention.causal": {true, false}, "attention.q_lora_rank": {uint32(8)}, "attention.kv_lora_rank": {uint32(8)}, "attention.relative_buckets_count": {uint32(32)},
	"attention.sliding_window": {uint32(0), uint32(5), uint32(9)}, "attention.sliding_window_pattern": {uint32(0), uint32(1), uint32(2), uint32(3), []bool{true, false}},
	"attention.rope_pattern": {[]bool{true, false}}, "attention.scale": {float32(0), float32(0.2), float32(1)}, "attention.output_scale": {float32(0.5)}, "attention.value_scale": {float32(0.5)},
	"attention.temperature_length": {uint32(0), uint32(8)}, "attention.temperature_scale": {float32(0), float32(0.3)}, "attention.shared_kv_layers": {uint32(0), uint32(1)},
	"attention.recurrent_layers": {[]bool{true, false}},
	"rope.dimension_count":       {uint32(4), uint32(8)}, "rope.dimension_count_swa": {uint32(4), uint32(8)}, "rope.dimension_sections": {[]int32{1, 1, 0, 0}, []int32{2, 1, 1, 0}},
	"rope.freq_base": {float32(300), float32(5e5)}, "rope.freq_base_swa": {float32(300), float32(5e5)}, "rope.scale_linear": {float32(0), float32(3)},
	"rope.scaling.type": {"none", "linear", "yarn", "longrope"}, "rope.scaling.factor": {float32(0), float32(0.5), float32(1), float32(3)}, "rope.scaling.alpha": {float32(0), float32(2)},
	"rope.scaling.attn_factor": {float32(0), float32(1), float32(1.5)}, "rope.scaling.original_context_length": {uint32(0), uint32(12), uint32(32)}, "rope.scaling.finetuned": {true, false},
	"rope.scaling.yarn_log_multiplier": {float32(0), float32(0.1), float32(0.5)}, "rope.scaling.yarn_ext_factor": {float32(0), float32(0.5), float32(1)}, "rope.scaling.yarn_attn_factor": {float32(0.5), float32(1), float32(2)},
	"rope.scaling.yarn_beta_fast": {float32(8), float32(32)}, "rope.scaling.yarn_beta_slow": {float32(1), float32(3)},
	"ssm.conv_kernel": {uint32(4)}, "ssm.inner_size": {uint32(64)}, "ssm.state_size": {uint32(16)}, "ssm.time_step_rank": {uint32(4)}, "ssm.group_count": {uint32(2)}, "ssm.dt_b_c_rms": {true, false},
	"shortconv.l_cache": {uint32(3)}, "decoder_block_count": {uint32(1)}, "decoder_start_token_id": {uint32(0)},
	"dense_2_feat_in": {uint32(32)}, "dense_3_feat_out": {uint32(32)}, "classifier.output_labels": {[]string{"a", "b"}}, "classifier.pooling_type": {uint32(1)},
	"altup.active_idx": {uint32(1)}, "altup.num_inputs": {uint32(3)}, "activation_sparsity_scale": {[]float32{1, 1, 1, 1}},
}

// scalings are what keys of rotary positions are tried with.
var scalings = map[string]map[string]any{
	"":       nil,
	"yarn":   {"rope.scaling.type": "yarn", "rope.scaling.factor": float32(4), "rope.scaling.original_context_length": uint32(16)},
	"linear": {"rope.scaling.type": "linear", "rope.scaling.factor": float32(3)},
	"plain":  {"rope.scaling.type": nil, "rope.scaling.factor": nil, "rope.scaling.yarn_log_multiplier": nil, "rope.scaling.yarn_attn_factor": nil, "rope.scaling.attn_factor": nil},
}

// otherwise are the cases that mean something else here, and why.
var otherwise = map[string]string{
	"phi3 attention.sliding_window":             "llama.cpp warns that it computes no windows of Phi-3, which the models have",
	"phi3 rope.scaling.original_context_length": "llama.cpp chooses factors by the size of its context, here as for transformers the length of a text does",
	"phi3 context_length":                       "the same, where the file does not have the other key",
}

// tally counts what became of the cases of all files.
type tally struct {
	sync.Mutex
	files, keys, cases, equal, both, here, there, differ int
}

// TestLlamaCppKeys changes each key of each file, and compares log-probabilities with llama.cpp's.
// A case is also right where both refuse the file, and where only this package does if it names the
// key. AVOFORMER_LLAMA_SEED draws other values, and AVOFORMER_LLAMA_PAIRS is the number of cases of
// several keys for each file.
func TestLlamaCppKeys(t *testing.T) {
	programs := os.Getenv("AVOFORMER_LLAMA_CPP")
	if programs == "" {
		t.Skip("make compare WHAT=llama-cpp names llama.cpp's programs")
	}
	seed, _ := strconv.ParseUint(cmp.Or(os.Getenv("AVOFORMER_LLAMA_SEED"), "1"), 10, 64)
	pairs, _ := strconv.Atoi(os.Getenv("AVOFORMER_LLAMA_PAIRS"))
	var sum tally
	t.Cleanup(func() {
		t.Logf("%d files, %d keys, %d cases: %d equal, %d refused by both, %d refused here, %d refused there; %d differ", sum.files, sum.keys, sum.cases, sum.equal, sum.both, sum.here, sum.there, sum.differ)
	})
	paths := tftest.Must(filepath.Glob(modelstest.Testdata("gguf/*/f32.gguf")))(t)
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		if name == "gemma3n" { // whose sizes llama.cpp has built in
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := tftest.Must(gguf.Open(path))(t)
			defer file.Close()
			drawn(t, &sum, file, filepath.Join(programs, "llama-perplexity"), rand.New(rand.NewPCG(seed, 0)), pairs)
		})
	}
}

// ofKinds are beginnings of keys that belong to one kind of layers or models. They are tried with
// files that have such a key.
var ofKinds = []string{
	"ssm.", "shortconv.", "altup.", "attention.key_length_mla", "attention.value_length_mla", "attention.q_lora", "attention.kv_lora", "attention.group_norm", "attention.relative",
	"decoder_", "dense_", "classifier.", "expert_", "moe_", "interleave_", "leading_", "swiglu_", "activation_", "attention.shared_kv", "attention.recurrent", "full_attention",
}

// tried reports whether a key is tried with a file.
func tried(file *gguf.File, architecture, key string) bool {
	if otherwise[architecture+" "+key] != "" {
		return false
	}
	for _, kind := range ofKinds {
		if strings.HasPrefix(key, kind) {
			return key == "expert_count" || slices.ContainsFunc(file.Keys(), func(k string) bool { return strings.HasPrefix(k, architecture+"."+kind) })
		}
	}
	return true
}

// drawn tries the keys with one file, and pairs of keys in addition.
func drawn(t *testing.T, sum *tally, file *gguf.File, program string, random *rand.Rand, pairs int) {
	architecture := tftest.Must(file.Text("general.architecture"))(t)
	layers := int(tftest.Must(file.Int(architecture + ".block_count"))(t))
	most := 3e-3 // llama.cpp looks GELU up in a table of 16 bits
	try := func(what string, change map[string]any) float64 {
		own := map[string]any{}
		for key, value := range change {
			own[architecture+"."+key] = value
		}
		return drawnCase(t, sum, file, program, what, own, most)
	}
	keys := slices.Sorted(maps.Keys(drawnKeys))
	const mostValues = 4 // values of a key
	absentFirst := func(v any) int {
		if v == nil {
			return 0
		}
		return 1
	}
	values := func(key string) []any { return drawnValues(file, architecture+"."+key, drawnKeys[key], layers) }
	most = max(3*try("as it is", nil), 4e-4) // llama-perplexity rounds to 1.2e-4
	keys = slices.DeleteFunc(keys, func(key string) bool { return !tried(file, architecture, key) })
	others := slices.Sorted(maps.Keys(scalings))[1:] // without none
	for _, key := range keys {
		all := values(key)
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		slices.SortStableFunc(all, func(a, b any) int { return absentFirst(a) - absentFirst(b) })
		for i, value := range all[:min(len(all), mostValues)] {
			change := map[string]any{}
			if i > 0 && strings.HasPrefix(key, "rope.") {
				change = maps.Clone(scalings[others[random.IntN(len(others))]])
			}
			change[key] = value
			try(fmt.Sprint(change), change)
		}
	}
	for range pairs {
		change := maps.Clone(scalings[slices.Sorted(maps.Keys(scalings))[random.IntN(len(scalings))]])
		if change == nil {
			change = map[string]any{}
		}
		for range 2 + random.IntN(2) {
			key := keys[random.IntN(len(keys))]
			if v := values(key); len(v) > 0 {
				change[key] = v[random.IntN(len(v))]
			}
		}
		try(fmt.Sprint(change), change)
	}
	sum.Lock()
	defer sum.Unlock()
	sum.files, sum.keys = sum.files+1, sum.keys+len(keys)
}

// drawnValues returns other valid values of a key; nil leaves it out.
func drawnValues(file *gguf.File, key string, others []any, layers int) (values []any) {
	now, ok := file.Value(key)
	if ok {
		values = append(values, nil)
	}
	switch v := now.(type) {
	case float32:
		values = append(values, v/2, v*2)
	case uint32:
		values = append(values, v/2, v*2, v+1)
	case int32:
		values = append(values, v/2, v*2, v+1)
	case bool:
		return append(values, !v)
	case []bool, []int32:
		switch v := v.(type) {
		case []bool:
			flipped := slices.Clone(v)
			for i := range flipped {
				flipped[i] = !v[i]
			}
			values = append(values, flipped, v[:len(v)-1])
		case []int32:
			back := slices.Clone(v)
			slices.Reverse(back)
			values = append(values, back)
		}
	}
	for _, other := range others {
		switch v := other.(type) { // lists have a value for each layer
		case []bool:
			other = slices.Repeat(v, layers)[:layers]
		case []int32:
			if !strings.Contains(key, "sections") {
				other = slices.Repeat(v, layers)[:layers]
			}
		case []float32:
			other = slices.Repeat(v, layers)[:layers]
		}
		if !slices.ContainsFunc(values, func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(other) }) && fmt.Sprint(other) != fmt.Sprint(now) {
			values = append(values, other)
		}
	}
	return values
}

// drawnCase compares one file with llama.cpp. It returns how far apart the log-probabilities are.
func drawnCase(t *testing.T, sum *tally, file *gguf.File, program, what string, change map[string]any, most float64) (apart float64) {
	architecture := tftest.Must(file.Text("general.architecture"))(t)
	path, vocab := spelled(t, file, change)
	defer os.Remove(path)
	tokens, want, theirs := perplexity(t, program, path, vocab)
	m, ours := models.Open(path, models.Options{WeightFormats: []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}})
	worst := 0.0
	if ours == nil && theirs == nil {
		got := make([]float32, len(tokens)*m.LM.Vocab())
		if ours = m.Logits(new(models.Workspace), got, tokens, transformer.Ragged(peerLength, peerLength), nil, nil); ours == nil {
			kernels.LogSoftmax(got, got, len(tokens), m.LM.Vocab())
			worst, _, _ = distance(got, want, m.LM.Vocab())
		}
	}
	sum.Lock()
	defer sum.Unlock()
	sum.cases++
	switch {
	case ours != nil && theirs != nil:
		sum.both++
	case ours != nil:
		sum.here++
		named := errors.Is(ours, fault.ErrWeights)
		named = named || strings.Contains(ours.Error(), architecture+".")
		t.Logf("%s %s: refused here: %v", architecture, what, ours)
		if !named {
			t.Logf("%s %s: error %v, want one that names a key", architecture, what, ours)
		}
	case theirs != nil:
		sum.there++
		t.Logf("%s %s: refused there: %v", architecture, what, theirs)
	case worst <= most:
		sum.equal++
	default:
		sum.differ++
		t.Errorf("%s %s: log-probabilities differ by up to %.3g, want at most %.3g; warnings %q", architecture, what, worst, most, m.Warnings)
	}
	return worst
}
