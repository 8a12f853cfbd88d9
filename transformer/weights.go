package transformer

import (
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights is where constructors take a model's tensors from.
type Weights interface {
	// Names lists the tensors that there are, so that those which a model did
	// not ask for can be reported.
	Names() []string
	// Tensor returns the row-major elements of the named tensor. The error
	// matches ErrMissing if there is none, ErrMisshapen if its shape is another.
	Tensor(name string, shape ...int) ([]float32, error)
}

// A Reader is Weights whose tensors are read piece by piece, so that packing them
// needs no second copy: a file.
type Reader interface {
	Weights
	// Shape is the named tensor's, and false if there is none.
	Shape(name string) ([]int, bool)
	// Read sets dst to the elements of the named tensor from the given one on, in
	// row-major order. Several goroutines call it at a time.
	Read(dst []float32, name string, from int) error
}

// A Reader may tell in which format a tensor's elements are, so that they are held in it
// where they need not be float32: with a method
//
//	Format(name string) kernels.Format
//
// and, if that is a format of blocks, one that sets dst to those from element from on:
//
//	ReadBlocks(dst []byte, name string, from int) error

// FromSafetensors is the weights in a safetensors file, a [Reader].
func FromSafetensors(f *safetensors.File) Weights { return fileWeights{f} }

type fileWeights struct{ f *safetensors.File }

func (w fileWeights) Names() []string { return w.f.Names() }

func (w fileWeights) Tensor(name string, shape ...int) ([]float32, error) {
	info, ok := w.f.Info(name)
	switch {
	case !ok:
		return nil, errorf(ErrMissing, "%s", name)
	case !slices.Equal(info.Shape, shape):
		return nil, errorf(ErrMisshapen, "%s has shape %v, want %v", name, info.Shape, shape)
	}
	return w.f.Float32(name)
}

func (w fileWeights) Shape(name string) ([]int, bool) {
	info, ok := w.f.Info(name)
	return info.Shape, ok
}

func (w fileWeights) Format(name string) kernels.Format {
	info, _ := w.f.Info(name)
	switch info.DType {
	case safetensors.BF16:
		return kernels.FormatBF16
	case safetensors.F16:
		return kernels.FormatF16
	}
	return kernels.FormatF32
}

func (w fileWeights) Read(dst []float32, name string, from int) error {
	return w.f.ReadFloat32(dst, name, from)
}

// TensorMap is weights in memory.
type TensorMap map[string]safetensors.Tensor

// Names lists the tensors in alphabetical order.
func (m TensorMap) Names() []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Tensor returns the elements of the named tensor, not a copy.
func (m TensorMap) Tensor(name string, shape ...int) ([]float32, error) {
	t, ok := m[name]
	switch {
	case !ok:
		return nil, errorf(ErrMissing, "%s", name)
	case !slices.Equal(t.Shape, shape):
		return nil, errorf(ErrMisshapen, "%s has shape %v, want %v", name, t.Shape, shape)
	case len(t.Data) != product(shape):
		return nil, errorf(ErrMisshapen, "%s has %d elements, its shape %v wants %d", name, len(t.Data), shape, product(shape))
	}
	return t.Data, nil
}

// Random is a source of made-up weights of any name and shape, for trying out
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
	x := make([]float32, product(shape))
	center, scale := 0.0, 1.0
	switch {
	case len(shape) > 1:
		scale = 1 / math.Sqrt(float64(max(product(shape[1:]), 1)))
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
		return nil, errorf(ErrMissing, "%s", name)
	}
	return h.Weights.Tensor(name, shape...)
}

// product is the product of sizes, the largest int if that is too small for it.
func product(sizes []int) int {
	n := 1
	for _, s := range sizes {
		if s > 0 && n > math.MaxInt/s {
			return math.MaxInt
		}
		n *= s
	}
	return n
}
