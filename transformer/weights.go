package transformer

import (
	"github.com/avoformer/avoformer/transformer/gguf"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
	"github.com/avoformer/avoformer/transformer/pytorch"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights is the source of a model's tensors: their names, so that tensors can be reported which the model did not ask for, and the row-major
// elements of each. The error of Tensor matches fault.ErrMissing if there is none, fault.ErrMisshapen if its shape is another.
type Weights = checkpoint.Weights

// A Reader is Weights whose tensors are read piece by piece, such as a file: packing them needs no second copy. Shape returns false if there
// is no such tensor. Format is the format in which the elements are held where they need not be float32. Read sets dst to the elements from
// the given one on, in row-major order. It must be safe for concurrent use.
type Reader = checkpoint.Reader

// A BlockReader is a Reader that also gives tensors in their format, if that is one of 16 bits or of blocks: ReadBlocks sets dst to the stored
// numbers, little-endian, from the given element on. If its error matches errors.ErrUnsupported, Read is called instead.
type BlockReader = checkpoint.BlockReader

// An IntegerReader is a Reader that knows which of its tensors have integers, for [Loader.Integers].
type IntegerReader = checkpoint.IntegerReader

// FromSafetensors returns the weights in a safetensors file.
func FromSafetensors(f *safetensors.File) Reader { return checkpoint.FromSafetensors(f) }

// FromPyTorch returns the weights in a file that torch.save wrote of a state dict, such as
// pytorch_model.bin. Nothing of it is executed.
func FromPyTorch(f *pytorch.File) Reader { return checkpoint.FromPyTorch(f) }

// FromGGUF returns the weights in a GGUF file, by the names that llama.cpp gives them. Blocks of the types Q8_0, Q4_0, Q4_1, Q5_0, Q5_1,
// Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS and MXFP4 can be held unchanged; other types become float32. [Loader.Holdings] lists the formats
// in advance.
func FromGGUF(f *gguf.File) Reader { return checkpoint.FromGGUF(f) }

// TensorMap is weights in memory by their names. Its Tensor returns the elements, not a copy.
type TensorMap = checkpoint.Map

// Random returns a source of made-up weights of any name and shape, for trying out
// and timing models: uniform within 1/sqrt(n) of 0 for rows of length n, as
// torch.nn.Linear starts, and within 0.1 of 1 for one-dimensional tensors that
// are not biases. The same seed and name give the same numbers.
func Random(seed uint64) Weights { return checkpoint.Random(seed) }

// Hide returns w without the tensors whose names match one of the patterns of
// path.Match, for checkpoints that have more than a model needs.
func Hide(w Weights, patterns ...string) Weights { return checkpoint.Hide(w, patterns...) }

// A LoadError lists everything that is wrong with the weights of a model: the names that the weights lack, what shape tensors have and should
// have, and the names that the model did not ask for. It matches fault.ErrMissing, fault.ErrMisshapen and fault.ErrLeftOver if it has such
// entries. Its text names at most five of each kind, and counts the rest.
type LoadError = checkpoint.LoadError
