// Package mem has operations on slices that all packages below kernels need: buffers that grow,
// conversions of slices to another element type (mem.go), and the checks of arguments (check.go).
package mem

import (
	"math"
	"unsafe"
)

// Element is the number of bytes of a float32.
const Element = 4

// NegInf is the number below all other numbers.
var NegInf = float32(math.Inf(-1))

// Grow returns a slice of n elements: buf itself if it is large enough. A new slice has at least
// the size of a page, so that it begins on a page, which aligns its vectors.
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

// Int8s returns the same memory as int8.
func Int8s(b []byte) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(b))), len(b))
}

// Bytes returns the same memory as bytes.
func Bytes(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), Element*len(x))
}

// Floats returns the same memory as float32. It must be aligned for float32.
func Floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Halves returns the same memory as numbers of 16 bits. It must be aligned for them.
func Halves(b []byte) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2)
}

// HasWords reports whether x is aligned for words of 64 bits.
func HasWords[T byte | uint16](x []T) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(x)))%8 == 0
}

// Words returns the same memory as words, without a partial word at the end. It must be aligned for
// words.
func Words[T byte | uint16](x []T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T)))/8)
}
