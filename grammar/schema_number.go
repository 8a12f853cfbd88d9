package grammar

import (
	"math/big"
	"strings"
	"sync"
)

// This file generates the numbers of JSON schemas.

// Largest numbers of digits, unless a bound needs more. Without a limit, a model that repeats
// itself would generate digits forever.
const (
	maxDigits         = 16
	maxFraction       = 16
	maxExponentDigits = 2
)

func digit(lo, hi byte) *expr { return byteRange('0'+lo, '0'+hi) }

// anyInteger matches integers without bounds, and anyNumber numbers without bounds.
func anyInteger() *expr {
	return concat(optional(literal("-")), alt(literal("0"), concat(digit(1, 9), repeat(digit(0, 9), 0, maxDigits-1))))
}

func anyNumber() *expr {
	fraction := concat(literal("."), repeat(digit(0, 9), 1, maxFraction))
	exponent := concat(alt(literal("e"), literal("E")), optional(alt(literal("+"), literal("-"))), repeat(digit(0, 9), 1, maxExponentDigits))
	return concat(anyInteger(), optional(fraction), optional(exponent))
}

// integersBetween matches the integers lo to hi; nil means no bound.
func integersBetween(lo, hi *big.Int) *expr {
	if lo == nil && hi == nil {
		return anyInteger()
	}
	var list []*expr
	if lo == nil || lo.Sign() < 0 {
		most := (*big.Int)(nil)
		if lo != nil {
			most = new(big.Int).Neg(lo)
		}
		least := big.NewInt(1)
		if hi != nil && hi.Sign() < 0 {
			least.Neg(hi)
		}
		list = append(list, concat(literal("-"), naturals(least, most)))
	}
	if hi == nil || hi.Sign() >= 0 {
		least := new(big.Int)
		if lo != nil && lo.Sign() > 0 {
			least = lo
		}
		list = append(list, naturals(least, hi))
	}
	return alt(list...)
}

// naturals matches the integers lo to hi. If hi is nil, it matches integers of up to maxDigits
// digits, or of as many digits as lo has if these are more.
func naturals(lo, hi *big.Int) *expr {
	from := lo.String()
	to := strings.Repeat("9", max(maxDigits, len(from)))
	if hi != nil {
		to = hi.String()
		if lo.Cmp(hi) > 0 {
			return none
		}
	}
	if len(from) == len(to) {
		return digits(from, to)
	}
	// Numbers of as many digits as from, longer ones, and those of as many digits as to.
	list := []*expr{digits(from, strings.Repeat("9", len(from)))}
	if most := len(to) - 1; most > len(from) {
		list = append(list, concat(digit(1, 9), repeat(digit(0, 9), len(from), most-1)))
	}
	return alt(append(list, digits("1"+strings.Repeat("0", len(to)-1), to))...)
}

// digits matches the numbers lo to hi, which have the same number of digits.
func digits(lo, hi string) *expr {
	n := len(lo)
	if n == 0 {
		return empty
	}
	a, b := lo[0]-'0', hi[0]-'0'
	if a == b {
		return concat(digit(a, a), digits(lo[1:], hi[1:]))
	}
	zeros, nines := strings.Repeat("0", n-1), strings.Repeat("9", n-1)
	var list []*expr
	if lo[1:] != zeros {
		list = append(list, concat(digit(a, a), digits(lo[1:], nines)))
		a++
	}
	last := empty
	if hi[1:] != nines {
		last = concat(digit(b, b), digits(zeros, hi[1:]))
		b--
	}
	if a <= b {
		list = append(list, concat(digit(a, b), repeat(digit(0, 9), n-1, n-1)))
	}
	if last != empty {
		list = append(list, last)
	}
	return alt(list...)
}

// A bound is a decimal number that is not negative. fraction has its decimals, without zeros at the
// end. open means that the number itself is not allowed.
type bound struct {
	integer  *big.Int
	fraction string
	open     bool
}

// numbersBetween matches the decimal numbers between bounds, without exponents; nil means no bound.
func numbersBetween(lo, hi *limit) *expr {
	if lo == nil && hi == nil {
		return anyNumber()
	}
	lo, hi = lo.unlessFar(-1), hi.unlessFar(1)
	zero := bound{integer: new(big.Int)}
	var list []*expr
	if lo == nil || lo.at.Sign() < 0 {
		least := bound{integer: new(big.Int), open: true} // -0 is not generated
		if hi != nil && hi.at.Sign() < 0 {
			least = hi.magnitude()
		}
		list = append(list, concat(literal("-"), decimals(least, lo.magnitudeOrNil())))
	}
	if hi == nil || hi.at.Sign() >= 0 {
		least := zero
		if lo != nil && lo.at.Sign() >= 0 {
			least = lo.magnitude()
		}
		list = append(list, decimals(least, hi.magnitudeOrNil()))
	}
	return alt(list...)
}

// decimals matches the numbers from lo to hi, which may be nil.
func decimals(lo bound, hi *bound) *expr {
	next := new(big.Int).Add(lo.integer, big.NewInt(1))
	if hi == nil {
		return alt(
			concat(literal(lo.integer.String()), fraction(&lo, nil)),
			concat(naturals(next, nil), fraction(nil, nil)))
	}
	switch lo.integer.Cmp(hi.integer) {
	case 0:
		return concat(literal(lo.integer.String()), fraction(&lo, hi))
	case 1:
		return none
	}
	return alt(
		concat(literal(lo.integer.String()), fraction(&lo, nil)),
		concat(naturals(next, new(big.Int).Sub(hi.integer, big.NewInt(1))), fraction(nil, nil)),
		concat(literal(hi.integer.String()), fraction(nil, hi)))
}

// fraction matches the point and decimals that may follow the integer of lo and of hi. Either may
// be nil.
func fraction(lo, hi *bound) *expr {
	f := fractions{maxFraction, false, false}
	a, b := (*string)(nil), (*string)(nil)
	if lo != nil {
		a, f.loOpen, f.most = &lo.fraction, lo.open, max(f.most, len(lo.fraction)+1)
	}
	if hi != nil {
		b, f.hiOpen, f.most = &hi.fraction, hi.open, max(f.most, len(hi.fraction)+1)
	}
	e := concat(literal("."), f.digits(a, b, 0))
	if f.mayEnd(a, b) {
		return optional(e)
	}
	return e
}

type fractions struct {
	most           int
	loOpen, hiOpen bool
}

// mayEnd reports whether a number whose digits end here is within its bounds. lo and hi are the
// remaining digits of the bounds; nil means that earlier digits are already within the bound.
func (f fractions) mayEnd(lo, hi *string) bool {
	return (lo == nil || *lo == "" && !f.loOpen) && (hi == nil || *hi != "" || !f.hiOpen)
}

// digits matches decimal n and those that may follow it.
func (f fractions) digits(lo, hi *string, n int) *expr {
	if lo == nil && hi == nil {
		return repeat(digit(0, 9), 1, f.most-n)
	}
	if n == f.most {
		return none
	}
	var list []*expr
	from, to := byte(0), byte(9)
	a, restA := head(lo)
	b, restB := head(hi)
	if lo != nil {
		from = a
	}
	if hi != nil {
		to = b
	}
	for d := from; d <= to; d++ {
		nextLo, nextHi := restA, restB
		if lo != nil && d > a {
			nextLo = nil
		}
		if hi != nil && d < b {
			nextHi = nil
		}
		last := d
		if nextLo == nil && nextHi == nil { // all digits up to that of hi may be followed by any digits
			last = to
			if hi != nil {
				last--
			}
		}
		e := digit(d, last)
		switch more := f.digits(nextLo, nextHi, n+1); {
		case n+1 == f.most && !f.mayEnd(nextLo, nextHi):
			e = none
		case n+1 == f.most:
		case f.mayEnd(nextLo, nextHi):
			e = concat(e, optional(more))
		default:
			e = concat(e, more)
		}
		list = append(list, e)
		d = last
	}
	return alt(list...)
}

// head returns the first digit of s and the rest of s. Digits after the end are zero.
func head(s *string) (byte, *string) {
	if s == nil || *s == "" {
		return 0, s
	}
	rest := (*s)[1:]
	return (*s)[0] - '0', &rest
}

// far is more than any number that is generated without a bound.
var far = sync.OnceValue(func() *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(maxDigits), nil))
})

// unlessFar returns l, or nil if l has the given sign and is at least far from 0: such a bound has
// no effect.
func (l *limit) unlessFar(sign int) *limit {
	if l == nil || l.at.Sign() == sign && new(big.Rat).Abs(l.at).Cmp(far()) >= 0 {
		return nil
	}
	return l
}

// magnitude returns the limit without its sign.
func (l *limit) magnitude() bound {
	abs := new(big.Rat).Abs(l.at)
	text := abs.FloatString(2 * maxExponent) // exact: the number has at most this many decimals
	before, after, _ := strings.Cut(text, ".")
	n, _ := new(big.Int).SetString(before, 10)
	return bound{n, strings.TrimRight(after, "0"), l.open}
}

func (l *limit) magnitudeOrNil() *bound {
	if l == nil {
		return nil
	}
	b := l.magnitude()
	return &b
}

// integer returns the allowed integer that is nearest to l: not below l for sign 1, not above l for
// -1. It returns nil if l is nil.
func (l *limit) integer(sign int64) *big.Int {
	if l == nil {
		return nil
	}
	n := new(big.Int).Div(l.at.Num(), l.at.Denom()) // rounded down
	if !l.at.IsInt() {
		if sign > 0 {
			n.Add(n, big.NewInt(1))
		}
	} else if l.open {
		n.Add(n, big.NewInt(sign))
	}
	return n
}

// A limit is a lower or upper bound in a schema. open means that at itself is not allowed.
type limit struct {
	at   *big.Rat
	open bool
}
