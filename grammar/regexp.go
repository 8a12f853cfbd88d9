package grammar

import (
	"regexp/syntax"

	"github.com/avoformer/avoformer/fault"
)

// Regexp compiles a regular expression in the syntax of package regexp, with Perl's flags. The
// whole text must match it. It may have literals, classes, alternatives, groups, repetitions
// (greedy and lazy ones match the same texts), and the flags i, s and U. The anchors ^ and $, and
// \A and \z, are allowed at the beginning and at the end, where they have no effect. Other anchors,
// multi-line mode and word boundaries are fault.ErrUnsupported, as are look-around and
// back-references, which package regexp does not have either.
func Regexp(pattern string) (*Grammar, error) {
	p := &program{}
	p.rule(nil, nil)
	re, err := parseRegexp(pattern)
	if err != nil {
		return nil, err
	}
	if p.rules[0], err = regexpExpr(pattern, re, runes{}, false); err != nil {
		return nil, err
	}
	return compile(p)
}

// An encoder returns the expression of one character of a set, as the text encodes it.
type encoder interface {
	class(set []runeRange) *expr
}

// runes encodes characters as UTF-8.
type runes struct{}

func (runes) class(set []runeRange) *expr { return class(set) }

// regexpExpr returns the expression of a pattern with the syntax tree re, with characters encoded
// by s. If search is set, the pattern may match a part of the text, as in JSON schemas.
func regexpExpr(pattern string, re *syntax.Regexp, s encoder, search bool) (*expr, error) {
	var alternatives []*expr
	for _, branch := range branches(re) {
		branch, begin, end := unanchored(branch)
		e, err := converter{pattern, s}.expr(branch)
		if err != nil {
			return nil, err
		}
		if search {
			anything := star(s.class(everyRune))
			if !begin {
				e = concat(anything, e)
			}
			if !end {
				e = concat(e, anything)
			}
		}
		alternatives = append(alternatives, e)
	}
	return alt(alternatives...), nil
}

// branches returns the alternatives of re. Each of them may have its own anchors.
func branches(re *syntax.Regexp) []*syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture:
		return branches(re.Sub[0])
	case syntax.OpAlternate:
		var all []*syntax.Regexp
		for _, sub := range re.Sub {
			all = append(all, branches(sub)...)
		}
		return all
	}
	return []*syntax.Regexp{re}
}

// unanchored returns re without anchors at its beginning and end, and reports whether there were
// any.
func unanchored(re *syntax.Regexp) (rest *syntax.Regexp, begin, end bool) {
	list := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		list = re.Sub
	}
	for len(list) > 0 && list[0].Op == syntax.OpBeginText {
		list, begin = list[1:], true
	}
	for len(list) > 0 && list[len(list)-1].Op == syntax.OpEndText {
		list, end = list[:len(list)-1], true
	}
	if len(list) == 0 {
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}, begin, end
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: list}, begin, end
}

type converter struct {
	pattern string
	encoder
}

func (c converter) expr(re *syntax.Regexp) (*expr, error) {
	switch re.Op {
	case syntax.OpNoMatch:
		return none, nil
	case syntax.OpEmptyMatch:
		return empty, nil
	case syntax.OpLiteral:
		return c.literal(re), nil
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return c.class(anySet(re)), nil
	case syntax.OpCapture, syntax.OpConcat, syntax.OpAlternate, syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		sub := make([]*expr, len(re.Sub))
		for i, r := range re.Sub {
			var err error
			if sub[i], err = c.expr(r); err != nil {
				return nil, err
			}
		}
		return combine(re, sub), nil
	}
	return nil, errorf(fault.ErrUnsupported, "%.200q: %s, other than at the beginning or the end", c.pattern, re)
}

// combine returns the expression of re from the expressions of its parts.
func combine(re *syntax.Regexp, sub []*expr) *expr {
	switch re.Op {
	case syntax.OpAlternate:
		return alt(sub...)
	case syntax.OpStar:
		return star(sub[0])
	case syntax.OpPlus:
		return repeat(sub[0], 1, -1)
	case syntax.OpQuest:
		return optional(sub[0])
	case syntax.OpRepeat:
		return repeat(sub[0], re.Min, re.Max)
	}
	return concat(sub...)
}

// literal returns the expression of a literal.
func (c converter) literal(re *syntax.Regexp) *expr {
	sets := literalSets(re)
	sub := make([]*expr, len(sets))
	for i, set := range sets {
		sub[i] = c.class(set)
	}
	return concat(sub...)
}
