// Package kernel holds the algorithms of package kernels, each written once.
//
// Row kernels are functions over a vec.Machine, the same source for every instruction set. The GEMM
// micro-kernels are written for each machine against one contract.
package kernel

import (
	"math"

	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/internal/approx"
)

// f32 returns the constant nearest to v.
func f32(v float64) vec.Const { return c32(float32(v)) }

// c32 returns the constant v.
func c32(v float32) vec.Const { return vec.Const(math.Float32bits(v)) }

var (
	negInf  = f32(math.Inf(-1))
	signBit = vec.Const(0x80000000)
	one     = f32(1)
)

// pow2Bias is approx.RoundBias + 127, the bias that vec's Pow2 expects in its exponent.
var pow2Bias = c32(approx.RoundBias + 127)

// horner evaluates the polynomial with ascending coefficients c at x. The last coefficient goes
// into a register, which becomes the result; the others are operands.
func horner(m vec.Machine, c []float32, x vec.V) vec.V {
	p := m.Splat(c32(c[len(c)-1]))
	for j := len(c) - 2; j >= 0; j-- {
		p = m.Horner(p, x, c32(c[j]))
	}
	return p
}

// clamp limits x to [lo, hi]. It keeps NaN: Min and Max return their second operand.
func clamp(m vec.Machine, x, lo, hi vec.V) vec.V { return m.Min(hi, m.Max(lo, x)) }

// exp2Split splits t = x*scale into n + f: biased is bias + n, n is the nearest multiple of bias's
// last digit (an integer for pow2Bias), and f is the remainder. Both steps are fused: f has no
// rounding error of x*scale.
func exp2Split(m vec.Machine, x vec.V, scale vec.Operand, bias vec.V) (biased, f vec.V) {
	biased = m.Copy(bias)
	m.FMATo(biased, x, scale)
	f = m.Sub(bias, biased)
	m.FMATo(f, x, scale)
	return biased, f
}

// exp2Eighth approximates 2^f for |f| <= 1/16, to be multiplied by one of approx.Exp2Eighths,
// 2^(i/8).
var (
	exp2Eighth = append([]float32{1}, approx.Exp2EighthM1[:]...)
	eighthBias = c32(approx.RoundBias / 8)
)

// Exp computes exp(x) over the whole range, including denormal results.
var Exp = polynomial(func(m vec.Machine) func(vec.V) vec.V {
	lo, hi := m.Splat(c32(approx.ExpMin)), m.Splat(c32(approx.ExpMax))
	bias, log2e := m.Splat(c32(approx.RoundBias)), m.Splat(c32(approx.Log2E))
	return func(x vec.V) vec.V {
		x = clamp(m, x, lo, hi)
		biased, f := exp2Split(m, x, log2e, bias)
		m.FMATo(f, x, c32(approx.Log2ELow))
		return m.ScaleByPow2Full(horner(m, approx.Exp2[:], f), m.RoundedFrom(biased, bias))
	}
})

// logistic prepares 1 + e^-x for |x| <= sigmoidReach; at -sigmoidReach it is +Inf.
func logistic(m vec.Machine) func(x vec.V) vec.V {
	pow2 := m.Pow2Steps(approx.Exp2Eighths)
	bias, scale := m.Splat(eighthBias), m.Splat(c32(-approx.Log2E))
	return func(x vec.V) vec.V {
		biased, f := exp2Split(m, x, scale, bias)
		m.FMATo(f, x, c32(-approx.Log2ELow))
		return m.Horner(horner(m, exp2Eighth, f), pow2(biased), one)
	}
}

// sigmoidReach is 128*ln(2). Above it e^-x cannot be scaled.
const sigmoidReach = 88.7228394

// Sigmoid computes 1/(1+e^-x).
var Sigmoid = polynomial(func(m vec.Machine) func(vec.V) vec.V {
	lo, hi := m.Splat(f32(-sigmoidReach)), m.Splat(f32(sigmoidReach-1))
	logistic, num := logistic(m), m.Splat(one)
	return func(x vec.V) vec.V { return m.Div(num, logistic(clamp(m, x, lo, hi))) }
})

// SiLU computes x/(1+e^-x). The numerator is clamped from below, because the limit at -Inf is -0.
var SiLU = polynomial(func(m vec.Machine) func(vec.V) vec.V {
	lo, hi := m.Splat(f32(-sigmoidReach)), m.Splat(f32(sigmoidReach-1))
	logistic := logistic(m)
	return func(x vec.V) vec.V {
		x = m.Max(lo, x)
		return m.Div(x, logistic(m.Min(hi, x)))
	}
})

// geluTanhReach is the x, rounded to 1/64, at which the exponent of GELUTanh is 128.
const geluTanhReach = 10.061

// GELUTanh computes x/(1+e^-2u), where u = sqrt(2/pi)*(x + 0.044715*x^3).
var GELUTanh = polynomial(func(m vec.Machine) func(vec.V) vec.V {
	lo, hi := m.Splat(f32(-geluTanhReach)), m.Splat(f32(10))
	pow2 := m.Pow2Steps(approx.Exp2Eighths)
	bias, a, b := m.Splat(eighthBias), m.Splat(c32(-approx.GELUTanhA)), m.Splat(c32(-approx.GELUTanhB))
	return func(x vec.V) vec.V {
		x = m.Max(lo, x)
		c := m.Min(hi, x)
		t := m.Mul(c, m.Horner(m.Copy(b), m.Mul(c, c), a))
		biased := m.Add(t, bias)
		f := m.Add(m.Sub(bias, biased), t)
		return m.Div(x, m.Horner(horner(m, exp2Eighth, f), pow2(biased), one))
	}
})

// Tanh computes E/(E+2), where E = 2^n*(2^f-1) + (2^n-1).
var Tanh = polynomial(func(m vec.Machine) func(vec.V) vec.V {
	lo, hi := m.Splat(c32(-approx.TanhClamp)), m.Splat(c32(approx.TanhClamp))
	bias, scale := m.Splat(pow2Bias), m.Splat(c32(2*approx.Log2E))
	return func(x vec.V) vec.V {
		biased, f := exp2Split(m, clamp(m, x, lo, hi), scale, bias)
		q := m.Mul(f, horner(m, approx.Exp2M1[:], f))
		s := m.Pow2(biased)
		e := m.Horner(q, s, m.Sub(s, one))
		// The quotient loses the sign of zero.
		return m.Or(m.Div(e, m.Add(e, f32(2))), m.And(x, signBit))
	}
})

// GELU computes x*Phi(x) with Phi = 1/2 + c*P(c^2-centre), where c is x clamped to the points from
// which Phi is 0 or 1. The factor x is clamped only from below, because the limit at -Inf is -0.
var GELU = polynomial(func(m vec.Machine) func(vec.V) vec.V {
	lo, hi := m.Splat(c32(-approx.PhiClamp)), m.Splat(c32(approx.PhiClamp))
	zero := m.Zero()
	return func(x vec.V) vec.V {
		x = m.Max(lo, x)
		c := m.Min(hi, x)
		p := horner(m, approx.PhiSlope[:], m.Horner(m.Copy(c), c, c32(-approx.PhiCentre)))
		return m.Mul(x, m.Max(zero, m.Horner(p, c, f32(0.5))))
	}
})

// Erf computes c*Q(c^2-centre), where c is x clamped to the points from which erf is -1 or 1. The
// second clamp is for the product, which may exceed 1 in the last bit.
var Erf = polynomial(func(m vec.Machine) func(vec.V) vec.V {
	lo, hi := m.Splat(c32(-approx.ErfClamp)), m.Splat(c32(approx.ErfClamp))
	minus, plus := m.Splat(f32(-1)), m.Splat(one)
	return func(x vec.V) vec.V {
		c := clamp(m, x, lo, hi)
		q := horner(m, approx.ErfSlope[:], m.Horner(m.Copy(c), c, c32(-approx.ErfCentre)))
		return clamp(m, m.Mul(c, q), minus, plus)
	}
})
