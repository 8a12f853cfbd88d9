package weightfile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
)

// TestFormsRefused changes one field of quantization_config at a time, or one tensor: forms that
// are not supported, and parts that do not fit together, are errors that name them.
func TestFormsRefused(t *testing.T) {
	for _, c := range []struct{ folder, field, value, want string }{
		{"bnb-nf4", "bnb_4bit_quant_storage", `"bfloat16"`, "bnb_4bit_quant_storage"}, {"bnb-nf4", "load_in_2bit", `true`, "load_in_2bit"},
		{"torchao-int8", "quant_type", `{"default":{"_type":"Float8WeightOnlyConfig","_version":2,"_data":{}}}`, "_type"},
		{"torchao-int8", "quant_type", `{"default":{"_type":"Int8WeightOnlyConfig","_version":1,"_data":{}}}`, "_version"},
		{"torchao-int8", "quant_type", `{"default":{"_type":"Int8WeightOnlyConfig","_version":2,"_data":{"rotation":1}}}`, "rotation"},
		{"torchao-int8", "quant_type", `{"lm_head":{}}`, "lm_head"}, {"torchao-int8", "quant_type", `null`, "quant_type"},
		{"torchao-int4", "quant_type", `{"default":{"_type":"IntxWeightOnlyConfig","_version":2,"_data":{"weight_dtype":{"_data":"uint4"}}}}`, "weight_dtype._data"},
		{"torchao-int4", "quant_type", `{"default":{"_type":"IntxWeightOnlyConfig","_version":2,"_data":{"weight_dtype":{"_data":"int4"},"intx_packing_format":{"_data":"OPAQUE"}}}}`, "intx_packing_format"},
		{"torchao-int4", "quant_type", `{"default":{"_type":"IntxWeightOnlyConfig","_version":2,"_data":{"weight_dtype":{"_data":"int3"}}}}`, "want integers of 3 bits"},
		{"compressed-nvfp4", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"float","strategy":"group","group_size":16}}}`, "strategy"},
		{"compressed-nvfp4", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"float","strategy":"tensor_group","group_size":32}}}`, "group_size"},
		{"compressed-nvfp4", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"float","strategy":"tensor_group","group_size":16,"symmetric":false}}}`, "symmetric"},
		{"compressed-nvfp4", "config_groups", `{"a":{"format":"dense","weights":{"num_bits":4,"type":"float","strategy":"tensor_group"}}}`, "format"},
		{"compressed-nvfp4", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"float","strategy":"tensor_group","rotation":1}}}`, "rotation"},
		{"compressed-nvfp4", "format", `"mxfp4-pack-quantized"`, "group_0.format"},
		{"compressed-blocks", "config_groups", `{"a":{"weights":{"num_bits":8,"type":"float","strategy":"block","block_structure":[32]}}}`, "block_structure"},
		{"compressed-blocks", "config_groups", `{"a":{"weights":{"num_bits":8,"type":"float","strategy":"block","block_structure":[16,32]}}}`, "scales of shape"},
		{"fp8-channel", "config_groups", `{"a":{"weights":{"num_bits":8,"type":"float","strategy":"block","block_structure":[32,64]}}}`, "scales of shape"},
		{"autoround", "packing_format", `"auto_round:llm_compressor"`, "packing_format"}, {"autoround", "bits", `3`, "bits"}, {"autoround-zeros", "bits", `8`, "bits"},
		{"autoround", "data_type", `"mx_fp"`, "data_type"}, {"autoround", "static_kv_dtype", `"fp8"`, "static_kv_dtype"}, {"autoround", "rotation_configs", `[{"a":1}]`, "rotation_configs"},
		{"autoround", "extra_config", `{"model.layers.0.mlp.down_proj":{"bits":8}}`, "extra_config.model.layers.0.mlp.down_proj"}, {"autoround", "group_size", `64`, "scales"},
		{"autoround", "packing_format", `"auto_round:auto_awq"`, "scales"}, {"autoround", "mystery", `1`, "mystery"},
	} {
		_, err := models.OpenFS(intsFolder(t, "llama-"+c.folder, map[string]string{c.field: c.value}, nil), models.Options{})
		if err == nil || !strings.Contains(fmt.Sprint(err), c.want) ||
			!errors.Is(err, fault.ErrConfig) && !errors.Is(err, fault.ErrFormat) && !errors.Is(err, fault.ErrWeights) {
			t.Errorf("%s: %s = %s: error %v, want %q", c.folder, c.field, c.value, err, c.want)
		}
	}
	if _, err := models.OpenFS(intsFolder(t, "llama-autoround", map[string]string{"extra_config": `{"lm_head":{"bits":16}}`}, nil), models.Options{}); err != nil {
		t.Errorf("a layer that is left out: %v", err)
	}
	const at = "model.layers.0.mlp.down_proj.weight"
	state := func(old, changed string) func(x map[string]rawTensor) {
		return func(x map[string]rawTensor) {
			const name = at + ".quant_state.bitsandbytes__nf4"
			y := x[name]
			text := strings.Replace(string(y.Data), old, changed, 1)
			if text == string(y.Data) {
				panic(text)
			}
			x[name] = rawTensor{y.DType, []int{len(text)}, []byte(text)}
		}
	}
	shorter := func(name string) func(x map[string]rawTensor) {
		return func(x map[string]rawTensor) {
			y := x[name]
			n := len(y.Data) / y.Shape[0]
			y.Shape = slices.Clone(y.Shape)
			y.Shape[0]--
			x[name] = rawTensor{y.DType, y.Shape, y.Data[n:]}
		}
	}
	for name, c := range map[string]struct {
		folder string
		change func(x map[string]rawTensor)
		want   string
	}{
		"kind":                {"bnb-nf4", state(`"nf4"`, `"nf3"`), "quant_type"},
		"type":                {"bnb-nf4", state(`bfloat16`, `bfloat17`), "dtype"},
		"shape":               {"bnb-nf4", state(`[64, 96]`, `[64, 97]`), "want [U8] of shape [3104 1]"},
		"odd":                 {"bnb-nf4", state(`[64, 96]`, `[63, 97]`), "shape"},
		"huge":                {"bnb-nf4", state(`[64, 96]`, `[2147483647, 2147483646]`), at},
		"negative":            {"bnb-nf4", state(`[64, 96]`, `[-64, -96]`), "shape"},
		"block":               {"bnb-nf4", state(`"blocksize": 64`, `"blocksize": 0`), "blocksize"},
		"larger block":        {"bnb-nf4", state(`"blocksize": 64`, `"blocksize": 128`), "absmax"},
		"nested block":        {"bnb-nf4", state(`"nested_blocksize": 256`, `"nested_blocksize": -1`), "nested_blocksize"},
		"smaller nested":      {"bnb-nf4", state(`"nested_blocksize": 256`, `"nested_blocksize": 8`), "nested_absmax"},
		"no offset":           {"bnb-nf4", state(`nested_offset`, `nested_upset`), "nested_offset"},
		"not nested":          {"bnb-nf4", state(`nested_blocksize`, `nestled_blocksize`), "absmax"},
		"no object":           {"bnb-nf4", state(`{`, `[`), "quant_state"},
		"map":                 {"bnb-nf4", shorter(at + ".quant_map"), "quant_map"},
		"nested map":          {"bnb-nf4", shorter(at + ".nested_quant_map"), "nested_quant_map"},
		"bytes":               {"bnb-nf4", shorter(at), "want [U8]"},
		"a scale less":        {"bnb-int8", shorter("model.layers.0.mlp.down_proj.SCB"), "SCB"},
		"a row less":          {"torchao-int8", shorter("model.layers.0.mlp.down_proj._weight_scale"), "_weight_scale"},
		"no zeros":            {"torchao-int8", func(x map[string]rawTensor) { delete(x, "model.layers.0.mlp.down_proj._weight_zero_point") }, "there is no"},
		"an integer above 7":  {"torchao-int4", func(x map[string]rawTensor) { x["model.layers.0.mlp.down_proj._weight_qdata"].Data[0] = 8 }, "has 8, want integers of 4 bits"},
		"an integer below -8": {"torchao-int4", func(x map[string]rawTensor) { x["model.layers.0.mlp.down_proj._weight_qdata"].Data[0] = 0xf7 }, "has -9, want integers of 4 bits"},
		"no global":           {"compressed-nvfp4", func(x map[string]rawTensor) { delete(x, at+"_global_scale") }, "there is no"},
		"nvidia's":            {"compressed-nvfp4", shorter(at + "_scale"), "_scale"},
		"powers":              {"compressed-mxfp4", shorter(at + "_scale"), "_scale"},
		"codes":               {"compressed-mxfp4", shorter(at + "_packed"), "_packed"},
	} {
		_, err := models.OpenFS(intsFolder(t, "llama-"+c.folder, nil, c.change), models.Options{})
		if !errors.Is(err, fault.ErrFormat) && !errors.Is(err, fault.ErrConfig) && !errors.Is(err, fault.ErrWeights) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
