package checkpoint

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/gguf"
	"github.com/avoformer/avoformer/transformer/pytorch"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// This file opens files of weights as Readers.

// file is a Reader of a file that knows the shape and the format of a tensor.
type file struct {
	tensors
	info func(name string) (shape []int, f kernels.Format, ok bool)
	raw  func(dst []byte, name string, from int) error // as the file has them
}

// tensors has the methods that the packages of file formats have in common.
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

func (f file) Shape(name string) ([]int, bool) {
	shape, _, ok := f.info(name)
	return shape, ok
}

func (f file) Format(name string) kernels.Format {
	_, format, _ := f.info(name)
	return format
}

func (f file) Read(dst []float32, name string, from int) error { return f.ReadFloat32(dst, name, from) }

func (f file) ReadBlocks(dst []byte, name string, from int) error { return f.raw(dst, name, from) }

// FromSafetensors returns the tensors of a safetensors file.
func FromSafetensors(f *safetensors.File) Reader {
	formats := map[safetensors.DType]kernels.Format{safetensors.BF16: kernels.FormatBF16, safetensors.F16: kernels.FormatF16}
	return safetensorsFile{file{f, func(name string) ([]int, kernels.Format, bool) {
		info, ok := f.Info(name)
		return info.Shape, formats[info.DType], ok // others as float32
	}, f.ReadData}, f}
}

// safetensorsFile also knows integers, and gives numbers of 8 bits.
type safetensorsFile struct {
	file
	safetensors *safetensors.File
}

func (f safetensorsFile) Integers(name string) bool {
	t := f.DType(name)
	return t == safetensors.I8 || t == safetensors.I32 || t == safetensors.I64
}

// DType returns the type of a tensor's elements in the file.
func (f safetensorsFile) DType(name string) safetensors.DType {
	info, _ := f.safetensors.Info(name)
	return info.DType
}

// FromPyTorch returns the tensors of a file that torch.save wrote.
func FromPyTorch(f *pytorch.File) Reader {
	formats := map[pytorch.DType]kernels.Format{"bfloat16": kernels.FormatBF16, "float16": kernels.FormatF16}
	return file{f, func(name string) ([]int, kernels.Format, bool) {
		info, ok := f.Info(name)
		return info.Shape, formats[info.DType], ok // others as float32
	}, f.ReadData}
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
	return file{f, func(name string) ([]int, kernels.Format, bool) {
		info, ok := f.Info(name)
		return info.Shape, ggufFormats[info.Type], ok
	}, f.ReadBlocks}
}
