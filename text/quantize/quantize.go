// Package quantize makes vectors of fewer bits, for databases that store them. The results of
// [Ranges], [Binary] and [UBinary] are those of quantize_embeddings of sentence-transformers;
// [Scaled] and [Float16] need no ranges. doc/stores.md says which of them a database takes.
//
// An index of package search needs none of this: it quantizes vectors itself.
//
// This package is settling: see doc/stability.md.
package quantize

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/half"
)

// Ranges are the smallest and the largest number of each dimension, which become the smallest and
// the largest integer. Integers of different calls can be compared only if the ranges were the
// same: take those of many typical vectors.
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

// Uint8 is vectors as integers from 0, the smallest of a dimension, to 255, the largest, rounded
// down. What lies outside the ranges gets the nearest of the two. A range of a single number counts
// as one of 255. Since float32 rounds the quotient before it is cut off, a dimension's largest
// number may become 254: the bits are those of sentence-transformers.
func (r Ranges) Uint8(vectors [][]float32) ([][]uint8, error) {
	return codes(r, vectors, func(x uint8) uint8 { return x })
}

// Int8 is Uint8 less 128.
func (r Ranges) Int8(vectors [][]float32) ([][]int8, error) {
	return codes(r, vectors, func(x uint8) int8 { return int8(x ^ 0x80) })
}

// codes makes integers of where in the range of its dimension each number is, as a multiple of a
// 255th of it.
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

// checkVectors refuses vectors of other lengths than dim, and elements that are not finite.
func checkVectors(vectors [][]float32, dim int) error {
	for i, v := range vectors {
		if len(v) != dim {
			return fmt.Errorf("%w: vector %d has %d dimensions, want %d", fault.ErrInput, i, len(v), dim)
		}
		if err := checkNumbers(i, v); err != nil {
			return err
		}
	}
	return nil
}

// checkNumbers refuses elements of vector i that are not finite.
func checkNumbers(i int, v []float32) error {
	for j, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("%w: vector %d has %g in dimension %d", fault.ErrInput, i, x, j)
		}
	}
	return nil
}

// UBinary returns the signs of vectors, eight to a byte, the first in its highest bit: 1 for what
// is above 0. Bits after the last dimension are 0.
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

// ReverseBits returns packed with the bits of each byte in reverse order: with the first dimension
// in the lowest bit, as sqlite-vec's vec_quantize_binary and faiss have it, or back in the highest
// bit, as [UBinary] has it.
func ReverseBits(packed [][]uint8) [][]uint8 {
	out := make([][]uint8, len(packed))
	for i, row := range packed {
		out[i] = make([]uint8, len(row))
		for j, b := range row {
			out[i][j] = bits.Reverse8(b)
		}
	}
	return out
}

// Scaled returns vectors as integers from -127 to 127, and for each vector the scale by which a
// reader multiplies them: the largest magnitude divided by 127. Integers are rounded to nearest,
// ties to even. Cosines of the integers are those of the scaled vectors; inner products and
// distances need the scales. Vectors may have different lengths. Their numbers must be finite; a
// vector of zeros has the scale 0.
func Scaled(vectors [][]float32) (codes [][]int8, scales []float32, err error) {
	codes, scales = make([][]int8, len(vectors)), make([]float32, len(vectors))
	for i, v := range vectors {
		if err := checkNumbers(i, v); err != nil {
			return nil, nil, err
		}
		most := 0.0
		for _, x := range v {
			most = max(most, math.Abs(float64(x)))
		}
		codes[i], scales[i] = make([]int8, len(v)), float32(most/127)
		if most > 0 {
			for j, x := range v {
				codes[i][j] = int8(math.RoundToEven(float64(x) * 127 / most))
			}
		}
	}
	return codes, scales, nil
}

// Float16 returns vectors as the bits of IEEE 754's binary16, rounded to nearest, ties to even. The
// error wraps [fault.ErrInput] if a number is not finite, or [fault.ErrNotFinite] if it rounds to
// an infinity: magnitudes from 65520 on.
func Float16(vectors [][]float32) ([][]uint16, error) {
	out := make([][]uint16, len(vectors))
	for i, v := range vectors {
		if err := checkNumbers(i, v); err != nil {
			return nil, err
		}
		out[i] = make([]uint16, len(v))
		for j, x := range v {
			out[i][j] = half.ToFloat16(x)
			if math.IsInf(float64(half.Float16(out[i][j])), 0) {
				return nil, fmt.Errorf("%w: vector %d has %g in dimension %d, float16 ends at 65504", fault.ErrNotFinite, i, x, j)
			}
		}
	}
	return out, nil
}
