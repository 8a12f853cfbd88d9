package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/transformer/internal/datafile"
)

// This file reads tensors, and makes their elements Go's numbers.

// Bytes reads the raw little-endian data of the named tensor.
func (f *File) Bytes(name string) ([]byte, error) {
	e, ok := f.entries[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", fault.ErrAbsent, name)
	}
	return f.r.Between(f.data+e.begin, f.data+e.end, name)
}

// ReadData sets dst to the raw little-endian data of the named tensor from element from on.
func (f *File) ReadData(dst []byte, name string, from int) error {
	e, ok := f.entries[name]
	if !ok {
		return fmt.Errorf("%w: %q", fault.ErrAbsent, name)
	}
	size := e.DType.size()
	if size == 0 {
		return fmt.Errorf("%w: %q is %s, of elements of unknown size", fault.ErrType, name, e.DType)
	}
	if err := f.r.Within(from, (len(dst)+size-1)/size, e.Len(), name); err != nil {
		return err
	}
	return f.r.Fill(dst, f.data+e.begin+int64(from)*int64(size), name)
}

// Float32 reads a tensor of F32, F16, BF16, F8_E4M3, F8_E5M2, I8 (all exact), F64, I32 or I64
// (rounded) elements, in row-major order.
func (f *File) Float32(name string) ([]float32, error) {
	e, ok := f.entries[name]
	if !ok {
		return nil, fmt.Errorf("%w: %q", fault.ErrAbsent, name)
	}
	if elements[e.DType] == 0 || e.end-e.begin > math.MaxInt {
		return nil, fmt.Errorf("%w: %q is %s, want floating point", fault.ErrType, name, e.DType)
	}
	return datafile.AllFloats(e.Len(), func(dst []float32, from int) error { return f.ReadFloat32(dst, name, from) })
}

// elements are the types that are read as floating-point numbers.
var elements = map[DType]datafile.Element{F32: datafile.F32, F16: datafile.F16, BF16: datafile.BF16, F8E4M3: datafile.F8E4M3, F8E5M2: datafile.F8E5M2, F64: datafile.F64, I8: datafile.I8, I32: datafile.I32, I64: datafile.I64}

// ReadFloat32 sets dst to elements [from, from+len(dst)) of the named tensor, as Float32 has them.
func (f *File) ReadFloat32(dst []float32, name string, from int) error {
	e, ok := f.entries[name]
	if !ok {
		return fmt.Errorf("%w: %q", fault.ErrAbsent, name)
	}
	element := elements[e.DType]
	if element == 0 {
		return fmt.Errorf("%w: %q is %s, want floating point", fault.ErrType, name, e.DType)
	}
	if err := f.r.Within(from, len(dst), e.Len(), name); err != nil {
		return err
	}
	return f.r.Floats(dst, element, f.data+e.begin+int64(from)*int64(element.Size()), name)
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
		return nil, fmt.Errorf("%w: %q is %s, want integers", fault.ErrType, name, d)
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
				return nil, fmt.Errorf("%w: %q holds %d, too large for int64", fault.ErrType, name, v)
			}
			x[i] = int64(v)
		default:
			return nil, fmt.Errorf("%w: %q is %s, want integers", fault.ErrType, name, d)
		}
	}
	return x, nil
}
