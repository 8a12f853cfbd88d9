// Vectors in fewer bits.

package bulk

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Vectors is how vectors are written.
type Vectors string

// The ways. Each stored vector depends only on its own vector.
const (
	// Float32Vectors: as they are.
	Float32Vectors Vectors = "float32"
	// Int8Vectors: elements times 127 over the largest magnitude, rounded to the nearest integer, ties to even; a column
	// "scale" holds the factor by which a reader multiplies them.
	Int8Vectors Vectors = "int8"
	// BinaryVectors: a bit for each element, 1 above 0, the first in the highest bit of the first byte, as in
	// numpy.packbits; a column "scale" holds the mean magnitude, by which a reader multiplies -1 and 1.
	BinaryVectors Vectors = "binary"
)

// check returns an error if v is not one of the ways.
func (v Vectors) check() error {
	switch v {
	case Float32Vectors, Int8Vectors, BinaryVectors:
		return nil
	}
	return check.Errorf(fault.ErrOption, "Vectors %q, want float32, int8 or binary", v)
}

// columns are those of vectors of dim elements.
func (v Vectors) columns(dim int) []Column {
	scale := Column{Name: "scale", Kind: Float32}
	switch v {
	case Int8Vectors:
		return []Column{{"embedding", Int8s, dim}, scale}
	case BinaryVectors:
		return []Column{{"embedding", Bytes, (dim + 7) / 8}, scale}
	}
	return []Column{{"embedding", Floats, dim}}
}

// values are those of a vector's columns.
func (v Vectors) values(x []float32) []any {
	switch v {
	case Int8Vectors:
		q, scale := quantize(x)
		return []any{q, scale}
	case BinaryVectors:
		bits, scale := signs(x)
		return []any{bits, scale}
	}
	return []any{x}
}

// quantize returns a vector in 8 bits.
func quantize(x []float32) ([]int8, float32) {
	most := float32(0)
	for _, v := range x {
		most = max(most, float32(math.Abs(float64(v))))
	}
	out := make([]int8, len(x))
	if most == 0 || math.IsNaN(float64(most)) {
		return out, 0
	}
	for i, v := range x {
		out[i] = int8(math.RoundToEven(float64(v) * 127 / float64(most)))
	}
	return out, float32(float64(most) / 127)
}

// signs returns a vector in a bit an element.
func signs(x []float32) ([]byte, float32) {
	out := make([]byte, (len(x)+7)/8)
	sum := 0.0
	for i, v := range x {
		sum += math.Abs(float64(v))
		if v > 0 {
			out[i/8] |= 0x80 >> (i % 8)
		}
	}
	return out, float32(sum / float64(max(len(x), 1)))
}
