// This file converts vectors to fewer bits.

package bulk

import (
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/text/quantize"
)

// Vectors is the format in which vectors are written.
type Vectors string

// The formats. Each stored vector depends only on its own vector.
const (
	// Float32Vectors writes vectors unchanged.
	Float32Vectors Vectors = "float32"
	// Float16Vectors rounds elements to IEEE 754's binary16, to nearest, ties to even. A row with
	// an element of magnitude 65520 or more is a dead letter.
	Float16Vectors Vectors = "float16"
	// Int8Vectors multiplies elements by 127 over the largest magnitude, and rounds them to the
	// nearest integer, ties to even. A column "scale" has the factor by which a reader multiplies
	// them.
	Int8Vectors Vectors = "int8"
	// BinaryVectors writes one bit for each element, 1 if it is above 0. The first element is the
	// highest bit of the first byte, as in numpy.packbits. A column "scale" has the mean magnitude,
	// by which a reader multiplies -1 and 1.
	BinaryVectors Vectors = "binary"
)

// check returns an error if v is not one of the formats.
func (v Vectors) check() error {
	switch v {
	case Float32Vectors, Float16Vectors, Int8Vectors, BinaryVectors:
		return nil
	}
	return check.Errorf(fault.ErrOption, "Vectors %q, want float32, float16, int8 or binary", v)
}

// columns returns the columns for vectors of dim elements.
func (v Vectors) columns(dim int) []Column {
	scale := Column{Name: "scale", Kind: Float32}
	switch v {
	case Float16Vectors:
		return []Column{{Name: "embedding", Kind: Float16s, Length: dim}}
	case Int8Vectors:
		return []Column{{Name: "embedding", Kind: Int8s, Length: dim}, scale}
	case BinaryVectors:
		return []Column{{Name: "embedding", Kind: Bytes, Length: (dim + 7) / 8}, scale}
	}
	return []Column{{Name: "embedding", Kind: Floats, Length: dim}}
}

// values returns the values of the columns for a vector.
func (v Vectors) values(x []float32) ([]any, error) {
	rows := [][]float32{x}
	switch v {
	case Float16Vectors:
		halves, err := quantize.Float16(rows)
		if err != nil { // err would contain the index 0 of the vector
			return nil, check.Errorf(fault.ErrNotFinite, "an element of the vector is beyond 65504, the largest float16")
		}
		return []any{halves[0]}, nil
	case Int8Vectors:
		codes, scales, err := quantize.Scaled(rows)
		if err != nil {
			return nil, err
		}
		return []any{codes[0], scales[0]}, nil
	case BinaryVectors:
		return []any{quantize.UBinary(rows)[0], meanMagnitude(x)}, nil
	}
	return []any{x}, nil
}

// meanMagnitude returns the mean of the magnitudes of x's elements.
func meanMagnitude(x []float32) float32 {
	sum := 0.0
	for _, v := range x {
		sum += math.Abs(float64(v))
	}
	return float32(sum / float64(max(len(x), 1)))
}
