// Package safetensors reads and writes the safetensors format, in which trained weights are
// published: an 8-byte little-endian header length, a JSON header that names tensors with their
// element type, shape and place, and the raw little-endian data.
//
// A file is not trusted. Reading one that is truncated, inconsistent or made up gives an error that
// matches [fault.ErrFormat]; no size that a file merely claims is ever allocated. The package gives
// the same numbers on big-endian machines.
//
// Source: https://github.com/huggingface/safetensors (format section).
//
// This package is stable: see doc/stability.md.
package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/transformer/internal/datafile"
)

// maxHeader is the longest header that is accepted, the limit of the reference implementation.
const maxHeader = 100_000_000

// A DType is the type of a tensor's elements, as the header spells it.
type DType string

// The element types of the format that this package can convert.
const (
	Bool DType = "BOOL"
	U8   DType = "U8"
	I8   DType = "I8"
	I16  DType = "I16"
	U16  DType = "U16"
	// Numbers of 8 bits, as torch.float8_e4m3fn and float8_e5m2. A checkpoint has scales in other
	// tensors.
	F8E4M3 DType = "F8_E4M3"
	F8E5M2 DType = "F8_E5M2"

	F16  DType = "F16"
	BF16 DType = "BF16"
	I32  DType = "I32"
	U32  DType = "U32"
	F32  DType = "F32"
	I64  DType = "I64"
	U64  DType = "U64"
	F64  DType = "F64"
)

// size returns the number of bytes of one element, 0 for an unknown type.
func (d DType) size() int {
	switch d {
	case Bool, U8, I8, F8E4M3, F8E5M2:
		return 1
	case I16, U16, F16, BF16:
		return 2
	case I32, U32, F32:
		return 4
	case I64, U64, F64:
		return 8
	}
	return 0
}

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

// entry is a tensor with its place in the data.
type entry struct {
	Info
	begin, end int64 // bytes, relative to the start of the data
}

// A File is an open safetensors file. It may be used by several goroutines if its reader may.
type File struct {
	r        datafile.Reader
	data     int64 // where the data starts
	entries  map[string]entry
	metadata map[string]string
	closer   io.Closer
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

// NewFile reads the header of the safetensors file of size bytes that r holds.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	var length [8]byte
	if size < int64(len(length)) {
		return nil, fmt.Errorf("%w: %d bytes, too short for a header length", fault.ErrFormat, size)
	}
	if n, err := r.ReadAt(length[:], 0); n < len(length) {
		if err == io.EOF {
			return nil, fmt.Errorf("%w: %d bytes, too short for a header length", fault.ErrFormat, n)
		}
		return nil, fmt.Errorf("safetensors: header length: %w", err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("%w: header of %d bytes in a file of %d", fault.ErrFormat, n, size)
	}
	// The claimed length is at most what r is said to hold, but r may hold less: ReadAll grows with
	// the bytes that it really gets.
	header, err := io.ReadAll(io.NewSectionReader(r, 8, int64(n)))
	if err != nil {
		return nil, fmt.Errorf("safetensors: header: %w", err)
	}
	if uint64(len(header)) != n {
		return nil, fmt.Errorf("%w: header of %d bytes, want %d", fault.ErrFormat, len(header), n)
	}
	f := &File{r: datafile.Reader{ReaderAt: r, Format: "safetensors", Malformed: fault.ErrFormat}, data: 8 + int64(n), entries: map[string]entry{}}
	if err := f.parseHeader(header, size-f.data); err != nil {
		return nil, err
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

// parseHeader fills f.entries and f.metadata. dataLen is the number of bytes after the header.
func (f *File) parseHeader(header []byte, dataLen int64) error {
	err := once(header, func(name string, value json.RawMessage) error {
		if name == "__metadata__" {
			if err := pyjson.Unmarshal(value, &f.metadata); err != nil {
				return fmt.Errorf("metadata: %w", err)
			}
			return nil
		}
		e, err := parseEntry(value, dataLen)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		f.entries[name] = e
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: header: %w", fault.ErrFormat, err)
	}
	return f.checkLayout(dataLen)
}

// once walks through an object in which no key may occur twice.
func once(object []byte, f func(key string, value json.RawMessage) error) error {
	seen := map[string]bool{}
	return pyjson.Members(object, func(key string, value json.RawMessage) error {
		if seen[key] {
			return fmt.Errorf("%q occurs twice", key)
		}
		seen[key] = true
		return f(key, value)
	})
}

// parseEntry reads what the header says of a tensor.
func parseEntry(text []byte, dataLen int64) (e entry, err error) {
	var shape, offsets numbers
	err = once(text, func(key string, value json.RawMessage) error {
		switch key {
		case "dtype":
			return pyjson.Unmarshal(value, &e.DType)
		case "shape":
			return pyjson.Unmarshal(value, &shape)
		case "data_offsets":
			return pyjson.Unmarshal(value, &offsets)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	if len(offsets) != 2 {
		return e, fmt.Errorf("data_offsets has %d numbers, want 2", len(offsets))
	}
	if shape == nil {
		return e, errors.New("no shape")
	}
	e.begin, e.end = offsets[0], offsets[1]
	if e.begin < 0 || e.begin > e.end || e.end > dataLen {
		return e, fmt.Errorf("data_offsets [%d,%d] in %d bytes of data", e.begin, e.end, dataLen)
	}
	return e, e.setShape(shape)
}

// numbers is a list of few: the numbers of a long one would take several times the memory of their
// text.
type numbers []int64

func (n *numbers) UnmarshalJSON(text []byte) error {
	const most = 64
	if bytes.Count(text, []byte(",")) >= most {
		return fmt.Errorf("a list of more than %d numbers", most)
	}
	return pyjson.Unmarshal(text, (*[]int64)(n))
}

// setShape checks that the shape is of non-negative sizes and that its bytes are those between the
// offsets.
func (e *entry) setShape(shape []int64) error {
	size := int64(e.DType.size())
	known := size != 0
	if !known {
		size = 1 // reading it will fail; its bytes are not checked
	}
	length := e.end - e.begin
	bytes := size
	empty := slices.Contains(shape, 0)
	e.Shape = make([]int, len(shape))
	for i, d := range shape {
		if d < 0 || d > math.MaxInt {
			return fmt.Errorf("size %d in shape %v", d, shape)
		}
		e.Shape[i] = int(d)
		if empty || !known {
			continue
		}
		if d > length/bytes { // bytes*d > length, in a form that cannot overflow
			return fmt.Errorf("shape %v of %s needs more than the %d bytes it has", shape, e.DType, length)
		}
		bytes *= d
	}
	if empty {
		bytes = 0
	}
	if known && bytes != length {
		return fmt.Errorf("shape %v of %s needs %d bytes, data_offsets say %d", shape, e.DType, bytes, length)
	}
	return nil
}

// checkLayout demands, as the format does, that tensors neither overlap nor leave bytes between or
// after them.
func (f *File) checkLayout(dataLen int64) error {
	all := make([]entry, 0, len(f.entries))
	for _, e := range f.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	var at int64
	for _, e := range all {
		if e.begin != at {
			return fmt.Errorf("%w: tensors leave a gap or overlap at byte %d of the data", fault.ErrFormat, min(at, e.begin))
		}
		at = e.end
	}
	if at != dataLen {
		return fmt.Errorf("%w: %d bytes of data, the header accounts for %d", fault.ErrFormat, dataLen, at)
	}
	return nil
}

// Names lists the tensors in alphabetical order.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.entries)) }

// Metadata returns the file's free-form text by key. The map belongs to f.
func (f *File) Metadata() map[string]string { return f.metadata }

// Info describes the named tensor, and reports whether there is one.
func (f *File) Info(name string) (Info, bool) {
	e, ok := f.entries[name]
	return Info{e.DType, slices.Clone(e.Shape)}, ok
}
