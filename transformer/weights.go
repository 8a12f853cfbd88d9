package transformer

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/gguf"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
	"github.com/avoformer/avoformer/transformer/pytorch"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights is the source of a model's tensors.
type Weights interface {
	// Names lists all tensors, so that tensors can be reported which the model did not ask for.
	Names() []string
	// Tensor returns the row-major elements of the named tensor. The error matches fault.ErrMissing
	// if there is none, fault.ErrMisshapen if its shape is another.
	Tensor(name string, shape ...int) ([]float32, error)
}

// A Reader is Weights whose tensors are read piece by piece, such as a file: packing them needs no
// second copy.
type Reader interface {
	Weights
	// Shape returns the shape of the named tensor, and false if there is none.
	Shape(name string) ([]int, bool)
	// Format returns the format of the named tensor's elements, in which they are held where they
	// need not be float32.
	Format(name string) kernels.Format
	// Read sets dst to the elements of the named tensor from the given one on, in row-major order.
	// It must be safe for concurrent use.
	Read(dst []float32, name string, from int) error
}

// A BlockReader is a Reader that also gives tensors in their format, if that is one of 16 bits or
// of blocks.
type BlockReader interface {
	Reader
	// ReadBlocks sets dst to the stored numbers, little-endian, from the given element on. If the
	// error matches errors.ErrUnsupported, Read is called instead.
	ReadBlocks(dst []byte, name string, from int) error
}

// An IntegerReader is a Reader that knows which of its tensors have integers, for
// [Loader.Integers].
type IntegerReader interface {
	Reader
	Integers(name string) bool
}

// Package checkpoint, which this one imports, asks for the same methods. The interfaces stand here
// too, where documentation shows them.
var (
	_ checkpoint.BlockReader   = BlockReader(nil)
	_ checkpoint.IntegerReader = IntegerReader(nil)
)

// FromSafetensors returns the weights in a safetensors file.
func FromSafetensors(f *safetensors.File) Reader { return checkpoint.FromSafetensors(f) }

// FromPyTorch returns the weights in a file that torch.save wrote of a state dict, such as
// pytorch_model.bin. Nothing of it is executed.
func FromPyTorch(f *pytorch.File) Reader { return checkpoint.FromPyTorch(f) }

// FromGGUF returns the weights in a GGUF file, by the names that llama.cpp gives them. Blocks of
// the types Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS and MXFP4 can be
// held unchanged; other types become float32. [Loader.Holdings] lists the formats in advance.
func FromGGUF(f *gguf.File) Reader { return checkpoint.FromGGUF(f) }

// TensorMap is weights in memory by their names. Its Tensor returns the elements, not a copy.
type TensorMap = checkpoint.Map

// Random returns a source of made-up weights of any name and shape, for trying out and timing
// models: uniform within 1/sqrt(n) of 0 for rows of length n, as torch.nn.Linear starts, and within
// 0.1 of 1 for one-dimensional tensors that are not biases. The same seed and name give the same
// numbers.
func Random(seed uint64) Weights { return checkpoint.Random(seed) }

// Hide returns w without the tensors whose names match one of the patterns of path.Match, for
// checkpoints that have more than a model needs.
func Hide(w Weights, patterns ...string) Weights { return checkpoint.Hide(w, patterns...) }

// A LoadError lists everything that is wrong with the weights of a model: the names that the
// weights lack, what shape tensors have and should have, and the names that the model did not ask
// for. It matches fault.ErrMissing, fault.ErrMisshapen and fault.ErrLeftOver if it has such
// entries. Its text names at most five of each kind, and counts the rest. Its methods are Error and
// Unwrap.
type LoadError = checkpoint.LoadError
