package half

import "math"

// This file widens floating-point numbers of 8 bits: Micikevicius et al., 2022, "FP8 Formats for
// Deep Learning".

// Float8E4M3 returns the value of a number with 4 bits of exponent and 3 of fraction, as
// torch.float8_e4m3fn: it has no infinity.
func Float8E4M3(b uint8) float32 {
	sign, exp, frac := uint32(b>>7)<<31, uint32(b>>3&0xf), uint32(b&7)
	switch {
	case b&0x7f == 0x7f:
		return math.Float32frombits(sign | 0x7fc00000)
	case exp == 0: // zero or subnormal: frac * 2^-9
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*(1.0/(1<<9))))
	}
	return math.Float32frombits(sign | (exp+127-7)<<23 | frac<<20)
}

// Float8E5M2 returns the value of a number with 5 bits of exponent and 2 of fraction, as
// torch.float8_e5m2: the upper half of a binary16 number.
func Float8E5M2(b uint8) float32 { return Float16(uint16(b) << 8) }
