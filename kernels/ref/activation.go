package ref

import "math"

// ReLU is max(x, 0); a NaN stays.
func ReLU(x float64) float64 {
	if x < 0 {
		return 0
	}
	return x
}

// Sigmoid is 1/(1+e^-x).
func Sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// SiLU is x*sigmoid(x), with the limit -0 at -Inf.
func SiLU(x float64) float64 { return gate(x, Sigmoid(x)) }

// GELU is x*Phi(x), Phi being the distribution function of the normal distribution, with the limit
// -0 at -Inf. It goes through erfc, so that the negative tail keeps its relative accuracy.
func GELU(x float64) float64 { return gate(x, 0.5*math.Erfc(-x/math.Sqrt2)) }

// GELUTanh returns the tanh form of GELU (Hendrycks and Gimpel, 2016),
//
//	0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x^3))),
//
// as x*sigmoid(2u), which is the same and does not cancel for negative x.
func GELUTanh(x float64) float64 {
	u := math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x)
	return gate(x, Sigmoid(2*u))
}

// gate is x*g, or the limit -0 where x = -Inf meets g = 0.
func gate(x, g float64) float64 {
	if math.IsInf(x, -1) {
		return math.Copysign(0, -1)
	}
	return x * g
}

// Softplus is log(1 + e^x), and x above 20, where float32 does not tell the two apart.
func Softplus(x float64) float64 {
	if x > 20 {
		return x
	}
	return math.Log1p(math.Exp(x))
}
