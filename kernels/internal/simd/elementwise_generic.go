package simd

import (
	"math"

	"github.com/avoformer/avoformer/internal/approx"
)

// The scalar functions below use the polynomials of the vector kernels, but
// compute in float64: that costs a scalar machine nothing, makes up for the
// fused operations Go does not have, and rounds once, at the end.

var (
	exp2Poly = widen7(approx.Exp2)
	phiPoly  = widen15(approx.PhiSlope)
	erfPoly  = widen16(approx.ErfSlope)
	tanhPoly = widen6(approx.Exp2M1)
)

func widenTo(dst []float64, c []float32) {
	for i, v := range c {
		dst[i] = float64(v)
	}
}

func widen6(c [6]float32) (w [6]float64)    { widenTo(w[:], c[:]); return w }
func widen7(c [7]float32) (w [7]float64)    { widenTo(w[:], c[:]); return w }
func widen15(c [15]float32) (w [15]float64) { widenTo(w[:], c[:]); return w }
func widen16(c [16]float32) (w [16]float64) { widenTo(w[:], c[:]); return w }

// roundBias64 is approx.RoundBias for float64.
const roundBias64 = 0x1.8p52

// exp2 is 2^t for |t| < 1000; NaN gives NaN.
func exp2(t float64) float64 {
	biased := t + roundBias64
	f := t - (biased - roundBias64)
	c := &exp2Poly
	p := c[0] + f*(c[1]+f*(c[2]+f*(c[3]+f*(c[4]+f*(c[5]+f*c[6])))))
	return p * math.Float64frombits((math.Float64bits(biased)+1023)<<52)
}

// exp32 is e^x in float64 for a float32 result, clamped where that overflows
// to infinity or is less than half the smallest denormal.
func exp32(x float64) float64 {
	switch {
	case x > 710:
		x = 710
	case x < -690:
		x = -690
	}
	return exp2(x * math.Log2E)
}

func expVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = float32(exp32(float64(v)))
	}
}

func reluVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		if v <= 0 {
			v = 0
		}
		dst[i] = v
	}
}

func geluVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		switch {
		case v >= approx.PhiClamp:
			dst[i] = v
		case v <= -approx.PhiClamp:
			dst[i] = float32(math.Copysign(0, -1))
		default:
			t := float64(v)
			dst[i] = float32(t * max(0, 0.5+t*evenPoly(phiPoly[:], t*t-float64(approx.PhiCentre))))
		}
	}
}

func erfVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		t := float64(v)
		if math.Abs(t) >= float64(approx.ErfClamp) {
			dst[i] = float32(math.Copysign(1, t))
			continue
		}
		dst[i] = float32(t * evenPoly(erfPoly[:], t*t-float64(approx.ErfCentre)))
	}
}

// evenPoly is the polynomial c at w.
func evenPoly(c []float64, w float64) float64 {
	p := c[len(c)-1]
	for j := len(c) - 2; j >= 0; j-- {
		p = p*w + c[j]
	}
	return p
}

// gate is v/(1+e^-t), with the limit -0 for v = -Inf.
func gate(v float32, t float64) float32 {
	if v < -math.MaxFloat32 {
		return float32(math.Copysign(0, -1))
	}
	return float32(float64(v) / (1 + exp32(-t)))
}

func geluTanhVecGeneric(dst, x []float32) {
	const a, b = 2 * 0.7978845608028654, 2 * 0.7978845608028654 * 0.044715
	x = x[:len(dst)]
	for i, v := range x {
		t := float64(v)
		dst[i] = gate(v, t*(a+b*t*t))
	}
}

func siluVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = gate(v, float64(v))
	}
}

func sigmoidVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = float32(1 / (1 + exp32(-float64(v))))
	}
}

func tanhVecGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		// tanh x = E/(E+2), E = e^2x - 1 = 2^n*(2^f-1) + (2^n-1)
		t := min(max(float64(v), -20), 20) * (2 * math.Log2E)
		biased := t + roundBias64
		f := t - (biased - roundBias64)
		s := math.Float64frombits((math.Float64bits(biased) + 1023) << 52)
		e := s*(f*evenPoly(tanhPoly[:], f)) + (s - 1)
		dst[i] = float32(math.Copysign(e/(e+2), t)) // the sign of zero was lost
	}
}

func addVecGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func mulVecGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func axpyVecGeneric(y, x []float32, alpha float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}
