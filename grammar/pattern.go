package grammar

import (
	"errors"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// This file reads the regular expressions of JSON schemas, which have the syntax of ECMA-262.

// These operations extend those of package regexp/syntax. The text that follows must begin with a
// match of Sub[0], or must not.
const (
	opAhead syntax.Op = 200 + iota
	opNotAhead
)

// parsePattern returns the tree of a pattern of a JSON schema. If the pattern is malformed in
// ECMA-262, parsePattern reads it as package regexp does, for patterns with flags, for example.
func parsePattern(pattern string) (*syntax.Regexp, error) {
	if len(pattern) > maxSource {
		return nil, errorf(fault.ErrTooLarge, "a pattern of %d bytes", len(pattern))
	}
	p := &patternParser{text: pattern}
	re, err := p.alternatives()
	if err == nil && p.at < len(pattern) {
		err = p.fail("a closing parenthesis without an opening one")
	}
	if errors.Is(err, fault.ErrSyntax) {
		if re, err := parseRegexp(pattern); err == nil {
			return re, nil
		}
	}
	return re, err
}

type patternParser struct {
	text  string
	at    int
	depth int
}

func (p *patternParser) fail(what string) error {
	return errorf(fault.ErrSyntax, "%.200q: %s", p.text, what)
}

func (p *patternParser) unsupported(what string) error {
	return errorf(fault.ErrUnsupported, "%.200q: %s", p.text, what)
}

// take reads s, and reports whether the pattern continues with it.
func (p *patternParser) take(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

// alternatives reads up to the end or a closing parenthesis.
func (p *patternParser) alternatives() (*syntax.Regexp, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, errorf(fault.ErrTooLarge, "%.200q: it nests deeper than %d", p.text, maxNesting)
	}
	defer func() { p.depth-- }()
	var all []*syntax.Regexp
	for {
		one, err := p.sequence()
		if err != nil {
			return nil, err
		}
		if all = append(all, one); !p.take("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return &syntax.Regexp{Op: syntax.OpAlternate, Sub: all}, nil
}

func (p *patternParser) sequence() (*syntax.Regexp, error) {
	all := &syntax.Regexp{Op: syntax.OpConcat}
	for p.at < len(p.text) && p.text[p.at] != '|' && p.text[p.at] != ')' {
		one, err := p.term()
		if err != nil {
			return nil, err
		}
		if one, err = p.quantified(one); err != nil {
			return nil, err
		}
		all.Sub = append(all.Sub, one)
	}
	switch len(all.Sub) {
	case 0:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}, nil
	case 1:
		return all.Sub[0], nil
	}
	return all, nil
}

// groups lists the beginnings of groups after the parenthesis.
var groups = []struct {
	begin string
	op    syntax.Op
}{{"?:", syntax.OpCapture}, {"?=", opAhead}, {"?!", opNotAhead}}

// term reads one character, class, group or assertion.
func (p *patternParser) term() (*syntax.Regexp, error) {
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	switch r {
	case '^':
		return &syntax.Regexp{Op: syntax.OpBeginText}, nil
	case '$':
		return &syntax.Regexp{Op: syntax.OpEndText}, nil
	case '.':
		return setOf(negated([]runeRange{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}})), nil
	case '[':
		return p.class()
	case '(':
		return p.group()
	case '*', '+', '?':
		return nil, p.fail("a repetition of nothing")
	case '\\':
		return p.escape()
	}
	return setOf([]runeRange{{r, r}}), nil
}

func (p *patternParser) group() (*syntax.Regexp, error) {
	op := syntax.OpCapture
	if strings.HasPrefix(p.text[p.at:], "?") {
		known := false
		for _, g := range groups {
			if p.take(g.begin) {
				op, known = g.op, true
				break
			}
		}
		switch {
		case known:
		case p.take("?<="), p.take("?<!"):
			return nil, p.unsupported("look-behind")
		case p.take("?<"):
			end := strings.IndexByte(p.text[p.at:], '>')
			if end < 1 {
				return nil, p.fail("a group without a name")
			}
			p.at += end + 1
		default:
			return nil, p.fail("an unknown kind of group")
		}
	}
	in, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.fail("a parenthesis is not closed")
	}
	return &syntax.Regexp{Op: op, Sub: []*syntax.Regexp{in}}, nil
}

// quantified reads the quantifier that follows, if any, and returns re with it.
func (p *patternParser) quantified(re *syntax.Regexp) (*syntax.Regexp, error) {
	least, most := 1, 1
	switch {
	case p.take("*"):
		least, most = 0, -1
	case p.take("+"):
		most = -1
	case p.take("?"):
		least = 0
	case p.at < len(p.text) && p.text[p.at] == '{':
		var n int
		var err error
		if least, most, n, err = p.counts(); n == 0 || err != nil {
			return re, err // the brace is a character
		}
		p.at += n
	default:
		return re, nil
	}
	p.take("?") // a lazy repetition matches the same texts
	if isAssertion(re) {
		return nil, p.fail("an assertion is repeated")
	}
	if p.at < len(p.text) && strings.IndexByte("*+?", p.text[p.at]) >= 0 {
		return nil, p.fail("a repetition is repeated")
	}
	return &syntax.Regexp{Op: syntax.OpRepeat, Min: least, Max: most, Sub: []*syntax.Regexp{re}}, nil
}

// counts parses {n}, {n,} or {n,m}, and returns its length n; 0 if the text is something else.
func (p *patternParser) counts() (least, most, n int, err error) {
	end := strings.IndexByte(p.text[p.at:], '}')
	if end < 0 {
		return 0, 0, 0, nil
	}
	from, to, ranged := strings.Cut(p.text[p.at+1:p.at+end], ",")
	number := func(s string) (int, bool) {
		for i := range len(s) {
			if s[i] < '0' || s[i] > '9' {
				return 0, false
			}
		}
		if len(s) > 9 {
			return maxPositions + 1, true
		}
		n, err := strconv.Atoi(s)
		return n, err == nil
	}
	least, ok := number(from)
	switch most = least; {
	case !ok:
		return 0, 0, 0, nil
	case ranged && to == "":
		most = -1
	case ranged:
		if most, ok = number(to); !ok {
			return 0, 0, 0, nil
		}
	}
	switch {
	case most >= 0 && most < least:
		err = p.fail("a repetition whose maximum is below its minimum")
	case max(least, most) > maxPositions:
		err = errorf(fault.ErrTooLarge, "%.200q: a repetition of more than %d times", p.text, maxPositions)
	}
	return least, most, end + 1, err
}

func isAssertion(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary, opAhead, opNotAhead:
		return true
	}
	return false
}

// setOf returns an expression for one character of a set.
func setOf(set []runeRange) *syntax.Regexp {
	re := &syntax.Regexp{Op: syntax.OpCharClass}
	for _, r := range normalised(set) {
		re.Rune = append(re.Rune, r.lo, r.hi)
	}
	return re
}

// classSet returns the characters of a class.
func classSet(re *syntax.Regexp) (set []runeRange) {
	for i := 0; i+1 < len(re.Rune); i += 2 {
		set = append(set, runeRange{re.Rune[i], re.Rune[i+1]})
	}
	return set
}

// escape reads what follows a backslash.
func (p *patternParser) escape() (*syntax.Regexp, error) {
	if p.at >= len(p.text) {
		return nil, p.fail("a backslash at the end")
	}
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	sets := map[rune][]runeRange{'d': digits10, 'D': negated(digits10), 'w': word, 'W': negated(word), 's': blank, 'S': negated(blank)}
	if set, ok := sets[r]; ok {
		return setOf(set), nil
	}
	switch r {
	case 'b':
		return &syntax.Regexp{Op: syntax.OpWordBoundary}, nil
	case 'B':
		return &syntax.Regexp{Op: syntax.OpNoWordBoundary}, nil
	case 'A': // in Perl and Python
		return &syntax.Regexp{Op: syntax.OpBeginText}, nil
	case 'z', 'Z':
		return &syntax.Regexp{Op: syntax.OpEndText}, nil
	case 'k', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return nil, p.unsupported("a back-reference")
	case 'p', 'P':
		set, err := p.property()
		if err == nil && r == 'P' {
			set = negated(set)
		}
		return setOf(set), err
	case 'c':
		if p.at < len(p.text) && unicode.IsLetter(rune(p.text[p.at])) && p.text[p.at] < 0x80 {
			p.at++
			c := rune(p.text[p.at-1] & 31)
			return setOf([]runeRange{{c, c}}), nil
		}
		return nil, p.fail(`an escape \c without a letter`)
	case 'x':
		return p.hex(2)
	case 'u':
		return p.unicode()
	}
	if c, ok := plainEscapes[byte(r)]; ok && r < 0x80 {
		r = c
	} else if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return nil, p.fail(`unknown escape \` + string(r))
	}
	return setOf([]runeRange{{r, r}}), nil
}

// hex reads n hexadecimal digits.
func (p *patternParser) hex(n int) (*syntax.Regexp, error) {
	if p.at+n <= len(p.text) {
		if c, err := strconv.ParseUint(p.text[p.at:p.at+n], 16, 32); err == nil && c <= utf8.MaxRune {
			p.at += n
			return setOf([]runeRange{{rune(c), rune(c)}}), nil
		}
	}
	return nil, p.fail("an escape without its hexadecimal digits")
}

// unicode reads the rest of an escape \u: four digits, four digits and a second \u for a surrogate
// pair, or digits in braces.
func (p *patternParser) unicode() (*syntax.Regexp, error) {
	if p.take("{") {
		end := strings.IndexByte(p.text[p.at:], '}')
		if end < 1 || end > 8 {
			return nil, p.fail("an escape without its hexadecimal digits")
		}
		re, err := p.hex(end)
		p.take("}")
		return re, err
	}
	digits := p.text[p.at:]
	re, err := p.hex(4)
	if err != nil || len(re.Rune) > 0 { // the set is empty for half of a surrogate pair
		return re, err
	}
	hi, _ := strconv.ParseUint(digits[:4], 16, 32)
	if hi < 0xdc00 && p.take(`\u`) && len(p.text)-p.at >= 4 {
		lo, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 32)
		if err == nil && lo >= 0xdc00 && lo <= surrogateHi {
			p.at += 4
			r := rune(0x10000 + (hi-0xd800)<<10 + (lo - 0xdc00))
			return setOf([]runeRange{{r, r}}), nil
		}
	}
	return nil, p.unsupported("half of a surrogate pair, which no text has")
}

// property reads the name after \p: a general category, a script, or another property.
func (p *patternParser) property() ([]runeRange, error) {
	name := ""
	if p.take("{") {
		end := strings.IndexByte(p.text[p.at:], '}')
		if end < 0 {
			return nil, p.fail("a property without its name")
		}
		name = p.text[p.at : p.at+end]
		p.at += end + 1
	} else if p.at < len(p.text) { // one letter, as in package regexp
		name = p.text[p.at : p.at+1]
		p.at++
	}
	if set, ok := propertySet(name); ok {
		return set, nil
	}
	return nil, p.fail("unknown property " + name)
}

// parseRegexp calls syntax.Parse, and returns errors of this package.
func parseRegexp(pattern string) (*syntax.Regexp, error) {
	if len(pattern) > maxSource {
		return nil, errorf(fault.ErrTooLarge, "a regular expression of %d bytes", len(pattern))
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err == nil {
		return re, nil
	}
	sentinel := fault.ErrSyntax
	if e := new(syntax.Error); errors.As(err, &e) {
		switch e.Code {
		case syntax.ErrInvalidPerlOp:
			sentinel = fault.ErrUnsupported
		case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
			sentinel = fault.ErrTooLarge
		}
	}
	return nil, errorf(sentinel, "%.200q: %v", pattern, err)
}
