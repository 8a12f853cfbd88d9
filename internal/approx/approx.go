// Package approx holds the constants of the functions that kernels evaluates: range reductions and
// polynomial coefficients, the same for the assembly and for the pure Go path.
//
// # exp
//
// exp(x) = 2^(x*log2(e)) = 2^n * 2^f, n the nearest integer. Adding RoundBias to x*log2(e) rounds
// it to an integer, which then is in the low bits of the sum; taking RoundBias away again leaves n,
// and f = x*Log2E - n in one fused step is exact except for the last bit. Log2E is off by 2^-26
// relatively, which matters for exp itself, where |x| reaches 104: it adds x*Log2ELow. A softmax
// may leave that out: its arguments are differences x - max, and an error of
// 1.4e-8*|x-max|*exp(x-max) is below 2^-25 of the row's maximum.
//
// In exp itself 2^f is a polynomial, Exp2. Elsewhere, n is the nearest multiple of 1/8: 2^n comes
// from a table of eight, Exp2Eighths, and 2^f is 1 + f*Exp2EighthM1 for |f| <= 1/16. Every machine
// looks up eight numbers, so every machine computes the same.
//
// # The error function
//
// GELU is x*Phi(x) and Phi(x) = 1/2 + x*P(x^2): one even polynomial over the whole range in which
// Phi is neither 0 nor 1 in float32, without a division or an exponential. In powers of x^2 its
// terms would cancel (they reach e^14); in powers of x^2 - centre, with the centre in the middle of
// the range, their sizes add up to no more than P(0). Beyond the clamp Phi is 0 or 1 exactly.
// erf(x) = x*Q(x^2) likewise.
//
// # tanh
//
// tanh(x) = E/(E+2) with E = e^(2x) - 1 = 2^n*(2^f - 1) + (2^n - 1), whose first part comes from
// Exp2M1, so that nothing cancels near 0.
//
// Coefficients are in ascending order and are found by gen, a Remez exchange that rounds one
// coefficient after the other to float32.
package approx

//go:generate go run ./gen -o coefficients.go

const (
	// Log2E + Log2ELow is log2(e) to 2^-50.
	Log2E    float32 = 0x1.715476p+00
	Log2ELow float32 = 0x1.4ae0cp-26

	// RoundBias is 1.5*2^23. A float32 of that size has no fraction bits.
	RoundBias float32 = 0x1.8p+23

	// Results of exp outside [ExpMin, ExpMax] are 0 and +Inf after rounding. Clamping slightly
	// beyond them keeps 2^n within reach of the scaling.
	ExpMin float32 = -104
	ExpMax float32 = 89

	// TanhClamp is a bound for x. |tanh(x)| rounds to 1 from 9.02 on.
	TanhClamp float32 = 9.0625
)

// GELUTanhA and GELUTanhB are the factors in GELUTanh's argument: 2*log2(e)*sqrt(2/pi)*(x +
// 0.044715*x^3) = x*(A + B*x^2).
const (
	GELUTanhA float32 = 2.302208198
	GELUTanhB float32 = 0.102943240
)
