package grammar

import (
	"errors"
	"regexp/syntax"
	"slices"
	"unicode"
)

// Regexp compiles a regular expression in the syntax of package regexp, with Perl's flags, which the
// whole text has to match: literals, classes, alternatives, groups, repetitions (greedy or not is
// the same), flags i, s and U. The anchors ^ and $, and \A and \z, may stand at the beginning and at the end,
// where they say nothing new. Other anchors, multi-line mode and word boundaries are ErrUnsupported,
// as are look-around and back-references, which package regexp does not have either.
func Regexp(pattern string) (*Grammar, error) {
	p := &program{}
	p.rule(nil, nil)
	e, err := regexpExpr(pattern, runes{}, false)
	if err != nil {
		return nil, err
	}
	p.rules[0] = e
	return compile(p)
}

// parseRegexp is syntax.Parse with the errors of this package.
func parseRegexp(pattern string) (*syntax.Regexp, error) {
	if len(pattern) > maxSource {
		return nil, errorf(ErrTooLarge, "a regular expression of %d bytes", len(pattern))
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err == nil {
		return re, nil
	}
	sentinel := ErrSyntax
	if e := new(syntax.Error); errors.As(err, &e) {
		switch e.Code {
		case syntax.ErrInvalidPerlOp:
			sentinel = ErrUnsupported
		case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			sentinel = ErrTooLarge
		}
	}
	return nil, errorf(sentinel, "%.200q: %v", pattern, err)
}

// A speller says how a character of a set is written in the text.
type speller interface {
	class(set []runeRange) *expr
}

// runes are written as they are.
type runes struct{}

func (runes) class(set []runeRange) *expr { return class(set) }

// regexpExpr is the expression of a pattern whose characters are written by s. What matches a part
// of the text is enough if search is set, as in JSON schemas.
func regexpExpr(pattern string, s speller, search bool) (*expr, error) {
	re, err := parseRegexp(pattern)
	if err != nil {
		return nil, err
	}
	var alternatives []*expr
	for _, branch := range branches(re) {
		branch, begin, end := unanchored(branch)
		e, err := converter{pattern, s}.expr(branch)
		if err != nil {
			return nil, err
		}
		if search {
			anything := star(s.class([]runeRange{{0, unicode.MaxRune}}))
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

// branches are the alternatives of re, each of which may have anchors of its own.
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

// unanchored is re without anchors at its beginning and end, and whether there were any.
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
	speller
}

func (c converter) expr(re *syntax.Regexp) (*expr, error) {
	switch re.Op {
	case syntax.OpNoMatch:
		return none, nil
	case syntax.OpEmptyMatch:
		return empty, nil
	case syntax.OpLiteral:
		return c.literal(re), nil
	case syntax.OpCharClass:
		var set []runeRange
		for i := 0; i+1 < len(re.Rune); i += 2 {
			set = append(set, runeRange{re.Rune[i], re.Rune[i+1]})
		}
		return c.class(set), nil
	case syntax.OpAnyChar:
		return c.class([]runeRange{{0, unicode.MaxRune}}), nil
	case syntax.OpAnyCharNotNL:
		return c.class(negated([]runeRange{{'\n', '\n'}})), nil
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
	return nil, errorf(ErrUnsupported, "%.200q: %s, other than at the beginning or the end", c.pattern, re)
}

// combine is the expression of re, made of those of its parts.
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

// literal is the characters of re, each with those that differ from it by their case alone if so
// flagged.
func (c converter) literal(re *syntax.Regexp) *expr {
	sub := make([]*expr, len(re.Rune))
	for i, r := range re.Rune {
		set := []runeRange{{r, r}}
		if re.Flags&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				set = append(set, runeRange{f, f})
			}
		}
		sub[i] = c.class(slices.Clip(set))
	}
	return concat(sub...)
}
