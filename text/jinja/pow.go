// Powers of floating-point numbers to the last digit.

package jinja

import (
	"math"
	"math/big"
	"sync"
)

// The precision of the values before rounding, in bits, and the terms of the series that it needs.
const (
	powBits  = 160
	logTerms = 36 // of powers of at most 0.172 squared
	expTerms = 18 // of powers of at most 2^-9 ln 2
)

// floatPower is a**b, correctly rounded. C's pow, which Python takes, is off by up to 0.511 units
// in the last place, and by 0.00004 more for each unit of b*log(a). Where the result is so close to
// the middle between two numbers that it may be either in Python, there is an error.
func floatPower(a, b float64) (float64, error) {
	r := math.Pow(a, b)
	if r == 0 || r == 1 || math.IsInf(r, 0) || math.IsNaN(r) || math.Abs(a) == 1 {
		return r, nil
	}
	exponent := new(big.Float).Mul(bigF(b), log(bigF(math.Abs(a))))
	x := exp(exponent)
	r, _ = x.Float64()
	if math.IsInf(r, 0) || r == 0 {
		return math.Copysign(r, math.Pow(a, b)), nil
	}
	unit := bigF(math.Nextafter(r, math.Inf(1)) - r)
	off, _ := new(big.Float).Quo(new(big.Float).Sub(x, bigF(r)), unit).Float64()
	size, _ := exponent.Float64()
	if math.Abs(math.Abs(off)-0.5) < 0.012+5e-5*math.Abs(size) {
		return 0, failf("%v ** %v: the last digit is not certain", a, b)
	}
	return math.Copysign(r, math.Pow(a, b)), nil
}

func bigF(x float64) *big.Float { return new(big.Float).SetPrec(powBits).SetFloat64(x) }

// log returns the natural logarithm of x > 0: 2 atanh((f-1)/(f+1)) + n ln 2 for x = f * 2**n.
func log(x *big.Float) *big.Float {
	f := new(big.Float)
	n := x.MantExp(f) // f is from 0.5 to 1
	if f.Cmp(bigF(math.Sqrt2/2)) < 0 {
		f.Mul(f, bigF(2))
		n--
	}
	return new(big.Float).Add(atanh2(f), new(big.Float).Mul(bigF(float64(n)), ln2()))
}

// ln2 is the natural logarithm of 2: 2 ln(√2), with the square root of 2 as a fraction of atanh2.
var ln2 = sync.OnceValue(func() *big.Float { return new(big.Float).Mul(bigF(2), atanh2(new(big.Float).Sqrt(bigF(2)))) })

// atanh2 is 2 atanh((f-1)/(f+1)), which is log(f), for f from √½ to √2.
func atanh2(f *big.Float) *big.Float {
	z := new(big.Float).Quo(new(big.Float).Sub(f, bigF(1)), new(big.Float).Add(f, bigF(1)))
	square := new(big.Float).Mul(z, z)
	sum, term := bigF(0), new(big.Float).Copy(z)
	for i := range logTerms {
		sum.Add(sum, new(big.Float).Quo(term, bigF(float64(2*i+1))))
		term.Mul(term, square)
	}
	return sum.Mul(sum, bigF(2))
}

// exp is e**y: the series of the 512th part of y less a multiple of ln 2, squared nine times.
func exp(y *big.Float) *big.Float {
	q, _ := new(big.Float).Quo(y, ln2()).Float64()
	n := math.Round(q)
	part := new(big.Float).Sub(y, new(big.Float).Mul(bigF(n), ln2()))
	part.SetMantExp(part, -9)
	sum, term := bigF(1), bigF(1)
	for i := range expTerms {
		term.Mul(term, part)
		term.Quo(term, bigF(float64(i+1)))
		sum.Add(sum, term)
	}
	for range 9 {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(n))
}
