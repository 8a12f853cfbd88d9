package elementary

import "math"

// inverseOdd has 1/3, 1/5 and so on.
var inverseOdd = [...]float64{1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21}

// Log returns the natural logarithm of x.
func Log(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		switch {
		case x == 0:
			return math.Inf(-1)
		case x > 0:
			return x
		}
		return math.NaN()
	}
	log, _ := logParts(x)
	return log
}

// logParts returns the logarithm of a finite x > 0, and the error of its rounding.
//
// x = m*2^e with m in [sqrt(1/2), sqrt(2)), and log(m) = 2*artanh(s) with s = (m-1)/(m+1): a series
// in s^2 of at most 0.03.
func logParts(x float64) (high, low float64) {
	m, exponent := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, exponent = 2*m, exponent-1
	}
	e, below, above := float64(exponent), m-1, m+1
	s := below / above
	// The rounding errors of the divisor m+1 and of the quotient s.
	rest := math.FMA(-s, above, below) - float64(s*((m-above)+1))
	w := float64(s * s)
	p := float64(series(inverseOdd[:], 0, 1, w) * w)
	scaled := e * ln2High // exact
	high = scaled + 2*s
	lost := 2*s - (high - scaled)
	if e == 0 {
		high, lost = 2*s, 0
	}
	low = lost + (float64(e*ln2Low) + 2*(float64(s*p)+rest/above))
	sum := high + low
	return sum, low - (sum - high)
}

// Log10 returns the decimal logarithm of x.
func Log10(x float64) float64 { return Log(x) * (1 / math.Ln10) }

// Log1p returns the natural logarithm of 1 + x for x >= 0.
func Log1p(x float64) float64 {
	sum := 1 + x
	if sum == 1 || math.IsInf(sum, 1) {
		return x
	}
	return Log(sum) * (x / (sum - 1)) // the rounding of the sum changes both by the same factor
}
