package grammar

import (
	"math/big"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file generates numbers with multipleOf, and numbers that are not integers, by automata.

const (
	maxDecimals = 20   // largest number of decimals of a multipleOf
	maxMultiple = 5000 // largest multipleOf, read as an integer without its point
)

// multiple returns the first state of an automaton for the decimal numbers that are multiples of m.
// Each state stands for a remainder of the digits so far and a number of decimals among them.
func (a *automaton) multiple(m *big.Rat) (int32, error) {
	decimals, scaled := 0, new(big.Rat).Set(m)
	for ; !scaled.IsInt() && decimals < maxDecimals; decimals++ {
		scaled.Mul(scaled, big.NewRat(10, 1))
	}
	if !scaled.IsInt() || scaled.Cmp(big.NewRat(maxMultiple, 1)) > 0 {
		return 0, errorf(fault.ErrTooLarge, "multiples of %s", m.RatString())
	}
	n := int(scaled.Num().Int64())
	// power[i] is 10 to the power of i modulo n, for i decimals that are still missing.
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

// Patterns of numbers: without an exponent, and with a fraction that is not 0.
const (
	decimalForm  = `^[0-9.-]*$`
	fractionForm = `^[0-9-]*\.[0-9]*[1-9][0-9]*$`
)

// number returns the numbers that f allows.
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

// expr returns the first state of the texts of e, which continue with then. e has only ASCII
// characters, and calls no rules.
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
	case opRepeat: // always with a maximum
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
