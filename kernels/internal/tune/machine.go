package tune

import "github.com/avoformer/avoformer/kernels/internal/simd"

// What callers ask of a tier's registers and cache lines, by name.

const element, line = 4, 64 // bytes of a float32 and of a cache line

// TwoLines reports whether a row of a panel of nr columns is two cache lines, which come together from
// further away.
func TwoLines(nr int) bool { return nr >= 2*line/element }

// WideVectors reports whether a vector is a cache line, four times that of the narrowest tier.
func WideVectors(isa simd.ISA) bool { return simd.KernelSoftmaxRows.On(isa).Width >= line/element }
