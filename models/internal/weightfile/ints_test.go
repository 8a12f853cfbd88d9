package weightfile_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// intsFolder returns a folder with changed fields of quantization_config, and changed tensors; a
// nil one is removed.
func intsFolder(t testing.TB, folder string, fields map[string]string, change func(tensors map[string]rawTensor)) fstest.MapFS {
	t.Helper()
	dir := filepath.Join(modelstest.Own, folder)
	var config, scheme map[string]json.RawMessage
	tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(dir, "config.json")))(t), &config))
	tftest.NoError(t, json.Unmarshal(config["quantization_config"], &scheme))
	for name, value := range fields {
		scheme[name] = json.RawMessage(value)
	}
	config["quantization_config"] = tftest.Must(json.Marshal(scheme))(t)
	data := tftest.Must(os.ReadFile(filepath.Join(dir, "model.safetensors")))(t)
	if change != nil {
		tensors := rawTensors(t, data)
		change(tensors)
		data = rawFile(t, tensors)
	}
	return fstest.MapFS{"config.json": {Data: tftest.Must(json.Marshal(config))(t)}, "model.safetensors": {Data: data}}
}

// rawTensor is a tensor as a safetensors file has it.
type rawTensor struct {
	DType string
	Shape []int
	Data  []byte
}

func rawTensors(t testing.TB, file []byte) map[string]rawTensor {
	t.Helper()
	n := binary.LittleEndian.Uint64(file)
	var header map[string]struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	whole := map[string]json.RawMessage{}
	tftest.NoError(t, json.Unmarshal(file[8:8+n], &whole))
	delete(whole, "__metadata__")
	tftest.NoError(t, json.Unmarshal(tftest.Must(json.Marshal(whole))(t), &header))
	tensors := map[string]rawTensor{}
	for name, h := range header {
		tensors[name] = rawTensor{h.DType, h.Shape, slices.Clone(file[8+int(n)+h.Offsets[0] : 8+int(n)+h.Offsets[1]])}
	}
	return tensors
}

func rawFile(t testing.TB, tensors map[string]rawTensor) []byte {
	t.Helper()
	header, data := map[string]any{}, []byte{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		x := tensors[name]
		header[name] = map[string]any{"dtype": x.DType, "shape": x.Shape, "data_offsets": [2]int{len(data), len(data) + len(x.Data)}}
		data = append(data, x.Data...)
	}
	head := tftest.Must(json.Marshal(header))(t)
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head, data)
}

// TestIntsHeld: matrices whose numbers a format of blocks holds are held in it, and a warning
// counts the others.
func TestIntsHeld(t *testing.T) {
	for folder, c := range map[string]struct {
		format kernels.Format
		warned string
	}{
		"llama-ints-awq": {kernels.FormatF32, "14 of 14 quantized matrices"}, "llama-ints-gptq": {kernels.FormatQ4_0, ""}, "llama-ints-gptq-order": {kernels.FormatF32, "14 of 14"},
		"llama-ints-packed": {kernels.FormatQ4_0, ""}, "llama-ints-packed-zeros": {kernels.FormatF32, "14 of 14"}, "llama-ints-bytes": {kernels.FormatQ8_0, "activations"},
		"llama-ints-gptq-two": {kernels.FormatQ4_0, ""}, "llama-ints-awq-blocks": {kernels.FormatQ5_0, ""}, "llama-ints-gptq-minima": {kernels.FormatQ4_1, ""},
	} {
		m := tftest.Must(models.Open(filepath.Join(modelstest.Own, folder), models.Options{}))(t)
		for _, h := range m.Holdings {
			if strings.Contains(h.Name, "_proj") && h.Format != c.format {
				t.Errorf("%s: %s is held in %v, want %v", folder, h.Name, h.Format, c.format)
			}
		}
		if len(m.Warnings) > 0 != (c.warned != "") || len(m.Warnings) > 0 && !strings.Contains(m.Warnings[0], c.warned) {
			t.Errorf("%s: warnings %q, want %q", folder, m.Warnings, c.warned)
		}
	}
}

// TestIntsRefused: fields of another kind of integers, and tensors of other shapes and types, are
// errors that name them.
func TestIntsRefused(t *testing.T) {
	for _, c := range []struct {
		folder, field, value, want string
	}{
		{"awq", "version", `"gemv"`, "version"}, {"awq", "bits", `3`, "bits"}, {"awq", "group_size", `8`, "scales"}, {"awq", "group_size", `0`, "group_size"}, {"awq", "w_bit", `4`, "w_bit"},
		{"gptq", "bits", `3`, "bits"}, {"gptq", "checkpoint_format", `"marlin"`, "checkpoint_format"}, {"gptq", "dynamic", `{"-:lm_head":{}}`, "dynamic"},
		{"gptq", "is_marlin_format", `true`, "is_marlin_format"}, {"gptq", "pack_dtype", `"int16"`, "pack_dtype"}, {"gptq", "bits", `8`, "scales"}, {"gptq", "bits", `null`, "bits"},
		{"gptq", "group_size", `-1`, "scales"}, {"gptq", "rotation", `"hadamard"`, "rotation"},
		{"packed", "format", `"marlin-24"`, "format"}, {"packed", "transform_config", `{"a":1}`, "transform_config"}, {"packed", "config_groups", `{}`, "config_groups"},
		{"packed", "config_groups", `{"a":{"weights":{"num_bits":3,"type":"int","strategy":"channel"}}}`, "num_bits"},
		{"packed", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"int","strategy":"tensor"}}}`, "strategy"},
		{"packed", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"int","strategy":"group","group_size":null}}}`, "group_size"},
		{"packed", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"int","strategy":"group","group_size":32,"symmetric":false}}}`, "weight_zero_point"},
		{"packed", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"int","strategy":"group","group_size":32,"dynamic":true}}}`, "dynamic"},
		{"packed", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"int","strategy":"group","group_size":32}},"b":{"weights":{"num_bits":8,"type":"int","strategy":"channel"}}}`, "config_groups.b"},
		{"packed", "config_groups", `{"a":{"output_activations":{"num_bits":8},"weights":{"num_bits":4,"type":"int","strategy":"channel"}}}`, "output_activations"},
		{"bytes", "config_groups", `{"a":{"weights":{"num_bits":4,"type":"int","strategy":"channel"}}}`, "num_bits"},
	} {
		_, err := models.OpenFS(intsFolder(t, "llama-ints-"+c.folder, map[string]string{c.field: c.value}, nil), models.Options{})
		if !errors.Is(err, fault.ErrConfig) && !errors.Is(err, fault.ErrFormat) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %s = %s: error %v, want %q", c.folder, c.field, c.value, err, c.want)
		}
	}
	const at = "model.layers.0.mlp.down_proj."
	for name, c := range map[string]struct {
		folder string
		change func(tensors map[string]rawTensor)
		want   string
	}{
		"no scales": {"awq", func(x map[string]rawTensor) { delete(x, at+"scales") }, "there is no"},
		"no zeros":  {"gptq", func(x map[string]rawTensor) { delete(x, at+"qzeros") }, "there is no"},
		"type":      {"packed", func(x map[string]rawTensor) { y := x[at+"weight_packed"]; y.DType = "F32"; x[at+"weight_packed"] = y }, "want a matrix of I32"},
		"scales": {"packed", func(x map[string]rawTensor) {
			y := x[at+"weight_scale"]
			y.Shape = []int{y.Shape[1], y.Shape[0]}
			x[at+"weight_scale"] = y
		}, "weight_scale"},
		"a group":                    {"gptq-order", func(x map[string]rawTensor) { binary.LittleEndian.PutUint32(x[at+"g_idx"].Data, 99) }, "of group 99"},
		"below 0":                    {"gptq-order", func(x map[string]rawTensor) { binary.LittleEndian.PutUint32(x[at+"g_idx"].Data, 1<<31) }, "of group -"},
		"a zero beyond the integers": {"gptq", func(x map[string]rawTensor) { x[at+"qzeros"].Data[0] |= 15 }, "is 16, want at most 15"},
	} {
		_, err := models.OpenFS(intsFolder(t, "llama-ints-"+c.folder, nil, c.change), models.Options{})
		if !errors.Is(err, fault.ErrFormat) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	if _, err := models.OpenFS(intsFolder(t, "llama-ints-packed", nil, func(x map[string]rawTensor) {
		y := x[at+"weight_packed"] // an integer less in each row
		y.Shape, y.Data = []int{y.Shape[0], y.Shape[1] - 1}, y.Data[:4*y.Shape[0]*(y.Shape[1]-1)]
		x[at+"weight_packed"] = y
	}), models.Options{}); !errors.Is(err, fault.ErrFormat) || !strings.Contains(fmt.Sprint(err), "weight_shape") {
		t.Errorf("narrower: error %v, want weight_shape", err)
	}
}
