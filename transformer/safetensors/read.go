package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/avoformer/avoformer/internal/half"
)

// This file reads tensors, and makes their elements Go's numbers.

// Bytes reads the raw little-endian data of the named tensor.
func (f *File) Bytes(name string) ([]byte, error) {
	e, ok := f.entries[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrAbsent, name)
	}
	return f.r.Between(f.data+e.begin, f.data+e.end, name)
}

// Float32 reads a tensor of F32, F16, BF16 (both exact) or F64 (rounded)
// elements, in row-major order.
func (f *File) Float32(name string) ([]float32, error) {
	e, ok := f.entries[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrAbsent, name)
	}
	if e.DType.size() == 0 || e.end-e.begin > math.MaxInt {
		return nil, fmt.Errorf("%w: %q is %s, want floating point", ErrDType, name, e.DType)
	}
	// As much as is really there: the reader may hold less than its size says.
	x := make([]float32, 0, min(e.Len(), chunk))
	for len(x) < e.Len() {
		from := len(x)
		x = slices.Grow(x, min(e.Len()-from, max(from, chunk)))
		x = x[:min(cap(x), e.Len())]
		if err := f.ReadFloat32(x[from:], name, from); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// chunk is the number of bytes that are read at a time.
const chunk = 1 << 17

// buffers are of chunk bytes each.
var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// ReadFloat32 sets dst to elements [from, from+len(dst)) of the named tensor, as
// Float32 has them.
func (f *File) ReadFloat32(dst []float32, name string, from int) error {
	e, ok := f.entries[name]
	if !ok {
		return fmt.Errorf("%w: %q", ErrAbsent, name)
	}
	switch e.DType {
	case F32, F16, BF16, F64:
	default:
		return fmt.Errorf("%w: %q is %s, want floating point", ErrDType, name, e.DType)
	}
	if from < 0 || from > e.Len()-len(dst) {
		return fmt.Errorf("safetensors: %q: elements %d to %d of %d", name, from, from+len(dst), e.Len())
	}
	size := e.DType.size()
	if e.DType == F32 && len(dst) > 0 && littleEndian {
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), 4*len(dst))
		return f.r.Fill(raw, f.data+e.begin+int64(from)*4, name)
	}
	buffer := buffers.Get().(*[chunk]byte)
	defer buffers.Put(buffer)
	at := f.data + e.begin + int64(from)*int64(size)
	for len(dst) > 0 {
		n := min(len(dst), chunk/size)
		raw := buffer[:n*size]
		if err := f.r.Fill(raw, at, name); err != nil {
			return err
		}
		widen(dst[:n], raw, e.DType)
		dst, at = dst[n:], at+int64(len(raw))
	}
	return nil
}

// littleEndian is whether numbers in memory are as in the file.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// widen sets x to the elements in raw.
func widen(x []float32, raw []byte, d DType) {
	le := binary.LittleEndian
	switch d {
	case BF16:
		raw = raw[:2*len(x)]
		for i := range x {
			x[i] = half.BFloat16(le.Uint16(raw[2*i : 2*i+2]))
		}
	case F32:
		for i := range x {
			x[i] = math.Float32frombits(le.Uint32(raw[4*i:]))
		}
	case F16:
		for i := range x {
			x[i] = half.Float16(le.Uint16(raw[2*i:]))
		}
	case F64:
		for i := range x {
			x[i] = float32(math.Float64frombits(le.Uint64(raw[8*i:])))
		}
	}
}

// Int64 reads a tensor of integers or booleans (as 0 and 1).
func (f *File) Int64(name string) ([]int64, error) {
	raw, err := f.Bytes(name)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	d := f.entries[name].DType
	if d.size() == 0 {
		return nil, fmt.Errorf("%w: %q is %s, want integers", ErrDType, name, d)
	}
	x := make([]int64, len(raw)/d.size())
	for i := range x {
		switch d {
		case Bool, U8:
			x[i] = int64(raw[i])
		case I8:
			x[i] = int64(int8(raw[i]))
		case I16:
			x[i] = int64(int16(le.Uint16(raw[2*i:])))
		case U16:
			x[i] = int64(le.Uint16(raw[2*i:]))
		case I32:
			x[i] = int64(int32(le.Uint32(raw[4*i:])))
		case U32:
			x[i] = int64(le.Uint32(raw[4*i:]))
		case I64, U64:
			v := le.Uint64(raw[8*i:])
			if d == U64 && v > math.MaxInt64 {
				return nil, fmt.Errorf("%w: %q holds %d, too large for int64", ErrDType, name, v)
			}
			x[i] = int64(v)
		default:
			return nil, fmt.Errorf("%w: %q is %s, want integers", ErrDType, name, d)
		}
	}
	return x, nil
}
