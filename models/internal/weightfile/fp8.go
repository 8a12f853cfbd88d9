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

// fp8Of returns the scheme of a configuration whose quant_method is fp8.
func fp8Of(d configuration.Document) (*fp8Scheme, error) {
	of := struct {
		Block   []int  `json:"weight_block_size"`
		Experts string `json:"expert_dtype"`
	}{}
	if err := d.Decode(&of); err != nil {
		return nil, err
	}
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

// fp8Group returns an error about weights of a group of config_groups that are not in FP8 with scales as above.
func fp8Group(group configuration.Document) error {
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

// joinFP8 puts matrices in place of those in FP8 and their scales.
func (w *files) joinFP8(s *fp8Scheme) error {
	for _, name := range slices.Sorted(maps.Keys(w.of)) {
		if r := w.of[name]; isFP8(r, name) {
			t, err := s.join(w, r, name)
			if err != nil {
				return &fault.Error{Kind: fault.ErrFormat, Field: name, Err: err}
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
	return nil
}

// isFP8 reports whether a tensor has numbers of 8 bits.
func isFP8(r transformer.Reader, name string) bool {
	d := dtypeOf(r, name)
	return d == safetensors.F8E4M3 || d == safetensors.F8E5M2
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
