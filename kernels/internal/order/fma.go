package order

import "math"

// FMA returns x*y + z, rounded once, on every machine.
//
// The product of two float32 numbers is exact in float64, so the sum is rounded once to float64 and
// once to float32. The second rounding is wrong only if the first result is halfway between two
// float32 numbers, or if the result is denormal: denormal numbers have fewer bits.
func FMA(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	s := p + float64(z)
	if roundsTwice(s) {
		return oddSum(p, float64(z), s)
	}
	return float32(s)
}

// roundsTwice reports whether rounding s, a sum rounded to float64, to float32 may give a number
// that differs from rounding the exact sum.
func roundsTwice(s float64) bool {
	b := math.Float64bits(s)
	return b<<35 == 1<<63 || b<<1-1 < leastNormal<<1-1
}

// fma does the same as FMA, for results that are 0 or not denormal.
func fma(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	if math.Float64bits(s)<<35 == 1<<63 {
		return FMA(x, y, z)
	}
	return float32(s)
}

// leastNormal is 2^-126, the smallest normal float32 number, as the bits of a float64.
const leastNormal = (1023 - 126) << 52

// oddSum returns p + z rounded once to float32. s is the sum rounded to float64, and its rounding
// error is exact. If the error is not 0, oddSum rounds the neighbour of the sum in float64 whose
// last bit is 1, which gives the correct result.
//
//go:noinline
func oddSum(p, z, s float64) float32 {
	back := s - p
	rest := (p - (s - back)) + (z - back)
	b := math.Float64bits(s)
	if b&1 == 0 {
		switch {
		case rest == 0 || rest != rest:
		case rest > 0 == (s > 0):
			b++
		default:
			b--
		}
	}
	return float32(math.Float64frombits(b))
}
