// Package mem is what all rooms of package kernels need for slices: buffers that grow, one element
// type seen as another (mem.go), and the checks of arguments (check.go).
package mem

import (
	"math"
	"unsafe"
)

// Element is the bytes of a float32.
const Element = 4

// NegInf is the number below all other numbers.
var NegInf = float32(math.Inf(-1))

// Grow returns a slice of n elements, buf itself if it is large enough. Slices of
// this size begin on a page, so vectors in them are aligned.
func Grow[T float32 | int8 | int16 | int32](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n, max(n, 1<<13))
	}
	return buf[:n]
}

// Fill sets all elements of x to v.
func Fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// Int8s returns the same memory.
func Int8s(b []byte) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(b))), len(b))
}

// Bytes returns the same memory.
func Bytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), Element*len(x))
}

// Floats returns the same memory, which must be aligned for float32.
func Floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Halves returns the same memory, which must be aligned for 16 bits.
func Halves(b []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
}

// HasWords reports whether x begins where a word may.
func HasWords[T byte | uint16](x []T) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(x)))%8 == 0
}

// Words returns the same memory, which must be aligned for words, without what makes no whole one.
func Words[T byte | uint16](x []T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T)))/8)
}
