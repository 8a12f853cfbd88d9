package gguf

import "fmt"

// A Type is the format of a tensor's elements, by the number that files have for it. Quantized
// formats hold blocks of elements of one row, which share scales.
type Type uint32

// The formats that Dequantize knows.
const (
	F32  Type = 0
	F16  Type = 1
	Q4_0 Type = 2  // 32 elements: a scale, 4 bits each
	Q4_1 Type = 3  // 32 elements: a scale and a minimum, 4 bits each
	Q5_0 Type = 6  // 32 elements: a scale, 5 bits each
	Q5_1 Type = 7  // 32 elements: a scale and a minimum, 5 bits each
	Q8_0 Type = 8  // 32 elements: a scale, 8 bits each
	Q2_K Type = 10 // 256 elements in 16 groups, each with a scale and a minimum, 2 bits each
	Q3_K Type = 11 // 256 elements in 16 groups, each with a scale, 3 bits each
	Q4_K Type = 12 // 256 elements in 8 groups, each with a scale and a minimum, 4 bits each
	Q5_K Type = 13 // 256 elements in 8 groups, each with a scale and a minimum, 5 bits each
	Q6_K Type = 14 // 256 elements in 16 groups, each with a scale, 6 bits each
	// 32 elements: a scale, and 4 bits each for one of 16 numbers.
	IQ4_NL Type = 20
	// 256 elements in 8 groups, each with a scale, and the numbers of IQ4_NL.
	IQ4_XS Type = 23
	F64    Type = 28
	BF16   Type = 30
	// 32 elements: a power of 2, and 4 bits each for a float.
	MXFP4 Type = 39
)

// layout describes a format: its name, the number of elements of a block, and their bytes.
type layout struct {
	name         string
	block, bytes int
}

// layouts are all formats of ggml, so that the place of each tensor can be checked. Source:
// GGML_QUANT_SIZES of the gguf package and ggml-common.h.
var layouts = map[Type]layout{
	F32: {"F32", 1, 4}, F16: {"F16", 1, 2}, BF16: {"BF16", 1, 2}, F64: {"F64", 1, 8},
	24: {"I8", 1, 1}, 25: {"I16", 1, 2}, 26: {"I32", 1, 4}, 27: {"I64", 1, 8},
	Q4_0: {"Q4_0", 32, 18}, Q4_1: {"Q4_1", 32, 20},
	Q5_0: {"Q5_0", 32, 22}, Q5_1: {"Q5_1", 32, 24},
	Q8_0: {"Q8_0", 32, 34}, 9: {"Q8_1", 32, 40},
	Q2_K: {"Q2_K", 256, 84}, Q3_K: {"Q3_K", 256, 110},
	Q4_K: {"Q4_K", 256, 144}, Q5_K: {"Q5_K", 256, 176}, Q6_K: {"Q6_K", 256, 210}, 15: {"Q8_K", 256, 292},
	16: {"IQ2_XXS", 256, 66}, 17: {"IQ2_XS", 256, 74}, 18: {"IQ3_XXS", 256, 98}, 19: {"IQ1_S", 256, 50},
	IQ4_NL: {"IQ4_NL", 32, 18}, 21: {"IQ3_S", 256, 110}, 22: {"IQ2_S", 256, 82}, IQ4_XS: {"IQ4_XS", 256, 136},
	29: {"IQ1_M", 256, 56}, 34: {"TQ1_0", 256, 54}, 35: {"TQ2_0", 256, 66}, MXFP4: {"MXFP4", 32, 17},
}

// String returns the name that ggml has for t.
func (t Type) String() string {
	if l, ok := layouts[t]; ok {
		return l.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Block returns the number of elements of a block, 1 if the type has no blocks, and 0 for a type
// that is not known.
func (t Type) Block() int { return layouts[t].block }

// Bytes returns the number of bytes of n elements of one row, n being a multiple of Block.
func (t Type) Bytes(n int) int {
	l := layouts[t]
	return n / l.block * l.bytes
}
