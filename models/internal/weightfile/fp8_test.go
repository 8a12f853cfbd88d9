package weightfile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// TestFP8Refused changes quantization_config, one field at a time: a form of FP8 that is not
// supported is an error that names the field, or the tensor.
func TestFP8Refused(t *testing.T) {
	for _, c := range []struct {
		folder, field, value string
		want                 string
		kind                 error
	}{
		{"qwen3-fp8", "quant_method", `"gptq"`, "quantization_config", fault.ErrConfig},
		{"qwen3-fp8", "quant_method", `"bitsandbytes"`, "quantization_config", fault.ErrConfig},
		{"qwen3-fp8", "quant_method", `null`, "quantization_config", fault.ErrConfig},
		{"qwen3-fp8", "weight_block_size", `[16]`, "weight_block_size", fault.ErrConfig},
		{"qwen3-fp8", "weight_block_size", `[16,0]`, "weight_block_size", fault.ErrConfig},
		{"qwen3-fp8", "weight_block_size", `[16,8]`, "scales of shape", fault.ErrFormat},
		{"qwen3-fp8", "weight_block_size", `null`, "scales of shape", fault.ErrFormat},
		{"qwen3-fp8", "expert_dtype", `"fp4"`, "expert_dtype", fault.ErrConfig},
		{"qwen3-fp8", "bits", `4`, "quantization_config.bits", fault.ErrConfig},
		{"qwen3-fp8", "scale_fmt", `"float"`, "", nil},
		{"llama-fp8", "format", `"pack-quantized"`, "config_groups.group_0.weights.type", fault.ErrConfig},
		{"llama-fp8", "format", `"nvfp4-pack-quantized"`, "config_groups.group_0.weights.num_bits", fault.ErrConfig},
		{"llama-fp8", "format", `"sparse-24-bitmask"`, "format", fault.ErrConfig},
		{"llama-fp8", "format", `"sparse-bitmask"`, "format", fault.ErrConfig},
		{"llama-fp8", "format", `"mixed-precision"`, "format", fault.ErrConfig},
		{"llama-fp8", "sparsity_config", `{"format":"sparse-24-bitmask"}`, "sparsity_config", fault.ErrConfig},
		{"llama-fp8", "kv_cache_scheme", `{"num_bits":8}`, "kv_cache_scheme", fault.ErrConfig},
		{"llama-fp8", "config_groups", `{"group_0":{"weights":{"num_bits":4,"type":"float","strategy":"tensor"}}}`, "config_groups.group_0.weights.num_bits", fault.ErrConfig},
		{"llama-fp8", "config_groups", `{"group_0":{"weights":{"num_bits":8,"type":"int","strategy":"tensor"}}}`, "type", fault.ErrConfig},
		{"llama-fp8", "config_groups", `{"group_0":{"weights":{"num_bits":8,"type":"float","strategy":"token"}}}`, "strategy", fault.ErrConfig},
		{"llama-fp8", "config_groups", `{"group_0":{"weights":{"num_bits":8,"type":"float","strategy":"tensor","symmetric":false}}}`, "symmetric", fault.ErrConfig},
		{"llama-fp8", "config_groups", `{"group_0":{"weights":null}}`, "weights", fault.ErrConfig},
		{"llama-fp8", "config_groups", `null`, "config_groups", fault.ErrConfig},
		{"llama-fp8", "version", `"0.12"`, "", nil},
	} {
		var config map[string]json.RawMessage
		tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(modelstest.Own, c.folder, "config.json")))(t), &config))
		var scheme map[string]json.RawMessage
		tftest.NoError(t, json.Unmarshal(config["quantization_config"], &scheme))
		scheme[c.field] = json.RawMessage(c.value)
		config["quantization_config"] = tftest.Must(json.Marshal(scheme))(t)
		_, err := models.OpenFS(fp8Folder(t, c.folder, config), models.Options{})
		if c.kind == nil && err != nil || c.kind != nil && (!errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %s = %s: error %v, want %v with %q", c.folder, c.field, c.value, err, c.kind, c.want)
		}
	}
}

// TestFP8WithoutScheme: scales that nothing says how to read are left over, and FP8 without scales
// is an error where they belong to it.
func TestFP8WithoutScheme(t *testing.T) {
	var config map[string]json.RawMessage
	tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(modelstest.Own, "qwen3-fp8", "config.json")))(t), &config))
	scheme := config["quantization_config"]
	delete(config, "quantization_config")
	if _, err := models.OpenFS(fp8Folder(t, "qwen3-fp8", config), models.Options{}); !errors.Is(err, fault.ErrWeights) || !strings.Contains(err.Error(), "weight_scale_inv") {
		t.Errorf("without quantization_config: error %v, want scales that are left over", err)
	}
	config["quantization_config"] = scheme
	fsys := fp8Folder(t, "qwen3-fp8", config)
	file := fsys["model.safetensors"]
	file.Data = []byte(strings.Replace(string(file.Data), "o_proj.weight_scale_inv", "o_proj.weight_scale_xxx", 1))
	if _, err := models.OpenFS(fsys, models.Options{}); !errors.Is(err, fault.ErrFormat) || !strings.Contains(err.Error(), "without") {
		t.Errorf("without a scale: error %v, want ErrFormat", err)
	}
}

// fp8Folder returns a folder with another configuration.
func fp8Folder(t *testing.T, folder string, config map[string]json.RawMessage) fstest.MapFS {
	return fstest.MapFS{
		"config.json":       {Data: tftest.Must(json.Marshal(config))(t)},
		"model.safetensors": {Data: tftest.Must(os.ReadFile(filepath.Join(modelstest.Own, folder, "model.safetensors")))(t)},
	}
}
