package tftest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/transformer/safetensors"
)

// WriteAdapter writes a folder in the form of peft: an adapter of rank 2 for modules of a model.
// modules maps their names to the widths of their outputs and inputs. All elements of the adapter's
// factors are x.
func WriteAdapter(t testing.TB, x float32, modules map[string][2]int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	tensors := map[string]safetensors.Tensor{}
	var ends []string
	for name, size := range modules {
		for matrix, shape := range map[string][]int{"A": {2, size[1]}, "B": {size[0], 2}} {
			data := make([]float32, shape[0]*shape[1])
			for i := range data {
				data[i] = x * float32(i%5)
			}
			tensors["base_model.model."+name+".lora_"+matrix+".weight"] = safetensors.Tensor{Shape: shape, Data: data}
		}
		ends = append(ends, name[strings.LastIndexByte(name, '.')+1:])
	}
	slices.Sort(ends)
	var file bytes.Buffer
	NoError(t, safetensors.Write(&file, tensors, nil))
	config := Must(json.Marshal(map[string]any{"peft_type": "LORA", "r": 2, "lora_alpha": 2, "target_modules": slices.Compact(ends)}))(t)
	NoError(t, os.WriteFile(filepath.Join(dir, "adapter_model.safetensors"), file.Bytes(), 0o666))
	NoError(t, os.WriteFile(filepath.Join(dir, "adapter_config.json"), config, 0o666))
	return dir
}
