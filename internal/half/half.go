// Package half converts between float32 and the floating-point formats of 16 bits, IEEE 754
// binary16 and bfloat16, whose bits are in a uint16. Widening is exact; narrowing rounds to
// nearest, ties to even.
package half

import "math"

// Float16 returns the value of a binary16 number. A NaN keeps its sign and payload.
func Float16(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0: // zero or subnormal: frac * 2^-24, which float32 holds exactly
		v := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(v))
	case 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// ToFloat16 rounds to binary16. A number that exceeds 65504 by half a unit in the last place or
// more becomes infinite; a NaN becomes a quiet NaN.
func ToFloat16(x float32) uint16 {
	bits := math.Float32bits(x)
	sign, abs := uint16(bits>>16&0x8000), bits&^(1<<31)
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00 | uint16(abs>>13&0x1ff)
	case abs >= 0x477ff000: // 65520, halfway to the next number, which the format lacks
		return sign | 0x7c00
	case abs < 0x38800000: // below 2^-14: a multiple of 2^-24, rounded by the addition
		const shift = 0.5 // its last bit is 2^-24
		return sign | uint16(math.Float32bits(math.Float32frombits(abs)+shift)-math.Float32bits(shift))
	}
	abs += 0xfff + abs>>13&1 // half a unit, less where the last bit is even
	return sign | uint16(abs>>13-(127-15)<<10)
}

// BFloat16 returns the value of a bfloat16 number.
func BFloat16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBFloat16 rounds to bfloat16. A NaN becomes a quiet NaN.
func ToBFloat16(x float32) uint16 {
	bits := math.Float32bits(x)
	if bits&^(1<<31) > 0x7f800000 {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// ToFloat16s sets dst to the elements of x rounded to binary16. dst must have at least the length
// of x.
func ToFloat16s(dst []uint16, x []float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = ToFloat16(v)
	}
}

// ToBFloat16s sets dst to the elements of x rounded to bfloat16. dst must have at least the length
// of x.
func ToBFloat16s(dst []uint16, x []float32) {
	dst = dst[:len(x)]
	nan := uint32(0) // its highest bit is set if there is one
	for i, v := range x {
		bits := math.Float32bits(v)
		nan |= 0x7f800000 - bits&^(1<<31)
		dst[i] = uint16((bits + 0x7fff + bits>>16&1) >> 16)
	}
	for i := 0; nan>>31 != 0 && i < len(x); i++ {
		dst[i] = ToBFloat16(x[i])
	}
}
