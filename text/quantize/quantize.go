// Package quantize makes vectors of fewer bits, for databases that store them. Its results are those of
// quantize_embeddings of sentence-transformers.
//
// An index of package search needs none of this: it quantizes vectors itself.
package quantize

import (
	"fmt"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// Ranges are the smallest and the largest number of each dimension, which become the smallest and the largest integer.
// Integers of different calls can be compared only if the ranges were the same: take those of many typical vectors.
type Ranges struct{ Min, Max []float32 }

// RangesOf returns the ranges of vectors. They must have the same length and finite numbers.
func RangesOf(vectors [][]float32) (Ranges, error) {
	if len(vectors) == 0 {
		return Ranges{}, fmt.Errorf("%w: no vectors", fault.ErrInput)
	}
	if err := checkVectors(vectors, len(vectors[0])); err != nil {
		return Ranges{}, err
	}
	r := Ranges{slices.Clone(vectors[0]), slices.Clone(vectors[0])}
	for _, v := range vectors[1:] {
		for i, x := range v {
			r.Min[i], r.Max[i] = min(r.Min[i], x), max(r.Max[i], x)
		}
	}
	return r, nil
}

// Uint8 is vectors as integers from 0, the smallest of a dimension, to 255, the largest, rounded down. What lies outside the ranges
// gets the nearest of the two. A range of a single number counts as one of 255. Since float32 rounds the quotient before it is cut off, a
// dimension's largest number may become 254: the bits are those of sentence-transformers.
func (r Ranges) Uint8(vectors [][]float32) ([][]uint8, error) {
	return codes(r, vectors, func(x uint8) uint8 { return x })
}

// Int8 is Uint8 less 128.
func (r Ranges) Int8(vectors [][]float32) ([][]int8, error) {
	return codes(r, vectors, func(x uint8) int8 { return int8(x ^ 0x80) })
}

// codes makes integers of where in the range of its dimension each number is, as a multiple of a 255th of it.
func codes[T any](r Ranges, vectors [][]float32, code func(x uint8) T) ([][]T, error) {
	if len(r.Min) != len(r.Max) {
		return nil, fmt.Errorf("%w: ranges of %d and %d dimensions", fault.ErrInput, len(r.Min), len(r.Max))
	}
	for i := range r.Min {
		if !(r.Min[i] <= r.Max[i]) || math.IsInf(float64(r.Max[i]-r.Min[i]), 0) {
			return nil, fmt.Errorf("%w: dimension %d has the range %g to %g", fault.ErrInput, i, r.Min[i], r.Max[i])
		}
	}
	if err := checkVectors(vectors, len(r.Min)); err != nil {
		return nil, err
	}
	out := make([][]T, len(vectors))
	for i, v := range vectors {
		out[i] = make([]T, len(v))
		for j, x := range v {
			step := (r.Max[j] - r.Min[j]) / 255
			if step == 0 {
				step = 1
			}
			place := math.Floor(float64(float32(x-r.Min[j]) / step))
			out[i][j] = code(uint8(min(max(place, 0), 255)))
		}
	}
	return out, nil
}

// checkVectors refuses vectors of other lengths than dim, and elements that are not
// finite.
func checkVectors(vectors [][]float32, dim int) error {
	for i, v := range vectors {
		if len(v) != dim {
			return fmt.Errorf("%w: vector %d has %d dimensions, want %d", fault.ErrInput, i, len(v), dim)
		}
		for j, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return fmt.Errorf("%w: vector %d has %g in dimension %d", fault.ErrInput, i, x, j)
			}
		}
	}
	return nil
}

// UBinary returns the signs of vectors, eight to a byte, the first in its highest bit: 1 for what is above 0. Bits
// after the last dimension are 0.
func UBinary(vectors [][]float32) [][]uint8 {
	out := make([][]uint8, len(vectors))
	for i, v := range vectors {
		out[i] = make([]uint8, (len(v)+7)/8)
		for j, x := range v {
			if x > 0 {
				out[i][j/8] |= 0x80 >> (j % 8)
			}
		}
	}
	return out
}

// Binary is UBinary with 128 less in each byte, which some databases want.
func Binary(vectors [][]float32) [][]int8 {
	out := make([][]int8, len(vectors))
	for i, bits := range UBinary(vectors) {
		out[i] = make([]int8, len(bits))
		for j, b := range bits {
			out[i][j] = int8(b ^ 0x80)
		}
	}
	return out
}
