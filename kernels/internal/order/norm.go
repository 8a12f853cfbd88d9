package order

import "math"

// This file has norms of rows with an unusual variance, or mean square, plus eps: it is so small
// that squares may have been lost, it is too large for a float32, or the row has a NaN or an
// infinity. Such rows are summed again, after a multiplication by a power of two.

// usualLeast is the smallest usual variance; the other constants are the powers of two. With
// farDown, no sum of 2^16 squares is infinite.
const (
	usualLeast = 0x1p-100
	farUp      = 0x1p100
	farDown    = 0x1p-76
)

// MostSquares bounds the sum of squares of differences from a mean, both multiplied by farDown: if
// the sum is at most MostSquares, the differences themselves are finite.
const MostSquares = 0x1p102

// IsFar reports whether a variance is unusual.
func IsFar(variance float32) bool { return !(variance > usualLeast) || variance > math.MaxFloat32 }

// FarFactors returns powers of two for a row with such a variance. The row's elements are
// multiplied by down, and their differences from a mean, which may be far smaller, are multiplied
// by more.
func FarFactors(variance float32) (down, more float32) {
	if variance < 1 {
		return 1, farUp
	}
	return farDown, 1
}

// InverseRoot returns 1/sqrt(variance), with two roundings. For 0 it returns a finite number.
func InverseRoot(variance float32) float32 {
	return 1 / float32(math.Sqrt(float64(max(variance, 0x1p-126))))
}
