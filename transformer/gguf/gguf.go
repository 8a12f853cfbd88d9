// Package gguf reads the GGUF format, in which quantized models are published: typed metadata by
// key, among them a model's sizes and its tokenizer's vocabulary, and tensors of floating-point
// numbers or of blocks with shared scales.
//
// Versions 1 to 3 are read, in little-endian order. A file is not trusted. Reading one that is
// truncated, inconsistent or made up gives an error that matches [fault.ErrFormat]; no size that a
// file merely claims is ever allocated. The package gives the same numbers on big-endian machines.
//
// Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
//
// This package is stable: see doc/stability.md.
package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/transformer/internal/datafile"
)

// Info describes a tensor.
type Info struct {
	Type Type
	// Shape is row-major, the rows' length last, as elsewhere in this module; the file has it the
	// other way around. It is empty for a scalar.
	Shape []int
}

// Len returns the number of elements.
func (i Info) Len() int {
	n := 1
	for _, d := range i.Shape {
		n *= d
	}
	return n
}

// entry is a tensor with its place in the data.
type entry struct {
	Info
	file       *File // that has it: for a file that was split, one of its parts
	begin, end int64 // bytes, relative to the start of the data
}

// A File is an open GGUF file. It may be used by several goroutines if its reader may.
type File struct {
	r        datafile.Reader
	version  int
	data     int64 // where the data starts
	entries  map[string]*entry
	metadata map[string]any
	files    []*os.File // that Open opened
}

// Is reports whether the file at path begins as a GGUF file does.
func Is(path string) bool {
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len(magic))
	_, err = io.ReadFull(f, begin)
	return err == nil && string(begin) == magic
}

func openOne(path string) (*File, error) {
	f, file, err := datafile.Open(path, NewFile)
	if err != nil {
		return nil, err
	}
	f.files = []*os.File{file}
	return f, nil
}

// Parse reads a file that is in memory, such as an embedded one. It keeps data.
func Parse(data []byte) (*File, error) {
	return NewFile(bytes.NewReader(data), int64(len(data)))
}

// NewFile reads the metadata and the list of tensors of the GGUF file of size bytes that r holds.
// Of a file that was split, it is the part that r holds.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: datafile.Reader{ReaderAt: r, Format: "gguf", Malformed: fault.ErrFormat}, entries: map[string]*entry{}, metadata: map[string]any{}}
	h := newHeader(r, size)
	if err := f.readHeader(h); err != nil {
		return nil, err
	}
	return f, nil
}

// Close closes a file that came from Open; otherwise it does nothing.
func (f *File) Close() error {
	var err error
	for _, file := range f.files {
		err = errors.Join(err, file.Close())
	}
	return err
}

// Stat describes the file that came from Open, or its parts in their order if it was split.
// Otherwise it returns nil.
func (f *File) Stat() ([]fs.FileInfo, error) {
	var infos []fs.FileInfo
	for _, file := range f.files {
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// Version returns the version of the format, 1 to 3.
func (f *File) Version() int { return f.version }

// Names lists the tensors in alphabetical order.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.entries)) }

// Info describes the named tensor, and reports whether there is one.
func (f *File) Info(name string) (Info, bool) {
	e, ok := f.entries[name]
	if !ok {
		return Info{}, false
	}
	return Info{e.Type, slices.Clone(e.Shape)}, true
}

// Bytes reads the raw little-endian data of the named tensor, row by row.
func (f *File) Bytes(name string) ([]byte, error) {
	e, ok := f.entries[name]
	if !ok {
		return nil, fmt.Errorf("%w: tensor %q", fault.ErrAbsent, name)
	}
	return e.file.r.Between(e.file.data+e.begin, e.file.data+e.end, name)
}

// Copy writes the raw little-endian data of the named tensor to w, a piece at a time.
func (f *File) Copy(w io.Writer, name string) error {
	e, ok := f.entries[name]
	if !ok {
		return fmt.Errorf("%w: tensor %q", fault.ErrAbsent, name)
	}
	n, err := io.Copy(w, io.NewSectionReader(e.file.r, e.file.data+e.begin, e.end-e.begin))
	if err == nil && n < e.end-e.begin {
		err = fmt.Errorf("%w: %q: the data ends early", fault.ErrFormat, name)
	}
	return err
}

// Float32 reads a tensor of any format that [Dequantize] knows, in row-major order.
func (f *File) Float32(name string) ([]float32, error) {
	raw, err := f.Bytes(name)
	if err != nil {
		return nil, err
	}
	info := f.entries[name].Info
	if dequantizers[info.Type] == nil {
		return nil, fmt.Errorf("%w: %q is %v, want one that can be converted to float32", fault.ErrType, name, info.Type)
	}
	x := make([]float32, info.Len())
	if err := Dequantize(info.Type, x, raw); err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return x, nil
}

// ReadBlocks sets dst to the raw little-endian data of the named tensor from element from on, which
// is the first of a block.
func (f *File) ReadBlocks(dst []byte, name string, from int) error {
	e, ok := f.entries[name]
	if !ok {
		return fmt.Errorf("%w: tensor %q", fault.ErrAbsent, name)
	}
	if from < 0 || from > e.Len() || from%e.Type.Block() != 0 || int64(len(dst)) > e.end-e.begin-int64(e.Type.Bytes(from)) {
		return fmt.Errorf("gguf: %q: %d bytes from element %d of %d in blocks of %d", name, len(dst), from, e.Len(), e.Type.Block())
	}
	return e.file.r.Fill(dst, e.file.data+e.begin+int64(e.Type.Bytes(from)), name)
}

// chunk is the number of elements, a multiple of every format's block, that ReadFloat32 converts at
// a time.
const chunk = 1 << 14

// scratch is the memory that ReadFloat32 needs: the values and, of the widest format, the bytes of
// a chunk.
type scratch struct {
	values [chunk]float32
	raw    [8 * chunk]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// numbers are the types whose elements are not in blocks.
var numbers = map[Type]datafile.Element{F32: datafile.F32, F16: datafile.F16, BF16: datafile.BF16, F64: datafile.F64}

// ReadFloat32 sets dst to elements [from, from+len(dst)) of the named tensor, as Float32 has them.
func (f *File) ReadFloat32(dst []float32, name string, from int) error {
	e, ok := f.entries[name]
	switch {
	case !ok:
		return fmt.Errorf("%w: tensor %q", fault.ErrAbsent, name)
	case dequantizers[e.Type] == nil:
		return fmt.Errorf("%w: %q is %v, want one that can be converted to float32", fault.ErrType, name, e.Type)
	case from < 0 || from > e.Len()-len(dst):
		return fmt.Errorf("gguf: %q: elements %d to %d of %d", name, from, from+len(dst), e.Len())
	}
	if element, ok := numbers[e.Type]; ok {
		return e.file.r.Floats(dst, element, e.file.data+e.begin+int64(from)*int64(element.Size()), name)
	}
	block := e.Type.Block()
	buffer := scratches.Get().(*scratch)
	defer scratches.Put(buffer)
	for len(dst) > 0 {
		first := from / block * block // of the block that element from is in
		n := min((from-first+len(dst)+block-1)/block*block, chunk)
		raw, values := buffer.raw[:e.Type.Bytes(n)], buffer.values[:n]
		at := e.file.data + e.begin + int64(first/block)*int64(e.Type.Bytes(block))
		if err := e.file.r.Fill(raw, at, name); err != nil {
			return err
		}
		if err := Dequantize(e.Type, values, raw); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		n = copy(dst, values[from-first:])
		dst, from = dst[n:], from+n
	}
	return nil
}
