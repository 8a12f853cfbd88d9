//go:build (amd64 || arm64) && !purego

// Package broken holds assembly functions that are wrong on purpose, each in one way, for the
// self-test of package checkasm. All are meant to be
//
//	copy(dst, x)
//
// for slices of equal length. Where a vector has 4 elements, the length is a multiple of 4.
package broken

// Right copies correctly.
//
//go:noescape
func Right(dst, x []float32)

// OverRead reads the 4 elements after x.
//
//go:noescape
func OverRead(dst, x []float32)

// UnderRead reads the element before x.
//
//go:noescape
func UnderRead(dst, x []float32)

// OverWrite writes the element after dst.
//
//go:noescape
func OverWrite(dst, x []float32)

// UnderWrite writes the element before dst.
//
//go:noescape
func UnderWrite(dst, x []float32)

// WritesInput changes x.
//
//go:noescape
func WritesInput(dst, x []float32)

// MissedTail leaves out the elements after the last full vector.
//
//go:noescape
func MissedTail(dst, x []float32)

// LongTail copies the last elements as one full vector.
//
//go:noescape
func LongTail(dst, x []float32)

// Stale is right only if a vector register it does not set happens to be zero.
//
//go:noescape
func Stale(dst, x []float32)

// FramePointer changes BP or R29.
//
//go:noescape
func FramePointer(dst, x []float32)

// StackPointer returns with SP 16 bytes off.
//
//go:noescape
func StackPointer(dst, x []float32)

// CallerStack writes above its arguments.
//
//go:noescape
func CallerStack(dst, x []float32)

// Rounding changes the rounding mode in MXCSR or FPCR.
//
//go:noescape
func Rounding(dst, x []float32)
