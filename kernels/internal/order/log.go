package order

import "math"

// Log is the natural logarithm of x > 0, off by a few 2^-53 of it: math.Log is assembly on some machines, whose last bit
// may be another.
//
// x = m*2^e with m in [sqrt(1/2), sqrt(2)), and log(m) = 2*artanh(s) with s = (m-1)/(m+1): a series in s^2 of at most 0.03.
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
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1)
	w := float64(s * s)
	p := 0.0
	for n := 21; n >= 3; n -= 2 {
		p = float64((p + 1/float64(n)) * w)
	}
	return float64(float64(e)*math.Ln2) + (2*s + float64(2*s*p))
}
