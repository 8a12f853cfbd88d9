package grammar

import (
	"regexp/syntax"
	"slices"
	"unicode"

	"github.com/avoformer/avoformer/fault"
)

// This file builds automata from patterns. Anchors, word boundaries and look-ahead may be anywhere
// in a pattern.

// These constants say what precedes a place in the text: nothing, a character of a word, or another
// character.
const (
	afterNothing = iota
	afterWord
	afterOther
	befores
)

// A before has the state at a place of a pattern for each kind of preceding character.
type before [befores]int32

func same(s int32) before { return before{s, s, s} }

// search returns the first state of an automaton for the texts that contain a match of a pattern.
func (a *automaton) search(re *syntax.Regexp) (int32, error) {
	any := setOf(everyRune)
	around := &syntax.Regexp{Op: syntax.OpStar, Sub: []*syntax.Regexp{any}}
	b, err := a.pattern(re, same(a.anything()), false)
	if err != nil {
		return 0, err
	}
	b, err = a.pattern(around, b, false)
	return b[afterNothing], err
}

// pattern returns the states before a match of re that then follows. In a loop, the states of then
// are not complete yet.
func (a *automaton) pattern(re *syntax.Regexp, then before, loop bool) (b before, err error) {
	if err := a.full(); err != nil {
		return b, err
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return same(a.add(nil, nil)), nil
	case syntax.OpEmptyMatch:
		return then, nil
	case syntax.OpLiteral:
		for _, set := range slices.Backward(literalSets(re)) {
			then = a.character(set, then)
		}
		return then, nil
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return a.character(anySet(re), then), nil
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range slices.Backward(re.Sub) {
			if then, err = a.pattern(sub, then, loop); err != nil {
				return b, err
			}
		}
		return then, nil
	case syntax.OpAlternate:
		all := make([]before, len(re.Sub))
		for i, sub := range re.Sub {
			if all[i], err = a.pattern(sub, then, loop); err != nil {
				return b, err
			}
		}
		return a.either(all), nil
	case syntax.OpStar:
		return a.repeated(re.Sub[0], 0, -1, then, loop)
	case syntax.OpPlus:
		return a.repeated(re.Sub[0], 1, -1, then, loop)
	case syntax.OpQuest:
		return a.repeated(re.Sub[0], 0, 1, then, loop)
	case syntax.OpRepeat:
		return a.repeated(re.Sub[0], re.Min, re.Max, then, loop)
	}
	return a.assertion(re, then, loop)
}

// assertion does the same as pattern for expressions that match no characters.
func (a *automaton) assertion(re *syntax.Regexp, then before, loop bool) (b before, err error) {
	switch re.Op {
	case syntax.OpBeginText:
		nowhere := a.add(nil, nil)
		return before{then[afterNothing], nowhere, nowhere}, nil
	case syntax.OpEndText:
		for i := range b {
			b[i] = a.add(nil, []way{{atEnd, then[i]}})
		}
		return b, nil
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		in, out := a.label(word), a.label(negated(word))
		for i := range b {
			if (i == afterWord) == (re.Op == syntax.OpWordBoundary) {
				b[i] = a.add(nil, []way{{out, then[i]}, {atEnd, then[i]}})
			} else {
				b[i] = a.add(nil, []way{{in, then[i]}})
			}
		}
		return b, nil
	case opAhead, opNotAhead:
		return a.ahead(re, then, loop)
	}
	return b, errorf(fault.ErrUnsupported, "%s", re)
}

// ahead returns the states of a look-ahead: the rest of the text must match then, and it must
// begin, or must not begin, with a match of re.Sub[0].
func (a *automaton) ahead(re *syntax.Regexp, then before, loop bool) (b before, err error) {
	if loop {
		return b, errorf(fault.ErrUnsupported, "look-ahead in a repetition")
	}
	look, err := a.pattern(re.Sub[0], same(a.anything()), false)
	if err != nil {
		return b, err
	}
	for i := range b {
		if i > 0 && look[i] == look[i-1] && then[i] == then[i-1] {
			b[i] = b[i-1]
			continue
		}
		both, err := a.determine([]int32{look[i], then[i]}, func(ends []bool) bool { return ends[0] == (re.Op == opAhead) && ends[1] })
		if err != nil {
			return b, err
		}
		b[i] = a.embed(both)
	}
	return b, nil
}

// character returns the states before one character of set.
func (a *automaton) character(set []runeRange, then before) before {
	if then[afterWord] == then[afterOther] {
		return same(a.add([]way{{a.label(set), then[afterWord]}}, nil))
	}
	return same(a.add([]way{{a.label(common2(set, word)), then[afterWord]}, {a.label(common2(set, negated(word))), then[afterOther]}}, nil))
}

// either returns states that lead to each of several alternatives.
func (a *automaton) either(all []before) (b before) {
	for i := range b {
		if i > 0 && !slices.ContainsFunc(all, func(x before) bool { return x[i] != x[i-1] }) {
			b[i] = b[i-1]
			continue
		}
		var free []way
		for _, x := range all {
			free = append(free, way{always, x[i]})
		}
		b[i] = a.add(nil, free)
	}
	return b
}

// repeated returns the states before least to most matches of re; most -1 means no limit.
func (a *automaton) repeated(re *syntax.Regexp, least, most int, then before, loop bool) (b before, err error) {
	if most < 0 {
		// The way back to the beginning of a loop is added when its states are known.
		b := before{}
		for i := range b {
			if i > 0 && then[i] == then[i-1] && !hasAssertion(re) {
				b[i] = b[i-1]
				continue
			}
			b[i] = a.add(nil, []way{{always, then[i]}})
		}
		in, err := a.pattern(re, b, true)
		if err != nil {
			return b, err
		}
		for i := range b {
			if i == 0 || b[i] != b[i-1] {
				s := &a.states[b[i]]
				s.free = append(s.free, way{always, in[i]})
			}
		}
		then, most = b, least
	}
	end := then
	for n := most; n > 0; n-- {
		in, err := a.pattern(re, then, loop)
		if err != nil {
			return b, err
		}
		if then = in; n > least {
			then = a.either([]before{in, end})
		}
	}
	return then, nil
}

func hasAssertion(re *syntax.Regexp) bool {
	return isAssertion(re) || slices.ContainsFunc(re.Sub, hasAssertion)
}

// common2 returns the characters of both sets.
func common2(a, b []runeRange) (both []runeRange) {
	for _, x := range a {
		for _, y := range b {
			if lo, hi := max(x.lo, y.lo), min(x.hi, y.hi); lo <= hi {
				both = append(both, runeRange{lo, hi})
			}
		}
	}
	return both
}

// anySet returns the characters that a class or a dot matches.
func anySet(re *syntax.Regexp) []runeRange {
	switch re.Op {
	case syntax.OpAnyChar:
		return everyRune
	case syntax.OpAnyCharNotNL:
		return negated([]runeRange{{'\n', '\n'}})
	}
	return classSet(re)
}

// literalSets returns a set for each character of a literal: the character and, with the flag
// FoldCase, its other cases.
func literalSets(re *syntax.Regexp) [][]runeRange {
	sets := make([][]runeRange, len(re.Rune))
	for i, r := range re.Rune {
		sets[i] = []runeRange{{r, r}}
		if re.Flags&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				sets[i] = append(sets[i], runeRange{f, f})
			}
		}
	}
	return sets
}
