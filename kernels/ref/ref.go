// Package ref is the oracle of package kernels: every operation once more, in float64, written from
// its definition and meant to be read. It is slow, never dispatched, and shares no code or
// constants with the kernels.
//
// Matrices are row-major. Functions over rows take contiguous rows x cols matrices and allow dst to
// be x. Lengths are not checked beyond Go's own bounds checks.
//
// It is there for tests of programs that compute with these kernels, and changes as little as
// package kernels does.
//
// This package is stable: see doc/stability.md.
package ref

// Widen converts to float64, which is exact.
func Widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// Narrow rounds to float32.
func Narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// Map sets dst[i] = f(x[i]).
func Map(dst, x []float64, f func(float64) float64) {
	for i, v := range x {
		dst[i] = f(v)
	}
}
