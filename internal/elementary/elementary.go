// Package elementary has functions of float64 with the same bits on every machine. Their errors are
// at most two ULP, except for [Erfinv]. The functions of package math are assembly on some
// processors, and on others the compiler fuses their products and sums.
package elementary

import "math"

// ln2 in two parts. The product of the first and an exponent is exact.
const (
	ln2High = 0x1.62e42fefp-1
	ln2Low  = math.Ln2 - ln2High
)

// inverseFactorials are 1/n!, from n = 0 on.
var inverseFactorials = func() (f [21]float64) {
	f[0] = 1
	product := 1.0 // below 2^53 for n < 19, and rounded once from there on
	for n := 1; n < len(f); n++ {
		product *= float64(n)
		f[n] = 1 / product
	}
	return f
}()

// signedFactorials are inverseFactorials with the signs of the series of sine and cosine.
var signedFactorials = func() [len(inverseFactorials)]float64 {
	f := inverseFactorials
	for n := range f {
		if n%4 >= 2 {
			f[n] = -f[n]
		}
	}
	return f
}()

// series returns the sum of c[first], c[first+step]*x, c[first+2*step]*x^2 and so on.
func series(c []float64, first, step int, x float64) float64 {
	n := (len(c) - 1 - first) / step
	sum := c[first+n*step]
	for n--; n >= 0; n-- {
		sum = float64(sum*x) + c[first+n*step]
	}
	return sum
}

// Exp returns e^x.
//
// x = k*ln(2) + r with an integer k, and e^r is a series in r of at most 0.35.
func Exp(x float64) float64 {
	switch {
	case x != x || x > 710:
		return x * math.Inf(1)
	case x < -746:
		return 0
	}
	k := math.RoundToEven(x * (1 / math.Ln2))
	r := (x - float64(k*ln2High)) - float64(k*ln2Low)
	return math.Ldexp(series(inverseFactorials[:15], 0, 1, r), int(k))
}

// Pow returns x^y. If x is not above 0, or if x or y is not finite, it calls package math, which
// does no arithmetic for most such arguments.
func Pow(x, y float64) float64 {
	if !(x > 0) || x-x != 0 || y-y != 0 {
		return math.Pow(x, y)
	}
	high, low := logParts(x)
	product := y * high
	e := Exp(product)
	if e == 0 || math.IsInf(e, 0) {
		return e
	}
	return e + float64(e*(math.FMA(y, high, -product)+float64(y*low)))
}

// pi/2 in three parts.
const (
	quarterTurn = math.Pi / 2
	turnHigh    = 0x1.921fb54442d18p0
	turnMiddle  = 0x1.1a62633145c07p-54
	turnLow     = quarterTurn - turnHigh - turnMiddle
)

// Sincos returns the sine and the cosine of x, which is below 2^40.
//
// x = k*pi/2 + r with an integer k, and the functions of r are series in r*r of at most 0.62.
func Sincos(x float64) (sin, cos float64) {
	k := math.RoundToEven(x * (1 / quarterTurn))
	r := math.FMA(-k, turnLow, math.FMA(-k, turnMiddle, math.FMA(-k, turnHigh, x)))
	square := float64(r * r)
	sin = r + float64(float64(r*square)*series(signedFactorials[:], 3, 2, square))
	cos = series(signedFactorials[:], 0, 2, square)
	switch int64(k) & 3 {
	case 1:
		return cos, -sin
	case 2:
		return -sin, -cos
	case 3:
		return -cos, sin
	}
	return sin, cos
}

// Sin returns the sine of x, which is below 2^40.
func Sin(x float64) float64 {
	sin, _ := Sincos(x)
	return sin
}

// Cos returns the cosine of x, which is below 2^40.
func Cos(x float64) float64 {
	_, cos := Sincos(x)
	return cos
}
