// Package checkpoint brings the tensors of a checkpoint into the memory of a model. A Source has
// tensors by name; wrappers replace, transpose and change them. A Plan is what the parts of a model
// want, each with a slot that is filled later. Check and Bytes compare the plan with headers;
// Plan.Finish reads and packs on all threads.
package checkpoint

import (
	"errors"
	"sync"

	"github.com/avoformer/avoformer/kernels"
)

// This file has the sources of tensors.

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

// An IntegerReader is a Reader that knows which of its tensors have integers.
type IntegerReader interface {
	Reader
	Integers(name string) bool
}

// A Source has the tensors of a checkpoint by name.
type Source interface {
	Names() []string
	// Shape returns the shape of a tensor, and false if there is none or only reading would tell.
	Shape(name string) ([]int, bool)
	// Format returns the format of a tensor, FormatF32 if there is none or only reading would tell.
	Format(name string) kernels.Format
	// Open returns a tensor of the given shape. It reads nothing. The error matches
	// fault.ErrMissing or fault.ErrMisshapen; where only reading would tell, it is that of
	// Tensor.Read.
	Open(name string, shape []int) (Tensor, error)
}

// A Tensor is numbers that are read piece by piece, in row-major order, on any thread.
type Tensor interface {
	Format() kernels.Format // as which the numbers are stored
	Integers() bool         // whether they are integers
	// Read sets dst to the numbers from one of them on, or fails.
	Read(dst []float32, from int) error
	// ReadBlocks is Read for the numbers as they are stored; errors.ErrUnsupported if the source
	// cannot do that.
	ReadBlocks(dst []byte, from int) error
}

// sourceOf returns the tensors of weights.
func sourceOf(w Weights) Source {
	if r, ok := w.(Reader); ok {
		return files{r}
	}
	return newWhole(w)
}

// files are tensors whose shapes are known.
type files struct{ Reader }

func (f files) Open(name string, shape []int) (Tensor, error) {
	got, ok := f.Shape(name)
	return inFile{f.Reader, name}, fits(name, got, ok, shape)
}

// inFile is a tensor of a Reader.
type inFile struct {
	from Reader
	name string
}

func (t inFile) Format() kernels.Format             { return t.from.Format(t.name) }
func (t inFile) Integers() bool                     { return hasIntegers(t.from, t.name) }
func (t inFile) Read(dst []float32, from int) error { return t.from.Read(dst, t.name, from) }

func (t inFile) ReadBlocks(dst []byte, from int) error { return readBlocks(t.from, dst, t.name, from) }

// hasIntegers reports whether r knows that a tensor has integers.
func hasIntegers(r Reader, name string) bool {
	i, ok := r.(IntegerReader)
	return ok && i.Integers(name)
}

// readBlocks reads numbers as r stores them, if r can do that.
func readBlocks(r Reader, dst []byte, name string, from int) error {
	if b, ok := r.(BlockReader); ok {
		return b.ReadBlocks(dst, name, from)
	}
	return errors.ErrUnsupported
}

// whole is weights that give tensors as a whole, in the shape that is asked for, on one goroutine
// at a time.
type whole struct {
	Weights
	listed map[string]bool
	mu     *sync.Mutex
}

func newWhole(w Weights) whole {
	return whole{w, newNames(w.Names()).listed, new(sync.Mutex)}
}

func (whole) Shape(string) ([]int, bool)   { return nil, false }
func (whole) Format(string) kernels.Format { return kernels.FormatF32 }

// Open also reads what costs nothing, which is in memory, and what may be missing.
func (w whole) Open(name string, shape []int) (Tensor, error) {
	t := inMemory{sync.OnceValues(func() ([]float32, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.Tensor(name, shape...)
	})}
	if _, ok := w.Weights.(Map); ok || len(w.listed) > 0 && !w.listed[name] {
		_, err := t.elements()
		return t, err
	}
	return t, nil
}

// inMemory is all elements of a tensor, which are there from the first read on.
type inMemory struct{ elements func() ([]float32, error) }

func (inMemory) Format() kernels.Format       { return kernels.FormatF32 }
func (inMemory) Integers() bool               { return false }
func (inMemory) ReadBlocks([]byte, int) error { return errors.ErrUnsupported }

func (t inMemory) Read(dst []float32, from int) error {
	x, err := t.elements()
	if err == nil {
		copy(dst, x[from:])
	}
	return err
}
