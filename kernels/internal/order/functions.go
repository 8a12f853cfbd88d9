package order

import (
	"math"

	"github.com/avoformer/avoformer/internal/approx"
)

// This file defines elementwise functions. A product and a sum that are one FMA are written as one.
// All other products are rounded first, by a conversion that keeps the compiler from fusing them.

const (
	bias       = approx.RoundBias
	eighthBias = approx.RoundBias / 8
	powerBias  = approx.RoundBias + 127
)

// eighths holds 2^(i/8), minus the number that the shift of i into the mantissa adds.
var eighths = func() (w [8]uint32) {
	for i, e := range approx.Exp2Eighths {
		w[i] = math.Float32bits(e) - uint32(i)<<20
	}
	return w
}()

// powerOfEighths returns 2^e for biased = eighthBias + e, where e is a multiple of 1/8.
func powerOfEighths(biased float32) float32 {
	b := math.Float32bits(biased)
	return math.Float32frombits(eighths[b&7] + b<<20)
}

// horner returns the polynomial with ascending coefficients c at x.
func horner(c []float32, x float32) float32 {
	p := c[len(c)-1]
	for j := len(c) - 2; j >= 0; j-- {
		p = fma(p, x, c[j])
	}
	return p
}

// eighthPoly returns 2^f for |f| <= 1/16.
func eighthPoly(f float32) float32 {
	c := &approx.Exp2EighthM1
	return fma(fma(fma(c[2], f, c[1]), f, c[0]), f, 1)
}

// clamp limits x to [lo, hi]; it keeps NaN.
func clamp(x, lo, hi float32) float32 {
	if x < lo {
		x = lo
	}
	if x > hi {
		x = hi
	}
	return x
}

// differenceLeast is the difference for which ExpDifference becomes 0.
const differenceLeast float32 = -127 * math.Ln2

// ExpDifference returns exp(x-max) for x <= max. Below 2^-127 it returns 0.
func ExpDifference(x, max float32) float32 {
	d := x - max
	if d < differenceLeast {
		d = differenceLeast
	}
	biased := fma(d, approx.Log2E, eighthBias)
	f := FMA(d, approx.Log2E, eighthBias-biased)
	return float32(eighthPoly(f) * powerOfEighths(biased))
}

// Exp returns exp(x) over the whole range.
func Exp(x float32) float32 {
	x = clamp(x, approx.ExpMin, approx.ExpMax)
	biased := fma(x, approx.Log2E, bias)
	f := FMA(x, approx.Log2ELow, FMA(x, approx.Log2E, bias-biased))
	// 2^n as two factors that are normal numbers: results may be denormal, and are rounded once.
	n := math.Float32bits(biased)
	half := int32(n<<10) >> 11
	rest := int32(n) - half
	return float32(horner(approx.Exp2[:], f)*float32OfExponent(rest)) * float32OfExponent(half)
}

// float32OfExponent returns 2^n. Only the lowest bits of n count.
func float32OfExponent(n int32) float32 { return math.Float32frombits(uint32(n)<<23 + 0x3f800000) }

// sigmoidReach is 128*ln(2). Above it e^-x cannot be scaled.
const sigmoidReach float32 = 88.7228394

// logistic returns 1 + e^-x for |x| <= sigmoidReach.
func logistic(x float32) float32 {
	biased := fma(x, -approx.Log2E, eighthBias)
	f := FMA(x, -approx.Log2ELow, FMA(x, -approx.Log2E, eighthBias-biased))
	return fma(eighthPoly(f), powerOfEighths(biased), 1)
}

// Sigmoid returns 1/(1+e^-x).
func Sigmoid(x float32) float32 { return 1 / logistic(clamp(x, -sigmoidReach, sigmoidReach-1)) }

// SiLU returns x/(1+e^-x).
func SiLU(x float32) float32 {
	if x < -sigmoidReach {
		x = -sigmoidReach
	}
	return x / logistic(min(x, sigmoidReach-1))
}

// GELUTanh returns x/(1+e^-2u), u = sqrt(2/pi)*(x + 0.044715*x^3).
func GELUTanh(x float32) float32 {
	const lo, hi float32 = -10.061, 10
	if x < lo {
		x = lo
	}
	c := min(x, hi)
	t := float32(c * FMA(-approx.GELUTanhB, float32(c*c), -approx.GELUTanhA))
	biased := t + eighthBias
	f := eighthBias - biased + t
	return x / fma(eighthPoly(f), powerOfEighths(biased), 1)
}

// Tanh returns E/(E+2), where E = 2^n*(2^f-1) + (2^n-1) is e^2x - 1.
func Tanh(x float32) float32 {
	c := clamp(x, -approx.TanhClamp, approx.TanhClamp)
	biased := fma(c, 2*approx.Log2E, powerBias)
	f := FMA(c, 2*approx.Log2E, powerBias-biased)
	q := float32(f * horner(approx.Exp2M1[:], f))
	s := math.Float32frombits(math.Float32bits(biased) << 23)
	e := FMA(q, s, s-1)
	// The quotient loses the sign of zero.
	return math.Float32frombits(math.Float32bits(e/(e+2)) | math.Float32bits(x)&(1<<31))
}

// GELU returns x*Phi(x).
func GELU(x float32) float32 {
	if x < -approx.PhiClamp {
		x = -approx.PhiClamp
	}
	c := min(x, approx.PhiClamp)
	p := FMA(horner(approx.PhiSlope[:], FMA(c, c, -approx.PhiCentre)), c, 0.5)
	return x * max(0, p)
}

// Erf returns erf(x).
func Erf(x float32) float32 {
	c := clamp(x, -approx.ErfClamp, approx.ErfClamp)
	return clamp(float32(c*horner(approx.ErfSlope[:], FMA(c, c, -approx.ErfCentre))), -1, 1)
}

// ReLU returns max(x, 0). It keeps NaN and -0.
func ReLU(x float32) float32 {
	if x < 0 {
		return 0
	}
	return x
}
