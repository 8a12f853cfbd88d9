package models_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// footprintConfig is a model of some megabytes, beside which nothing else that a test takes counts.
const footprintConfig = `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 2500, "hidden_size": 256, "num_hidden_layers": 4,
	"num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 768, "max_position_embeddings": 1000}`

// footprintTensors are its weights.
func footprintTensors(t *testing.T) tf.TensorMap {
	c := tftest.Collected{Tensors: tf.TensorMap{}}
	tftest.Must(models.New([]byte(footprintConfig), c, models.Options{}))(t)
	return c.Tensors
}

// bf16Folder returns a folder with the weights in bfloat16.
func bf16Folder(t *testing.T, tensors tf.TensorMap) string {
	header, data := map[string]any{}, []byte{}
	for name, x := range tensors {
		begin := len(data)
		for _, v := range x.Data {
			data = binary.LittleEndian.AppendUint16(data, half.ToBFloat16(v))
		}
		header[name] = map[string]any{"dtype": "BF16", "shape": x.Shape, "data_offsets": []int{begin, len(data)}}
	}
	text := tftest.Must(json.Marshal(header))(t)
	dir := t.TempDir()
	tftest.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(footprintConfig), 0o666))
	file := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), data...)
	tftest.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), file, 0o666))
	return dir
}

// llamaNames are what llama.cpp calls the tensors of a layer.
var llamaNames = strings.NewReplacer("model.layers.", "blk.", "self_attn.q_proj", "attn_q", "self_attn.k_proj", "attn_k", "self_attn.v_proj", "attn_v", "self_attn.o_proj", "attn_output",
	"mlp.gate_proj", "ffn_gate", "mlp.up_proj", "ffn_up", "mlp.down_proj", "ffn_down", "post_attention_layernorm", "ffn_norm", "input_layernorm", "attn_norm",
	"model.embed_tokens", "token_embd", "model.norm", "output_norm", "lm_head", "output")

// llamaFile returns a GGUF file of the weights in a format.
func llamaFile(t *testing.T, tensors tf.TensorMap, f kernels.Format) string {
	pairs := []gguf.Pair{{Key: "general.architecture", Value: "llama"}}
	for key, n := range map[string]uint32{"embedding_length": 256, "block_count": 4, "attention.head_count": 8, "attention.head_count_kv": 4, "feed_forward_length": 768, "context_length": 1000} {
		pairs = append(pairs, gguf.Pair{Key: "llama." + key, Value: n})
	}
	pairs = append(pairs, gguf.Pair{Key: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-6)})
	var list []gguf.Tensor
	for name, x := range tensors {
		list = append(list, gguf.Tensor{Name: llamaNames.Replace(name), Info: gguf.Info{Type: gguf.F32, Shape: x.Shape}, Data: func(w io.Writer) error {
			return binary.Write(w, binary.LittleEndian, x.Data)
		}})
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	file := tftest.Must(os.Create(path))(t)
	tftest.NoError(t, gguf.Write(file, pairs, list))
	tftest.NoError(t, file.Close())
	var b bytes.Buffer
	tftest.NoError(t, models.QuantizeGGUF(&b, path, models.Options{WeightFormat: f}))
	tftest.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
	return path
}

// heap returns the bytes that are alive.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestFootprint wants what is told of a model's memory by headers to be what it takes, and the
// limit to hold.
func TestFootprint(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("packs some megabytes in several formats; what matrices take is tested in package kernels")
	}
	tensors := footprintTensors(t)
	folder := bf16Folder(t, tensors)
	q8, q4 := llamaFile(t, tensors, kernels.FormatQ8_0), llamaFile(t, tensors, kernels.FormatQ4_K)
	tensors = nil
	for _, c := range []struct {
		name, path string
		options    models.Options
	}{
		{"f32", folder, models.Options{}},
		{"bf16", folder, models.Options{WeightFormat: kernels.FormatBF16}},
		{"int8", folder, models.Options{WeightFormat: kernels.FormatInt8}},
		{"int8 beside bf16", folder, models.Options{WeightFormat: kernels.FormatBF16, PromptFormat: kernels.FormatInt8}},
		{"int8 beside q8_0", q8, models.Options{PromptFormat: kernels.FormatInt8}},
		{"q8_0 file", q8, models.Options{}},
		{"q4_k file", q4, models.Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.options
			o.HeadersOnly = true
			before := heap()
			plan := tftest.Must(models.Open(c.path, o))(t)
			told := plan.Footprint
			if took := heap() - before; took > told.Weights/4 {
				t.Errorf("telling takes %d bytes of %d", took, told.Weights)
			}
			var ws models.Workspace
			if err := plan.Logits(&ws, make([]float32, plan.LM.Vocab()), []int{1}, tf.Uniform(1, 1), nil, nil); err == nil {
				t.Error("a model without weights computes")
			}
			ws = models.Workspace{}
			plan = nil
			before = heap()
			m := tftest.Must(models.Open(c.path, c.options))(t)
			took := heap() - before
			if m.Footprint != told {
				t.Errorf("%+v with headers only, else %+v", told, m.Footprint)
			}
			if off := math.Abs(float64(took)/float64(told.Weights) - 1); !(off <= 0.1) {
				t.Errorf("weights take %d bytes, told were %d", took, told.Weights)
			}
			if told.Loading < told.Weights || float64(told.Loading) > 1.5*float64(told.Weights) {
				t.Errorf("loading takes %d bytes of %d", told.Loading, told.Weights)
			}
			t.Logf("told %+v, weights take %d", told, took)
			runtime.KeepAlive(m)

			o = c.options
			o.MemoryLimit = told.Loading
			if _, err := models.Open(c.path, o); err != nil {
				t.Errorf("limit of what loading takes: error %v", err)
			}
			o.MemoryLimit--
			_, err := models.Open(c.path, o)
			var e *fault.Error
			if !errors.Is(err, fault.ErrMemory) || !errors.As(err, &e) || e.Field != "MemoryLimit" {
				t.Errorf("limit of a byte less: error %v, want ErrMemory", err)
			}
			if c.name == "f32" && !strings.Contains(err.Error(), "in int8") {
				t.Errorf("%v: does not say what takes less", err)
			}
		})
	}
}

// TestLimitOfFirstTensors: a limit holds for tensors that are read while a model is made.
func TestLimitOfFirstTensors(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("writes some megabytes")
	}
	folder := bf16Folder(t, footprintTensors(t))
	if _, err := models.Open(folder, models.Options{MemoryLimit: 3 << 10}); !errors.Is(err, fault.ErrMemory) {
		t.Errorf("a limit of 3 KiB: error %v, want ErrMemory", err)
	}
}

// TestFootprintOfCaches wants what a token takes of a cache to be what pages take, for every
// language model and format.
func TestFootprintOfCaches(t *testing.T) {
	if testenv.Emulated() {
		t.Skip("nothing of it depends on the machine")
	}
	dirs := tftest.Must(filepath.Glob(filepath.Join(own, "*", "config.json")))(t)
	compared := 0
	for _, config := range dirs {
		dir := filepath.Dir(config)
		for _, format := range []kernels.Format{kernels.FormatF32, kernels.FormatBF16, kernels.FormatInt8} {
			m := tftest.Must(models.Open(dir, models.Options{CacheFormat: format}))(t)
			if m.LM == nil {
				if m.Footprint.Token != 0 {
					t.Errorf("%s: %+v", dir, m.Footprint)
				}
				break
			}
			e := modelstest.OpenExpected(t, dir)
			ws := new(models.Workspace)
			var memory *models.Memory
			if _, each := e.Memory(ws, m); each != nil {
				memory = &each[0]
			}
			pages := m.LM.NewPages(0)
			x := make([]float32, m.LM.Dim())
			tftest.NoError(t, m.LM.Hidden(ws, x, []int{1}, tf.Uniform(1, 1), memory, pages.Cache(1)))
			want := tf.PageRows*m.Footprint.Token + m.Footprint.State
			if memory != nil {
				want += int64((memory.Batch.Rows()+tf.PageRows-1)/tf.PageRows*tf.PageRows) * m.Footprint.MemoryRow
			}
			if got := pages.Used(); got != want || want == 0 {
				t.Errorf("%s: %v: pages take %d, told were %d by %+v", dir, format, got, want, m.Footprint)
			}
			if full := m.Footprint.Context; m.Config.MaxLength > 0 && (full < m.Footprint.Token || full > m.Footprint.State+m.Footprint.Token*int64(m.Config.MaxLength+tf.PageRows)) {
				t.Errorf("%s: %+v of %d tokens", dir, m.Footprint, m.Config.MaxLength)
			}
			compared++
		}
	}
	if compared < 60 {
		t.Errorf("%d caches", compared)
	}
}
