package weightfile

import (
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

// Weights in FP8 in safetensors files: X of F8_E4M3 or F8_E5M2 with its scales beside it, by which
// each number is multiplied in float32. DeepSeek and Qwen publish X_scale_inv, [rows/128,
// columns/128], one number for a block; files of Python's compressed-tensors have X_scale, one
// number for all of X or for each row. What quantization_config says of activations is not
// repeated: they stay float32.

var fp8 = method{[]string{"quant_method", "weight_block_size", "activation_scheme", "fmt", "scale_fmt", "modules_to_not_convert", "modules_to_convert", "ignored_layers",
	"dequantize", "expert_dtype"}, fp8Of}

// fp8Scheme is what quantization_config says of weights in FP8.
type fp8Scheme struct {
	scale  string // what the scales' name adds to the weight's
	block  [2]int // rows and columns of a block; 0: all
	perRow bool   // each row may have a scale
}

// fp8Of returns the scheme of a configuration whose quant_method is fp8.
func fp8Of(d configuration.Document) (scheme, []string, error) {
	of := struct {
		Block   []int  `json:"weight_block_size"`
		Experts string `json:"expert_dtype"`
		Rows    string `json:"activation_scheme"`
	}{}
	if err := d.Decode(&of); err != nil {
		return nil, nil, err
	}
	s := &fp8Scheme{scale: "_scale_inv"}
	switch {
	case of.Experts != "" && of.Experts != "fp8":
		return nil, nil, d.Errorf("expert_dtype", "want fp8")
	case len(of.Block) == 2 && min(of.Block[0], of.Block[1]) > 0:
		s.block = [2]int(of.Block)
	case of.Block != nil:
		return nil, nil, d.Errorf("weight_block_size", "want two numbers from 1 on")
	}
	if of.Rows != "" {
		return s, []string{unroundedRows}, nil
	}
	return s, nil, nil
}

// fp8Group returns the scheme of a group of config_groups.
func fp8Group(group configuration.Document) (scheme, error) {
	of := struct {
		Bits      int    `json:"num_bits"`
		Type      string `json:"type"`
		Strategy  string `json:"strategy"`
		Symmetric bool   `json:"symmetric"`
		Dynamic   bool   `json:"dynamic"`
		Group     *int   `json:"group_size"`
		Block     []int  `json:"block_structure"`
	}{Bits: 8, Type: "int", Symmetric: true}
	if err := group.Decode(&of); err != nil {
		return nil, err
	}
	s := &fp8Scheme{scale: "_scale"}
	switch {
	case of.Bits != 8:
		return nil, group.Errorf("num_bits", "want 8")
	case of.Type != "float":
		return nil, group.Errorf("type", "want float")
	case !of.Symmetric:
		return nil, group.Errorf("symmetric", "want true")
	case of.Dynamic:
		return nil, group.Errorf("dynamic", "want false")
	case of.Strategy == "tensor" || of.Strategy == "channel":
		s.perRow = true
	case of.Strategy == "block":
		if len(of.Block) != 2 || min(of.Block[0], of.Block[1]) < 1 {
			return nil, group.Errorf("block_structure", "want two numbers from 1 on")
		}
		s.block = [2]int(of.Block)
	case of.Strategy == "group":
		if of.Group == nil || *of.Group < 1 {
			return nil, group.Errorf("group_size", "want a number from 1 on")
		}
		s.block = [2]int{1, *of.Group}
	default:
		return nil, group.Errorf("strategy", "want tensor, channel, group or block")
	}
	return s, nil
}

// fp8Numbers are those of a matrix in FP8 with its scales.
type fp8Numbers struct {
	onlyNumbers
	transformer.Reader // of the matrix without them
	name               string
	columns            int
	block              [2]int
	across             int       // blocks side by side
	scales             []float32 // of all blocks
}

// joinAll implements scheme. It counts no matrices: float32 is what people expect of FP8 without
// the arithmetic for it.
func (s *fp8Scheme) joinAll(w *files) (counts, error) {
	for _, name := range slices.Sorted(maps.Keys(w.of)) {
		if r := w.of[name]; isFP8(r, name) {
			t, err := s.numbers(w, r, name)
			if err != nil {
				return counts{}, &fault.Error{Kind: fault.ErrFormat, Field: name, Err: err}
			}
			shape, _ := r.Shape(name)
			stem := strings.TrimSuffix(name, "weight")
			// The scales of activations are not repeated.
			w.join(&joined{name: name, shape: shape, numbers: t}, name, name+s.scale, stem+"input_scale", stem+"activation_scale")
		}
	}
	return counts{}, nil
}

// isFP8 reports whether a tensor has numbers of 8 bits.
func isFP8(r transformer.Reader, name string) bool {
	d := dtypeOf(r, name)
	return d == safetensors.F8E4M3 || d == safetensors.F8E5M2
}

// numbers returns those of a matrix, with its scales.
func (s *fp8Scheme) numbers(w *files, r transformer.Reader, name string) (*fp8Numbers, error) {
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
	t := &fp8Numbers{Reader: r, name: name, columns: shape[1], block: s.block}
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

// read implements numbers.
func (t *fp8Numbers) read(dst []float32, from int) error {
	err := t.Read(dst, t.name, from)
	if err == nil {
		t.scale(dst, from)
	}
	return err
}

// scale multiplies elements from one of them on.
func (t *fp8Numbers) scale(x []float32, from int) {
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
