package checkpoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/gguf"
	"github.com/avoformer/avoformer/transformer/pytorch"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// This file has where tensors come from.

// Weights is that of package transformer.
type Weights interface {
	Names() []string
	Tensor(name string, shape ...int) ([]float32, error)
}

// Reader is that of package transformer.
type Reader interface {
	Weights
	Shape(name string) ([]int, bool)
	Format(name string) kernels.Format
	Read(dst []float32, name string, from int) error
}

// file is a Reader of a file that knows the shape and the format of a tensor.
type file struct {
	tensors
	info func(name string) (shape []int, f kernels.Format, ok bool)
}

// tensors is what the packages of file formats have in common.
type tensors interface {
	Names() []string
	Float32(name string) ([]float32, error)
	ReadFloat32(dst []float32, name string, from int) error
}

func (f file) Tensor(name string, shape ...int) ([]float32, error) {
	got, ok := f.Shape(name)
	if err := fits(name, got, ok, shape); err != nil {
		return nil, err
	}
	return f.Float32(name)
}

// fits returns an error unless there is a tensor, of the wanted shape.
func fits(name string, got []int, ok bool, want []int) error {
	switch {
	case !ok:
		return check.Errorf(fault.ErrMissing, "%s", name)
	case !slices.Equal(got, want):
		return check.Errorf(fault.ErrMisshapen, "%s has shape %v, want %v", name, got, want)
	}
	return nil
}

func (f file) Shape(name string) ([]int, bool) {
	shape, _, ok := f.info(name)
	return shape, ok
}

func (f file) Format(name string) kernels.Format {
	_, format, _ := f.info(name)
	return format
}

func (f file) Read(dst []float32, name string, from int) error {
	return f.ReadFloat32(dst, name, from)
}

// FromSafetensors returns the tensors of a safetensors file.
func FromSafetensors(f *safetensors.File) Reader {
	formats := map[safetensors.DType]kernels.Format{safetensors.BF16: kernels.FormatBF16, safetensors.F16: kernels.FormatF16}
	return byteFile{file{f, func(name string) ([]int, kernels.Format, bool) {
		info, ok := f.Info(name)
		return info.Shape, formats[info.DType], ok // others as float32
	}}, f}
}

// byteFile gives the bytes of tensors too, also as what numbers of 16 bits are stored as.
type byteFile struct {
	file
	safetensors *safetensors.File
}

func (f byteFile) Integers(name string) bool {
	info, _ := f.safetensors.Info(name)
	return info.DType == safetensors.I8 || info.DType == safetensors.I64
}

// DType returns the type of a tensor's elements in the file.
func (f byteFile) DType(name string) safetensors.DType {
	info, _ := f.safetensors.Info(name)
	return info.DType
}

func (f byteFile) ReadBytes(dst []byte, name string, from int) error {
	if info, ok := f.safetensors.Info(name); ok && info.DType != safetensors.U8 {
		return fmt.Errorf("%w: %q is %s, want %s", fault.ErrType, name, info.DType, safetensors.U8)
	}
	return f.safetensors.ReadData(dst, name, from)
}

func (f byteFile) ReadBlocks(dst []byte, name string, from int) error {
	return f.safetensors.ReadData(dst, name, from)
}

// FromPyTorch returns the tensors of a file that torch.save wrote.
func FromPyTorch(f *pytorch.File) Reader {
	formats := map[pytorch.DType]kernels.Format{"bfloat16": kernels.FormatBF16, "float16": kernels.FormatF16}
	return blockFile{file{f, func(name string) ([]int, kernels.Format, bool) {
		info, ok := f.Info(name)
		return info.Shape, formats[info.DType], ok // others as float32
	}}, f.ReadData}
}

// ggufFormats are the formats in which types of a GGUF file are held; all other types become
// float32.
var ggufFormats = map[gguf.Type]kernels.Format{
	gguf.F16: kernels.FormatF16, gguf.BF16: kernels.FormatBF16,
	gguf.Q8_0: kernels.FormatQ8_0,
	gguf.Q4_0: kernels.FormatQ4_0, gguf.Q4_1: kernels.FormatQ4_1, gguf.Q5_0: kernels.FormatQ5_0, gguf.Q5_1: kernels.FormatQ5_1,
	gguf.Q4_K: kernels.FormatQ4_K, gguf.Q5_K: kernels.FormatQ5_K, gguf.Q6_K: kernels.FormatQ6_K,
	gguf.MXFP4: kernels.FormatMXFP4, gguf.IQ4_NL: kernels.FormatIQ4_NL, gguf.IQ4_XS: kernels.FormatIQ4_XS, gguf.Q3_K: kernels.FormatQ3_K,
}

// FromGGUF returns the tensors of a GGUF file, also in their blocks.
func FromGGUF(f *gguf.File) Reader {
	return blockFile{file{f, func(name string) ([]int, kernels.Format, bool) {
		info, ok := f.Info(name)
		return info.Shape, ggufFormats[info.Type], ok
	}}, f.ReadBlocks}
}

// blockFile is a file whose tensors can be read as they are.
type blockFile struct {
	file
	read func(dst []byte, name string, from int) error
}

func (f blockFile) ReadBlocks(dst []byte, name string, from int) error {
	return f.read(dst, name, from)
}

// Map is transformer.TensorMap.
type Map map[string]safetensors.Tensor

// Names lists the tensors in alphabetical order.
func (m Map) Names() []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Tensor returns the elements of the named tensor, not a copy.
func (m Map) Tensor(name string, shape ...int) ([]float32, error) {
	t, ok := m[name]
	if err := fits(name, t.Shape, ok, shape); err != nil {
		return nil, err
	}
	if len(t.Data) != check.Product(shape) {
		return nil, check.Errorf(fault.ErrMisshapen, "%s has %d elements, its shape %v wants %d", name, len(t.Data), shape, check.Product(shape))
	}
	return t.Data, nil
}

// Random returns a source of made-up weights of any name and shape, for trying out
// and timing models: uniform within 1/sqrt(n) of 0 for rows of length n, as
// torch.nn.Linear starts, and within 0.1 of 1 for one-dimensional tensors that
// are not biases. The same seed and name give the same numbers.
func Random(seed uint64) Weights { return random(seed) }

type random uint64

func (random) Names() []string { return nil }

func (r random) Tensor(name string, shape ...int) ([]float32, error) {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	g := rand.New(rand.NewPCG(uint64(r), h))
	x := make([]float32, check.Product(shape))
	center, scale := 0.0, 1.0
	switch {
	case len(shape) > 1:
		scale = 1 / math.Sqrt(float64(max(check.Product(shape[1:]), 1)))
	case strings.HasSuffix(name, "bias"):
		scale = 0.1
	default:
		center, scale = 1, 0.1
	}
	for i := range x {
		x[i] = float32(center + scale*(2*g.Float64()-1))
	}
	return x, nil
}

// Hide is w without the tensors whose names match one of the patterns of
// path.Match, for checkpoints that hold more than a model needs.
func Hide(w Weights, patterns ...string) Weights { return hidden{w, patterns} }

type hidden struct {
	Weights
	patterns []string
}

func (h hidden) hides(name string) bool {
	return slices.ContainsFunc(h.patterns, func(p string) bool {
		ok, _ := path.Match(p, name)
		return ok
	})
}

func (h hidden) Names() []string {
	return slices.DeleteFunc(slices.Clone(h.Weights.Names()), h.hides)
}

func (h hidden) Tensor(name string, shape ...int) ([]float32, error) {
	if h.hides(name) {
		return nil, check.Errorf(fault.ErrMissing, "%s", name)
	}
	return h.Weights.Tensor(name, shape...)
}
