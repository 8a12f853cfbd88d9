package pytorch

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/transformer/internal/datafile"
)

// This file has what a pickle of tensors may name: types of storages, and functions.

// A DType is the type of a tensor's elements, by its name in PyTorch.
type DType string

// dtypes are the types of elements by the classes of storages that hold them.
var dtypes = map[global]DType{
	{"torch", "FloatStorage"}: "float32", {"torch", "HalfStorage"}: "float16", {"torch", "BFloat16Storage"}: "bfloat16",
	{"torch", "DoubleStorage"}: "float64", {"torch", "LongStorage"}: "int64", {"torch", "IntStorage"}: "int32",
	{"torch", "ShortStorage"}: "int16", {"torch", "CharStorage"}: "int8", {"torch", "ByteStorage"}: "uint8",
	{"torch", "BoolStorage"}: "bool",
}

// sizes are the bytes of an element.
var sizes = map[DType]int64{
	"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}

// elements are the types of floating-point numbers.
var elements = map[DType]datafile.Element{
	"float32": datafile.F32, "float16": datafile.F16, "bfloat16": datafile.BF16, "float64": datafile.F64,
}

// A storage is a row of elements; tensors are views of it.
type storage struct {
	key   string
	dtype DType
	len   int64 // elements
	begin int64 // where it starts in the file, once that is known
}

// A tensor is a view of a storage.
type tensor struct {
	storage *storage
	offset  int64 // elements
	shape   []int
	strides []int64
}

// functions are the functions that a pickle may call. They only put values together.
var functions = map[global]func(args tuple) (any, error){
	{"collections", "OrderedDict"}: func(args tuple) (any, error) {
		if len(args) != 0 {
			return nil, fmt.Errorf("%w: OrderedDict of %d arguments, want none", fault.ErrFormat, len(args))
		}
		return new(dict), nil
	},
	{"torch", "Size"}: func(args tuple) (any, error) {
		if len(args) == 1 {
			if size, ok := args[0].(tuple); ok {
				return size, nil
			}
		}
		return nil, fmt.Errorf("%w: torch.Size of other than a tuple", fault.ErrFormat)
	},
	{"torch._utils", "_rebuild_tensor"}:               rebuild,
	{"torch._utils", "_rebuild_tensor_v2"}:            rebuild,
	{"torch._utils", "_rebuild_parameter"}:            rebuildParameter,
	{"torch._utils", "_rebuild_parameter_with_state"}: rebuildParameter,
}

// rebuild makes a tensor of its storage, the offset in it, shape and strides; further arguments
// concern training.
func rebuild(args tuple) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("%w: a tensor of %d arguments, want 4 or more", fault.ErrFormat, len(args))
	}
	s, ok := args[0].(*storage)
	offset, ok2 := args[1].(int64)
	shape, ok3 := sizesOf(args[2])
	strides, ok4 := sizesOf(args[3])
	if !ok || !ok2 || !ok3 || !ok4 || len(shape) != len(strides) {
		return nil, fmt.Errorf("%w: a tensor is not made of a storage, an offset, a shape and strides", fault.ErrFormat)
	}
	t := &tensor{storage: s, offset: offset, shape: make([]int, len(shape)), strides: strides}
	wrong := fmt.Errorf("%w: a tensor of shape %v and strides %v from element %d of a storage of %d", fault.ErrFormat, shape, strides, offset, s.len)
	if offset < 0 || offset > s.len {
		return nil, wrong
	}
	// All elements lie within the storage, and it has as many: with strides of 0 a tensor could
	// claim any number. No product overflows, since each factor is at most what s.len allows.
	count, last := int64(1), offset
	for i, n := range shape {
		t.shape[i] = int(n)
		if slices.Contains(shape, 0) {
			continue
		}
		if count > s.len/n || n > 1 && strides[i] > s.len/(n-1) {
			return nil, wrong
		}
		count *= n
		last += strides[i] * (n - 1)
	}
	if !slices.Contains(shape, 0) && last >= s.len {
		return nil, wrong
	}
	return t, nil
}

// rebuildParameter returns the tensor that is a parameter.
func rebuildParameter(args tuple) (any, error) {
	if len(args) > 0 {
		if t, ok := args[0].(*tensor); ok {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%w: a parameter without a tensor", fault.ErrFormat)
}

// sizesOf returns a tuple of few sizes, none of them negative.
func sizesOf(v any) ([]int64, bool) {
	t, ok := v.(tuple)
	const mostDims, mostSize = 16, 1 << 48
	if !ok || len(t) > mostDims {
		return nil, false
	}
	sizes := make([]int64, len(t))
	for i, v := range t {
		n, ok := v.(int64)
		if !ok || n < 0 || n > mostSize || int64(int(n)) != n {
			return nil, false
		}
		sizes[i] = n
	}
	return sizes, true
}

// The values that a pickle builds, in addition to nil, bool, int64, float64 and string.
type (
	tuple  []any
	list   struct{ items []any }
	dict   struct{ pairs []any } // keys and values in turn, in the order of insertion; a key may occur again
	global struct{ module, name string }
	mark   struct{}
)
