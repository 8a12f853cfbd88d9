package grammar

import (
	"math/big"
	"slices"
	"strings"
)

// This file has the numbers of JSON schemas.

// Digits that numbers have unless a bound needs more. Without a limit a model that
// repeats itself would write digits forever.
const (
	maxDigits         = 16
	maxFraction       = 16
	maxExponentDigits = 2
)

func digit(lo, hi byte) *expr { return byteRange('0'+lo, '0'+hi) }

// anyInteger and anyNumber are those without bounds.
func anyInteger() *expr {
	return concat(optional(literal("-")), alt(literal("0"), concat(digit(1, 9), repeat(digit(0, 9), 0, maxDigits-1))))
}

func anyNumber() *expr {
	fraction := concat(literal("."), repeat(digit(0, 9), 1, maxFraction))
	exponent := concat(alt(literal("e"), literal("E")), optional(alt(literal("+"), literal("-"))), repeat(digit(0, 9), 1, maxExponentDigits))
	return concat(anyInteger(), optional(fraction), optional(exponent))
}

// integersBetween matches the integers lo to hi; nil is no bound.
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

// naturals matches lo to hi, which is nil for all of maxDigits, or of those of lo.
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
	// The numbers as long as from, the longer ones, those as long as to.
	list := []*expr{digits(from, strings.Repeat("9", len(from)))}
	if most := len(to) - 1; most > len(from) {
		list = append(list, concat(digit(1, 9), repeat(digit(0, 9), len(from), most-1)))
	}
	return alt(append(list, digits("1"+strings.Repeat("0", len(to)-1), to))...)
}

// digits matches lo to hi, strings of the same length.
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

// A bound is a decimal number that is not negative: the digits before and after its point, the latter
// without zeros at the end; open if it is not allowed itself.
type bound struct {
	integer  *big.Int
	fraction string
	open     bool
}

// numbersBetween matches the decimal numbers between bounds, without exponents; nil is no bound.
func numbersBetween(lo, hi *limit) *expr {
	if lo == nil && hi == nil {
		return anyNumber()
	}
	lo, hi = lo.unlessFar(-1), hi.unlessFar(1)
	zero := bound{integer: new(big.Int)}
	var list []*expr
	if lo == nil || lo.at.Sign() < 0 {
		least := bound{integer: new(big.Int), open: true} // -0 is not written
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

// fraction matches what may follow the integer of lo and of hi, either of which may be nil.
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

// mayEnd reports whether a number is within its bounds if its digits end, of which lo and hi are the
// remaining ones; nil if the digits before already decide.
func (f fractions) mayEnd(lo, hi *string) bool {
	return (lo == nil || *lo == "" && !f.loOpen) && (hi == nil || *hi != "" || !f.hiOpen)
}

// digits matches one digit and those that may follow it.
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
		if nextLo == nil && nextHi == nil { // and so are all digits up to that of hi
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

// head is the first digit of s and the others; zero after its end.
func head(s *string) (byte, *string) {
	if s == nil || *s == "" {
		return 0, s
	}
	rest := (*s)[1:]
	return (*s)[0] - '0', &rest
}

// A limit is a bound of a schema.
type limit struct {
	at   *big.Rat
	open bool
}

// far is more than any number has that is written without a bound.
var far = new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(maxDigits), nil))

// unlessFar is l, or nil if it is so far away, in the direction of sign, that it says nothing.
func (l *limit) unlessFar(sign int) *limit {
	if l == nil || l.at.Sign() == sign && new(big.Rat).Abs(l.at).Cmp(far) >= 0 {
		return nil
	}
	return l
}

// magnitude is the limit without its sign.
func (l *limit) magnitude() bound {
	abs := new(big.Rat).Abs(l.at)
	text := abs.FloatString(2 * maxExponent) // exact: so many digits the number had at most
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

// integer is the integer next to l that is allowed, up for sign 1 and down for -1; nil for no limit.
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

// A multiple is what numbers are multiples of, or are not.
type multiple struct {
	path *location
	of   *big.Rat
	not  bool
}

const (
	maxDecimals = 20   // of what numbers are multiples of
	maxMultiple = 5000 // of its digits, without the point
)

// multiple is the beginning of the decimal numbers that are multiples of m: states are the remainder of the digits before,
// and how many of these are decimals.
func (a *automaton) multiple(m *big.Rat) (int32, error) {
	decimals, scaled := 0, new(big.Rat).Set(m)
	for ; !scaled.IsInt() && decimals < maxDecimals; decimals++ {
		scaled.Mul(scaled, big.NewRat(10, 1))
	}
	if !scaled.IsInt() || scaled.Cmp(big.NewRat(maxMultiple, 1)) > 0 {
		return 0, errorf(ErrTooLarge, "multiples of %s", m.RatString())
	}
	n := int(scaled.Num().Int64())
	// 10 to the power of how many decimals are still to come.
	power := make([]int, decimals+1)
	for i := range power {
		if power[i] = 1 % n; i > 0 {
			power[i] = power[i-1] * 10 % n
		}
	}
	base := int32(len(a.states))
	state := func(after, rest int) int32 { return base + int32((after+1)*n+rest) } // after is -1 before the point
	point, zero := a.label([]runeRange{{'.', '.'}}), a.label([]runeRange{{'0', '0'}})
	for after := -1; after <= decimals; after++ {
		for rest := range n {
			var s anode
			for d := range 10 {
				label := a.label([]runeRange{{'0' + rune(d), '0' + rune(d)}})
				if to := (rest*10 + d) % n; after < 0 {
					s.on = append(s.on, way{label, state(after, to)})
				} else if after < decimals {
					s.on = append(s.on, way{label, state(after+1, to)})
				}
			}
			if after < 0 {
				s.on = append(s.on, way{point, state(0, rest)})
			}
			if after == decimals {
				s.on = append(s.on, way{zero, state(after, rest)})
			}
			if rest*power[decimals-max(after, 0)]%n == 0 {
				s.free = []way{{always, 0}}
			}
			a.states = append(a.states, s)
		}
	}
	sign := a.label([]runeRange{{'-', '-'}})
	return a.add([]way{{sign, state(-1, 0)}}, []way{{always, state(-1, 0)}}), a.full()
}

// Forms of numbers: without an exponent, and with a fraction that is not 0.
const (
	decimalForm  = `^[0-9.-]*$`
	fractionForm = `^[0-9-]*\.[0-9]*[1-9][0-9]*$`
)

// number is the numbers that f allows.
func (c *schemaCompiler) number(f *facts) (*expr, error) {
	base := numbersBetween(f.lo, f.hi)
	if f.integer {
		if f.fraction {
			return none, nil
		}
		base = integersBetween(f.lo.unlessFar(-1).integer(1), f.hi.unlessFar(1).integer(-1))
	}
	if len(f.multiples) == 0 && !f.fraction {
		return base, nil
	}
	a := c.automaton()
	start, err := a.expr(base, 0)
	if err != nil {
		return nil, err
	}
	forms := []textRule{{pattern: decimalForm}}
	if f.fraction {
		forms = append(forms, textRule{pattern: fractionForm})
	}
	starts, not := []int32{start}, []bool{false}
	for _, r := range forms {
		s, err := c.start(r)
		if err != nil {
			return nil, err
		}
		starts, not = append(starts, s), append(not, false)
	}
	for _, m := range f.multiples {
		s, err := a.multiple(m.of)
		if err != nil {
			if err := c.leave(unheldAt(err, m.path, "%s", reasonOf(err))); err != nil {
				return nil, err
			}
			continue
		}
		starts, not = append(starts, s), append(not, m.not)
	}
	d, err := a.determine(starts, agree(not))
	if err != nil {
		if len(f.multiples) > 0 && isRefusal(err) {
			return base, c.leave(unheldAt(err, f.multiples[0].path, "%s", reasonOf(err)))
		}
		return nil, err
	}
	return d.expr(&c.program, runes{}), nil
}

// agree reports of what automata say whether each holds that should, and none that should not.
func agree(not []bool) func(ends []bool) bool {
	return func(ends []bool) bool {
		for i, end := range ends {
			if end == not[i] {
				return false
			}
		}
		return true
	}
}

// expr is the beginning of the texts of e, which go on with then. E is of ASCII, and calls no rules.
func (a *automaton) expr(e *expr, then int32) (int32, error) {
	if err := a.full(); err != nil {
		return 0, err
	}
	switch e.op {
	case opEmpty:
		return then, nil
	case opByte:
		return a.add([]way{{a.label([]runeRange{{rune(e.lo), rune(e.hi)}}), then}}, nil), nil
	case opConcat:
		for _, sub := range slices.Backward(e.sub) {
			var err error
			if then, err = a.expr(sub, then); err != nil {
				return 0, err
			}
		}
		return then, nil
	case opAlt:
		s := anode{}
		for _, sub := range e.sub {
			to, err := a.expr(sub, then)
			if err != nil {
				return 0, err
			}
			s.free = append(s.free, way{always, to})
		}
		return a.add(nil, s.free), nil
	case opRepeat: // with a limit
		end := then
		for n := e.max; n > 0; n-- {
			to, err := a.expr(e.sub[0], then)
			if err != nil {
				return 0, err
			}
			if then = to; n > e.min {
				then = a.add(nil, []way{{always, to}, {always, end}})
			}
		}
		return then, nil
	}
	return a.add(nil, nil), nil // opNone
}

// admitsNumber reports whether a number of an enumeration is as f says otherwise.
func admitsNumber(f *facts, v *value) (bool, error) {
	if !f.integer && !f.fraction && f.lo == nil && f.hi == nil && len(f.multiples) == 0 {
		return true, nil
	}
	n := v.rational()
	if n == nil {
		return false, errorf(ErrTooLarge, "%s: %.60s has too many digits", f.path, v.text)
	}
	for _, m := range f.multiples {
		if new(big.Rat).Quo(n, m.of).IsInt() == m.not {
			return false, nil
		}
	}
	return (!f.integer || n.IsInt()) && !(f.fraction && n.IsInt()) && f.lo.below(n) && f.hi.above(n), nil
}
