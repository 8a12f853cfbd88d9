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

// Log1p is the natural logarithm of 1 + y for y >= 0, within half an ULP and a little more.
func Log1p(y float32) float32 {
	w := float64(y)
	if w < 0x1p-9 { // 1 + y would lose digits of y
		square := float64(w * w)
		return float32(w - float64(square*(0.5-float64(w*(1.0/3-float64(w*(0.25-float64(w*0.2))))))))
	}
	return float32(Log(1 + w))
}
