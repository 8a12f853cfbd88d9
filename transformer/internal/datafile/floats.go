package datafile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/avoformer/avoformer/internal/half"
)

// This file makes the floating-point elements of tensors Go's numbers.

// An Element is a type of floating-point numbers; its zero value is not one of them.
type Element int

// The types that can be read.
const (
	F32    Element = iota + 1
	F16            // exact
	BF16           // exact
	F64            // rounded
	I8             // integers, exact
	I32            // integers, rounded
	I64            // integers, rounded
	F8E4M3         // exact, as those of F8E5M2
	F8E5M2
)

// eights are the values of all numbers of 8 bits.
var eights = func() (all [2][256]float32) {
	for i := range 256 {
		all[0][i], all[1][i] = half.Float8E4M3(uint8(i)), half.Float8E5M2(uint8(i))
	}
	return all
}()

// Size returns the number of bytes of one element.
func (e Element) Size() int {
	switch e {
	case F16, BF16:
		return 2
	case F64, I64:
		return 8
	case I8, F8E4M3, F8E5M2:
		return 1
	}
	return 4
}

// chunk is the number of bytes that are read at a time.
const chunk = 1 << 17

// buffers are of chunk bytes each.
var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// littleEndian says that numbers in memory are as in the file.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Floats sets dst to the elements, little-endian, from byte at on, which are of the named tensor.
func (r Reader) Floats(dst []float32, e Element, at int64, name string) error {
	if e == F32 && len(dst) > 0 && littleEndian {
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), 4*len(dst))
		return r.Fill(raw, at, name)
	}
	buffer := buffers.Get().(*[chunk]byte)
	defer buffers.Put(buffer)
	for len(dst) > 0 {
		n := min(len(dst), chunk/e.Size())
		raw := buffer[:n*e.Size()]
		if err := r.Fill(raw, at, name); err != nil {
			return err
		}
		e.widen(dst[:n], raw)
		dst, at = dst[n:], at+int64(len(raw))
	}
	return nil
}

// AllFloats is n elements that read delivers piece by piece. It takes memory for as many as are
// really there: a file may hold less than its size says.
func AllFloats(n int, read func(dst []float32, from int) error) ([]float32, error) {
	x := make([]float32, 0, min(n, chunk))
	for len(x) < n {
		from := len(x)
		x = slices.Grow(x, min(n-from, max(from, chunk)))
		x = x[:min(cap(x), n)]
		if err := read(x[from:], from); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Within returns an error unless elements [from, from+count) are among n.
func (r Reader) Within(from, count, n int, name string) error {
	if from < 0 || from > n-count {
		return fmt.Errorf("%s: %q: elements %d to %d of %d", r.Format, name, from, from+count, n)
	}
	return nil
}

// widen sets x to the elements in raw.
func (e Element) widen(x []float32, raw []byte) {
	le := binary.LittleEndian
	switch e {
	case BF16:
		for ; len(x) >= 4 && len(raw) >= 8; x, raw = x[4:], raw[8:] {
			const high = 0xffff << 16
			v := le.Uint64(raw) // of four numbers
			x[0], x[1] = math.Float32frombits(uint32(v)<<16), math.Float32frombits(uint32(v)&high)
			x[2], x[3] = math.Float32frombits(uint32(v>>32)<<16), math.Float32frombits(uint32(v>>32)&high)
		}
		for i := range x {
			x[i] = half.BFloat16(le.Uint16(raw[2*i:]))
		}
	case F8E4M3, F8E5M2:
		values := &eights[e-F8E4M3]
		for i := range x {
			x[i] = values[raw[i]]
		}
	case I8:
		for i := range x {
			x[i] = float32(int8(raw[i]))
		}
	case I32:
		for i := range x {
			x[i] = float32(int32(le.Uint32(raw[4*i:])))
		}
	case I64:
		for i := range x {
			x[i] = float32(int64(le.Uint64(raw[8*i:])))
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
