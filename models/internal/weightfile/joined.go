package weightfile

import (
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// Tensors that several tensors of the files make together: codes, scales, and what else a form of
// quantized weights stores.

// joined is such a tensor. Files list it in place of its parts.
type joined struct {
	name   string
	shape  []int
	format kernels.Format // of blocks or of 16 bits that have the same numbers; or float32
	parts  map[string]transformer.Reader
	numbers
}

// numbers are the elements of a joined tensor, in row-major order.
type numbers interface {
	// read sets dst to the numbers from one of them on.
	read(dst []float32, from int) error
	// readBlocks is read for blocks of the format, of which from begins one. It is not called if
	// the format is float32.
	readBlocks(dst []byte, from int) error
}

// onlyNumbers are the numbers of a tensor that no format of blocks holds.
type onlyNumbers struct{}

func (onlyNumbers) readBlocks([]byte, int) error { panic("weightfile: blocks of float32") }

// Names implements transformer.Weights.
func (t *joined) Names() []string { return []string{t.name} }

// Shape implements transformer.Reader.
func (t *joined) Shape(string) ([]int, bool) { return t.shape, true }

// Format implements transformer.Reader.
func (t *joined) Format(string) kernels.Format { return t.format }

// Tensor implements transformer.Weights.
func (t *joined) Tensor(name string, shape ...int) ([]float32, error) {
	if !slices.Equal(shape, t.shape) {
		return nil, check.Errorf(fault.ErrMisshapen, "%s has shape %v, want %v", name, t.shape, shape)
	}
	x := make([]float32, check.Product(shape))
	return x, t.read(x, 0)
}

// Read implements transformer.Reader.
func (t *joined) Read(dst []float32, _ string, from int) error { return t.read(dst, from) }

// ReadBlocks implements transformer.BlockReader.
func (t *joined) ReadBlocks(dst []byte, _ string, from int) error {
	if t.format == kernels.FormatF32 {
		return errors.ErrUnsupported
	}
	return t.readBlocks(dst, from)
}

// sample writes elements from the beginning, the middle and the end of each part.
func (t *joined) sample(to io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(t.parts)) {
		r := t.parts[name]
		shape, _ := r.Shape(name)
		all, size := check.Product(shape), max(sizes[dtypeOf(r, name)], 1)
		n := min(all, 1024)
		b := make([]byte, n*size)
		for _, from := range []int{0, (all - n) / 2, all - n} {
			if err := readBlocks(r, b, name, from); err != nil {
				return err
			}
			if _, err := to.Write(b); err != nil {
				return err
			}
		}
	}
	return nil
}
