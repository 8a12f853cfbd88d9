package kernels

import (
	"fmt"
	"math"
	"strings"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// Formats of packed weights, and of rows of keys and values.

// A Format is the type of the elements of a packed matrix, or of keys and values in [Pages].
type Format uint8

// The formats.
const (
	FormatF32   = Format(weights.F32)   // float32, as given
	FormatBF16  = Format(weights.BF16)  // bfloat16, rounded to nearest: half the memory
	FormatF16   = Format(weights.F16)   // IEEE 754 binary16, rounded to nearest; beyond 65504 it is infinite
	FormatInt8  = Format(weights.Int8)  // integers of at most 127 with a scale for each column, balanced and rotated; products convert rows of A in the same way
	FormatQ8_0  = Format(weights.Q8_0)  // integers of at most 127 with a scale of 16 bits for each 32 of a column
	FormatQ4_0  = Format(weights.Q4_0)  // integers from -8 to 7 with a scale of 16 bits for each 32 of a column
	FormatQ4_K  = Format(weights.Q4_K)  // integers from 0 to 15, each 32 with a scale and a minimum of 6 bits, each 256 with two of 16
	FormatQ6_K  = Format(weights.Q6_K)  // integers from -32 to 31, each 16 with a scale of 8 bits, each 256 with one of 16
	FormatQ4_1  = Format(weights.Q4_1)  // integers from 0 to 15 with a scale and a minimum of 16 bits for each 32 of a column
	FormatQ5_0  = Format(weights.Q5_0)  // integers from -16 to 15 with a scale of 16 bits for each 32 of a column
	FormatQ5_1  = Format(weights.Q5_1)  // integers from 0 to 31 with a scale and a minimum of 16 bits for each 32 of a column
	FormatQ5_K  = Format(weights.Q5_K)  // integers from 0 to 31, each 32 with a scale and a minimum of 6 bits, each 256 with two of 16
	FormatMXFP4 = Format(weights.MXFP4) // numbers of 4 bits, ±0, 0.5, 1, 1.5, 2, 3, 4 and 6, with a power of 2 for each 32 of a column
	// FormatBF16Fast is bfloat16, multiplied by the tiles of AMX or else by AVX512_BF16 where the
	// machine has them: rows of A become bfloat16 too, and sums are rounded as the instructions
	// TDPBF16PS and VDPBF16PS round them. Unlike with all other formats, results depend on the
	// machine: they differ between these two, and without both they are those of FormatBF16.
	FormatBF16Fast = Format(weights.BF16Fast)
	// FormatIQ4_NL has 16 numbers from -127 to 113, which are closer to each other around 0, with a
	// scale of 16 bits for each 32 of a column.
	FormatIQ4_NL = Format(weights.IQ4_NL)
	FormatIQ4_XS = Format(weights.IQ4_XS) // the numbers of FormatIQ4_NL, each 32 with a scale of 6 bits, each 256 with one of 16
	FormatQ3_K   = Format(weights.Q3_K)   // integers from -4 to 3, each 16 with a scale of 6 bits, each 256 with one of 16
)

// String returns the format's name in lower case.
func (f Format) String() string { return weights.Format(f).String() }

// ParseFormat returns the format with that name in upper or lower case: String returns "q8_0", GGUF
// writes Q8_0.
func ParseFormat(name string) (Format, error) {
	f, ok := weights.ByName(strings.ToLower(name))
	if !ok {
		return FormatF32, fmt.Errorf("kernels: unknown format %q, want one of %s", name, strings.Join(weights.Names[:], ", "))
	}
	return Format(f), nil
}

// Block returns the number of elements of a block of the format in a file, and its number of bytes.
// The block is that of the GGUF type with the same name, or a single number. Both are 0 for
// FormatInt8 and FormatBF16Fast, which no file uses.
func (f Format) Block() (elements, bytes int) { return weights.Format(f).Block() }

// Quantize converts x to the format as files store it: blocks or numbers, little-endian. Packing
// dst with [PackBBlocks] gives the same matrix as packing x with [PackBRows]. len(x) must be a
// multiple of the number of elements of a block, and len(dst) the number of bytes of these blocks;
// see [Format.Block].
func (f Format) Quantize(dst []byte, x []float32) { f.quantize("Format.Quantize", dst, x, nil) }

// QuantizeBy is Quantize with scales that make the sum of importance times the square of the error
// small. x and importance have the same length; the importance of elements is a finite number of at
// least 0, and only its ratio to that of other elements of a block counts. [FormatQ8_0],
// [FormatMXFP4] and formats without blocks do not use it. Matrices that are packed with importance
// first become blocks of a file this way.
func (f Format) QuantizeBy(dst []byte, x, importance []float32) {
	const fn = "Format.QuantizeBy"
	mem.CheckLen(fn, "importance", len(importance), len(x), "len(x)")
	for i, v := range importance {
		if !(v >= 0 && v <= math.MaxFloat32) {
			panic(fmt.Sprintf("kernels.%s: importance[%d] = %v, want a finite number of at least 0", fn, i, v))
		}
	}
	f.quantize(fn, dst, x, importance)
}

func (f Format) quantize(fn string, dst []byte, x, importance []float32) {
	elements, bytes := f.Block()
	if elements == 0 {
		mem.PanicSize(fn, "f", int(f), "want a Format that files have")
	}
	if len(x)%elements != 0 {
		mem.PanicSize(fn, "len(x)", len(x), fmt.Sprintf("want a multiple of %d", elements))
	}
	mem.CheckLen(fn, "dst", len(dst), len(x)/elements*bytes, "the bytes of all blocks")
	weights.Format(f).Encode(dst, x, importance)
}
