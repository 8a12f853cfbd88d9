package order

import "math"

// Norms of rows whose variance, or mean square, with eps is not usual: it is so small that squares
// may have been lost, or it is too large for a float32, or the row has a NaN or an infinity. Such
// rows are summed again, with numbers that are multiplied by a power of two.

// The least usual variance, and the powers of two. With farDown, no sum of 2^16 squares is
// infinite.
const (
	usualLeast = 0x1p-100
	farUp      = 0x1p100
	farDown    = 0x1p-76
)

// MostSquares is the largest sum of squares of differences from a mean, both times farDown, with
// which the differences themselves are certainly finite.
const MostSquares = 0x1p102

// IsFar reports whether a variance is not usual.
func IsFar(variance float32) bool { return !(variance > usualLeast) || variance > math.MaxFloat32 }

// FarFactors returns powers of two for a row with such a variance: its elements are multiplied by
// down, and their differences from a mean, which may be far smaller, by more.
func FarFactors(variance float32) (down, more float32) {
	if variance < 1 {
		return 1, farUp
	}
	return farDown, 1
}

// InverseRoot returns 1/sqrt(variance), with two roundings, a finite number for 0.
func InverseRoot(variance float32) float32 {
	return 1 / float32(math.Sqrt(float64(max(variance, 0x1p-126))))
}
