// Package pytorch reads the files that torch.save writes of a state dict, such as
// pytorch_model.bin: a zip archive or, before PyTorch 1.6, a file of pickles, in which tensors are
// views of storages.
//
// A pickle is a program. Here it can only put tensors together. Any other function that it asks for
// is refused with an error that matches [fault.ErrUnsupported] and names the function, and is never
// executed. The package does not trust other parts of a file either. A file that is truncated,
// inconsistent or made up gives an error that matches [fault.ErrFormat]; no size that a file merely
// claims is ever allocated. The package gives the same numbers on big-endian machines.
//
// Source: torch/serialization.py of PyTorch.
//
// This package is settling: see doc/stability.md.
package pytorch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/transformer/internal/datafile"
)

// Info describes a tensor.
type Info struct {
	DType DType
	Shape []int // empty for a scalar
}

// Len returns the number of elements.
func (i Info) Len() int {
	n := 1
	for _, d := range i.Shape {
		n *= d
	}
	return n
}

// entry is a tensor by its name, and its elements where these do not lie one after another in the
// file.
type entry struct {
	*tensor
	gather sync.Once
	data   []float32
	err    error
}

func (e *entry) info() Info { return Info{e.storage.dtype, e.shape} }

// A File is an open file. It may be used by several goroutines if its reader may.
type File struct {
	r       datafile.Reader
	entries map[string]*entry
	closer  io.Closer
}

// Open opens the file at path. Tensors are read when asked for, so a file may be larger than
// memory.
func Open(path string) (*File, error) {
	f, closer, err := datafile.Open(path, NewFile)
	if err != nil {
		return nil, err
	}
	f.closer = closer
	return f, nil
}

// Parse reads a file that is in memory, such as an embedded one. It keeps data.
func Parse(data []byte) (*File, error) {
	return NewFile(bytes.NewReader(data), int64(len(data)))
}

// NewFile reads the list of tensors of the file of size bytes that r holds.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: datafile.Reader{ReaderAt: r, Format: "pytorch", Malformed: fault.ErrFormat}, entries: map[string]*entry{}}
	read := readLegacy
	if isZip(r) {
		read = readZip
	}
	state, err := read(r, size)
	if err != nil {
		return nil, err
	}
	d, ok := state.(*dict)
	if !ok {
		return nil, fmt.Errorf("%w: it holds no state dict", fault.ErrUnsupported)
	}
	for i := 0; i < len(d.pairs); i += 2 {
		name, ok := d.pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("%w: a key of the state dict is not a string", fault.ErrUnsupported)
		}
		t, ok := d.pairs[i+1].(*tensor)
		if !ok {
			return nil, fmt.Errorf("%w: %q of the state dict is not a tensor", fault.ErrUnsupported, name)
		}
		if end := t.storage.begin + t.storage.len*sizes[t.storage.dtype]; end > size {
			return nil, fmt.Errorf("%w: %q ends at byte %d of %d", fault.ErrFormat, name, end, size)
		}
		f.entries[name] = &entry{tensor: t} // as in Python, the last one of a name
	}
	return f, nil
}

// Close closes a file that came from Open; otherwise it does nothing.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Names lists the tensors in alphabetical order.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.entries)) }

// Info describes the named tensor, and reports whether there is one.
func (f *File) Info(name string) (Info, bool) {
	e, ok := f.entries[name]
	if !ok {
		return Info{}, false
	}
	return Info{e.storage.dtype, slices.Clone(e.shape)}, true
}

// Float32 reads a tensor of float32, float16, bfloat16 (both exact) or float64 (rounded) elements,
// in row-major order.
func (f *File) Float32(name string) ([]float32, error) {
	e, ok := f.entries[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", fault.ErrAbsent, name)
	}
	return datafile.AllFloats(e.info().Len(), func(dst []float32, from int) error { return f.ReadFloat32(dst, name, from) })
}

// ReadFloat32 sets dst to elements [from, from+len(dst)) of the named tensor, as Float32 has them.
func (f *File) ReadFloat32(dst []float32, name string, from int) error {
	e, ok := f.entries[name]
	if !ok {
		return fmt.Errorf("%w: %q", fault.ErrAbsent, name)
	}
	element := elements[e.storage.dtype]
	if element == 0 {
		return fmt.Errorf("%w: %q is %s, want floating point", fault.ErrType, name, e.storage.dtype)
	}
	if err := f.r.Within(from, len(dst), e.info().Len(), name); err != nil {
		return err
	}
	if e.contiguous() {
		at := e.storage.begin + (e.offset+int64(from))*int64(element.Size())
		return f.r.Floats(dst, element, at, name)
	}
	e.gather.Do(func() { e.data, e.err = f.gathered(e, element, name) })
	if e.err != nil {
		return e.err
	}
	copy(dst, e.data[from:])
	return nil
}

// ReadData sets dst to the raw little-endian data of the named tensor from element from on. Its
// error matches errors.ErrUnsupported where the elements do not lie one after another.
func (f *File) ReadData(dst []byte, name string, from int) error {
	e, ok := f.entries[name]
	if !ok {
		return fmt.Errorf("%w: %q", fault.ErrAbsent, name)
	}
	if !e.contiguous() {
		return fmt.Errorf("pytorch: %q: elements apart: %w", name, errors.ErrUnsupported)
	}
	size := int(sizes[e.storage.dtype])
	if err := f.r.Within(from, (len(dst)+size-1)/size, e.info().Len(), name); err != nil {
		return err
	}
	return f.r.Fill(dst, e.storage.begin+(e.offset+int64(from))*int64(size), name)
}

// contiguous reports whether the elements lie one after another in row-major order.
func (t *tensor) contiguous() bool {
	want := int64(1)
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] > 1 && t.strides[i] != want {
			return false
		}
		want *= int64(t.shape[i])
	}
	return true
}

// gathered returns, in row-major order, the elements of a tensor that is not contiguous, such as a
// transposed one. It reads the whole span of the storage.
func (f *File) gathered(e *entry, element datafile.Element, name string) ([]float32, error) {
	n := e.info().Len()
	if n == 0 {
		return nil, nil
	}
	span := int64(1)
	for i, d := range e.shape {
		span += int64(d-1) * e.strides[i]
	}
	at := e.storage.begin + e.offset*int64(element.Size())
	all, err := datafile.AllFloats(int(span), func(dst []float32, from int) error {
		return f.r.Floats(dst, element, at+int64(from)*int64(element.Size()), name)
	})
	if err != nil {
		return nil, err
	}
	x := make([]float32, n)
	index := make([]int, len(e.shape))
	from := int64(0)
	for i := range x {
		x[i] = all[from]
		for d := len(index) - 1; d >= 0; d-- { // the next index, the last one first
			index[d]++
			from += e.strides[d]
			if index[d] < e.shape[d] {
				break
			}
			from -= int64(index[d]) * e.strides[d]
			index[d] = 0
		}
	}
	return x, nil
}
