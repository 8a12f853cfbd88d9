// Numbers as Python has them: float64, and integers of any size, int64 where they fit and *big.Int
// beyond.

package jinja

import (
	"math"
	"math/big"
)

const (
	maxBits   = 1 << 17 // of an integer
	maxDigits = 4300    // of an integer's text, as in Python
)

// asBig is v as an integer, if it is one: True is 1.
func asBig(v any) (*big.Int, bool) {
	if b, ok := v.(*big.Int); ok {
		return b, true
	}
	i, ok := asInt(v)
	return big.NewInt(i), ok
}

// integer is b as a value.
func integer(b *big.Int) any {
	if b.IsInt64() {
		return b.Int64()
	}
	return b
}

// parseInteger is Python's int(s, base) without spaces around s.
func parseInteger(s string, base int) (any, bool) {
	if len(s) > maxDigits+1 { // with a sign
		return nil, false
	}
	b, ok := new(big.Int).SetString(s, base)
	if !ok || b.BitLen() > maxBits {
		return nil, false
	}
	return integer(b), true
}

// decimal is str(b).
func decimal(b *big.Int) (string, error) {
	if b.BitLen() > maxDigits*4 {
		return "", failf("an integer of more than %d digits has no text", maxDigits)
	}
	s := b.String()
	if len(s) > maxDigits+1 || len(s) > maxDigits && s[0] != '-' {
		return "", failf("an integer of more than %d digits has no text", maxDigits)
	}
	return s, nil
}

// bigFloat is float(b).
func bigFloat(b *big.Int) (float64, error) {
	f, _ := new(big.Float).SetInt(b).Float64()
	if math.IsInf(f, 0) {
		return 0, failf("int too large to convert to float")
	}
	return f, nil
}

// integers returns a op b.
func integers(op string, a, b *big.Int) (any, error) {
	r := new(big.Int)
	switch op {
	case "+":
		r.Add(a, b)
	case "-":
		r.Sub(a, b)
	case "*":
		r.Mul(a, b)
	case "**":
		return power(a, b)
	default:
		if b.Sign() == 0 {
			return nil, failf("division by zero")
		}
		switch op {
		case "/":
			f, _ := new(big.Rat).SetFrac(a, b).Float64()
			if math.IsInf(f, 0) {
				return nil, failf("integer division result too large for a float")
			}
			return f, nil
		case "//":
			floorDivide(a, b, r, new(big.Int))
		case "%":
			floorDivide(a, b, new(big.Int), r)
		}
	}
	if r.BitLen() > maxBits {
		return nil, failf("an integer of more than %d bits", maxBits)
	}
	return integer(r), nil
}

// floorDivide sets q to a/b rounded down, and m to the rest, which has b's sign.
func floorDivide(a, b, q, m *big.Int) {
	q.QuoRem(a, b, m)
	if m.Sign() != 0 && m.Sign() != b.Sign() {
		q.Sub(q, big.NewInt(1))
		m.Add(m, b)
	}
}

func power(a, b *big.Int) (any, error) {
	if b.Sign() < 0 {
		x, err := bigFloat(a)
		if err != nil {
			return nil, err
		}
		y, err := bigFloat(b)
		if err != nil {
			return nil, err
		}
		return floats("**", x, y)
	}
	if b.Sign() == 0 || a.Sign() == 0 {
		return int64(1 - b.Sign()), nil
	}
	if a.IsInt64() && (a.Int64() == 1 || a.Int64() == -1) {
		b = new(big.Int).And(b, big.NewInt(1))
	} else if !b.IsInt64() || b.Int64()*int64(a.BitLen()-1) > maxBits || b.Int64() > maxBits {
		return nil, failf("an integer of more than %d bits", maxBits)
	}
	return integer(new(big.Int).Exp(a, b, nil)), nil
}

// orderFloat compares an integer with a float that is not NaN, exactly.
func orderFloat(a *big.Int, f float64) int {
	if math.IsInf(f, 0) {
		return -int(math.Copysign(1, f))
	}
	return new(big.Float).SetInt(a).Cmp(big.NewFloat(f))
}

// asInt is v as an integer of 64 bits, if it is one: True is 1.
func asInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// asFloat is float(v) of a number: the error of one that is too large.
func asFloat(v any) (f float64, ok bool, err error) {
	if f, ok := v.(float64); ok {
		return f, true, nil
	}
	b, ok := asBig(v)
	if ok {
		f, err = bigFloat(b)
	}
	return f, ok, err
}

func floats(op string, a, b float64) (any, error) {
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "**":
		r, err := floatPower(a, b)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(r) && !math.IsNaN(a) && !math.IsNaN(b) {
			return nil, failf("%v ** %v is complex", a, b)
		}
		if math.IsInf(r, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
			return nil, failf("%v ** %v is too large", a, b)
		}
		return r, nil
	}
	if b == 0 {
		return nil, failf("division by zero")
	}
	switch op {
	case "/":
		return a / b, nil
	case "//":
		return floorQuotient(a, b), nil
	}
	m := math.Mod(a, b)
	if m != 0 && (b < 0) != (m < 0) {
		m += b
	} else if m == 0 {
		m = math.Copysign(0, b)
	}
	return m, nil
}

// floorQuotient returns a // b as Python computes it, for b that is not 0.
func floorQuotient(a, b float64) float64 {
	m := math.Mod(a, b)
	q := (a - m) / b
	if m != 0 && (b < 0) != (m < 0) {
		q--
	}
	if q == 0 {
		return math.Copysign(0, a/b)
	}
	down := math.Floor(q)
	if q-down > 0.5 {
		down++
	}
	return down
}
