package weightfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights in FP8 in safetensors files: X of F8_E4M3 or F8_E5M2 with its scales beside it, by which each number is multiplied in
// float32. DeepSeek and Qwen publish X_scale_inv, [rows/128, columns/128], one number for a block; files of Python's
// compressed-tensors have X_scale, one number for all of X or for each row. What quantization_config says of activations is not repeated: they stay
// float32.

// fp8Scheme is what quantization_config says of weights in FP8.
type fp8Scheme struct {
	scale  string // what the scales' name adds to the weight's
	block  [2]int // rows and columns of a block; 0: all
	perRow bool   // each row may have a scale
}

// quantization is the field of config.json that says how weights are quantized.
const quantization = "quantization_config"

// fp8Fields are the fields of quantization_config that are read, or say nothing about weights, by quant_method.
var fp8Fields = map[string][]string{
	"fp8": {"quant_method", "weight_block_size", "activation_scheme", "fmt", "scale_fmt", "modules_to_not_convert", "modules_to_convert", "ignored_layers", "dequantize", "expert_dtype"},
	"compressed-tensors": {"quant_method", "format", "config_groups", "kv_cache_scheme", "sparsity_config", "transform_config", "ignore",
		"quantization_status", "global_compression_ratio", "version"},
}

// fp8Of returns the scheme of a configuration; nil: weights are in no FP8.
func fp8Of(doc configuration.Document) (*fp8Scheme, error) {
	if doc.Empty(quantization) {
		return nil, nil
	}
	d, err := doc.Unaccounted().Sub(quantization) // what else it says is the architecture's to read
	if err != nil {
		return nil, err
	}
	of := struct {
		Method  string                     `json:"quant_method"`
		Block   []int                      `json:"weight_block_size"`
		Experts string                     `json:"expert_dtype"`
		Format  string                     `json:"format"`
		Groups  map[string]json.RawMessage `json:"config_groups"`
	}{}
	if err := d.Decode(&of); err != nil {
		return nil, err
	}
	known := fp8Fields[of.Method]
	if known == nil {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
		if !slices.Contains(known, name) {
			return nil, d.Errorf(name, "not supported of quant_method %s", of.Method)
		}
	}
	if of.Method == "fp8" {
		s := &fp8Scheme{scale: "_scale_inv"}
		switch {
		case of.Experts != "" && of.Experts != "fp8":
			return nil, d.Errorf("expert_dtype", "want fp8")
		case len(of.Block) == 2 && min(of.Block[0], of.Block[1]) > 0:
			s.block = [2]int(of.Block)
		case of.Block != nil:
			return nil, d.Errorf("weight_block_size", "want two numbers from 1 on")
		}
		return s, nil
	}
	if of.Format != "float-quantized" {
		return nil, d.Errorf("format", "want float-quantized")
	}
	for _, name := range []string{"kv_cache_scheme", "sparsity_config", "transform_config"} {
		if !d.Empty(name) {
			return nil, d.Errorf(name, "not supported")
		}
	}
	groups, err := d.Sub("config_groups")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(of.Groups)) {
		if err := fp8Group(groups, name); err != nil {
			return nil, err
		}
	}
	return &fp8Scheme{scale: "_scale", perRow: true}, nil
}

// fp8Group returns an error about a group of config_groups whose weights are not in FP8 with scales as above.
func fp8Group(d configuration.Document, name string) error {
	group, err := d.Sub(name)
	if err != nil {
		return err
	}
	if group, err = group.Sub("weights"); err != nil {
		return err
	}
	of := struct {
		Bits      int    `json:"num_bits"`
		Type      string `json:"type"`
		Strategy  string `json:"strategy"`
		Symmetric bool   `json:"symmetric"`
		Dynamic   bool   `json:"dynamic"`
	}{Bits: 8, Type: "int", Symmetric: true}
	if err := group.Decode(&of); err != nil {
		return err
	}
	switch {
	case of.Bits != 8:
		return group.Errorf("num_bits", "want 8")
	case of.Type != "float":
		return group.Errorf("type", "want float")
	case of.Strategy != "tensor" && of.Strategy != "channel":
		return group.Errorf("strategy", "want tensor or channel")
	case !of.Symmetric:
		return group.Errorf("symmetric", "want true")
	case of.Dynamic:
		return group.Errorf("dynamic", "want false")
	}
	return nil
}

// fp8Tensor is a matrix in FP8 with its scales.
type fp8Tensor struct {
	transformer.Reader // of the matrix without them
	columns            int
	block              [2]int
	across             int       // blocks side by side
	scales             []float32 // of all blocks
}

// JoinFP8 puts matrices in place of those in FP8 and their scales, if quantization_config says that there are. It returns the configuration
// of the model with these matrices.
func (w *files) JoinFP8(doc configuration.Document) (configuration.Document, error) {
	s, err := fp8Of(doc)
	if s == nil || err != nil {
		return doc, err
	}
	for _, name := range slices.Sorted(maps.Keys(w.of)) {
		if r := w.of[name]; isFP8(r, name) {
			t, err := s.join(w, r, name)
			if err != nil {
				return doc, &fault.Error{Kind: fault.ErrFormat, Field: name, Err: err}
			}
			w.of[name] = t
			delete(w.of, name+s.scale)
			stem := strings.TrimSuffix(name, "weight")
			for _, of := range []string{"input_scale", "activation_scale"} { // of what is not repeated
				delete(w.of, stem+of)
			}
		}
	}
	w.names = slices.Sorted(maps.Keys(w.of))
	return doc.Without(quantization), nil
}

// isFP8 reports whether a tensor has numbers of 8 bits.
func isFP8(r transformer.Reader, name string) bool {
	d, ok := r.(interface {
		DType(name string) safetensors.DType
	})
	return ok && (d.DType(name) == safetensors.F8E4M3 || d.DType(name) == safetensors.F8E5M2)
}

// join returns a matrix with its scales.
func (s *fp8Scheme) join(w *files, r transformer.Reader, name string) (*fp8Tensor, error) {
	shape, _ := r.Shape(name)
	if len(shape) != 2 {
		return nil, fmt.Errorf("FP8 of shape %v, want a matrix", shape)
	}
	of, ok := w.of[name+s.scale]
	if !ok {
		return nil, fmt.Errorf("FP8 without %s", name+s.scale)
	}
	if i, ok := of.(transformer.IntegerReader); ok && i.Integers(name+s.scale) {
		return nil, fmt.Errorf("%s has integers in the safetensors file, want floating point", name+s.scale)
	}
	t := &fp8Tensor{Reader: r, columns: shape[1], block: s.block}
	if t.block[0] == 0 {
		t.block = [2]int{shape[0], shape[1]}
	}
	grid, _ := of.Shape(name + s.scale)
	switch n := check.Product(grid); {
	case s.perRow && n == shape[0] && len(grid) == 2 && grid[1] == 1:
		t.block[0] = 1
	case s.block[0] == 0 && n == 1:
		grid = []int{1, 1}
	}
	want := []int{parts(shape[0], t.block[0]), parts(shape[1], t.block[1])}
	if !slices.Equal(grid, want) {
		return nil, fmt.Errorf("scales of shape %v for %v, want %v", grid, shape, want)
	}
	t.across = want[1]
	t.scales = make([]float32, want[0]*want[1])
	return t, of.Read(t.scales, name+s.scale, 0)
}

// parts is how many blocks of a size n elements are.
func parts(n, size int) int { return (n + size - 1) / max(size, 1) }

// Tensor implements transformer.Weights.
func (t *fp8Tensor) Tensor(name string, shape ...int) ([]float32, error) {
	x, err := t.Reader.Tensor(name, shape...)
	if err == nil {
		t.scale(x, 0)
	}
	return x, err
}

// Read implements transformer.Reader.
func (t *fp8Tensor) Read(dst []float32, name string, from int) error {
	err := t.Reader.Read(dst, name, from)
	if err == nil {
		t.scale(dst, from)
	}
	return err
}

// scale multiplies elements from one of them on.
func (t *fp8Tensor) scale(x []float32, from int) {
	for len(x) > 0 {
		row, column := from/t.columns, from%t.columns
		n := min(t.block[1]-column%t.block[1], t.columns-column, len(x))
		s := t.scales[row/t.block[0]*t.across+column/t.block[1]]
		for i := range x[:n] {
			x[i] *= s
		}
		x, from = x[n:], from+n
	}
}
