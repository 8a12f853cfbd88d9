package grammar

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// GBNF compiles a grammar in llama.cpp's format: rules "name ::= ...", where a text must match the
// rule root; literals in quotes and classes in brackets, with the escapes
// \r \t \\ \" \[ \] \xHH \uHHHH \UHHHHHHHH for characters; "." for any character; groups;
// alternatives with |; * + ? {m} {m,} {,n} {m,n}; comments from # to the end of the line. A rule
// ends with its line, outside groups, unless the next line begins with |. Names consist of letters,
// digits, - and _.
//
// Rules may call each other and themselves, but not before any character (left recursion). Left
// recursion and references to tokens, <[1000]>, are fault.ErrUnsupported.
func GBNF(source string) (*Grammar, error) {
	switch {
	case len(source) > maxSource:
		return nil, errorf(fault.ErrTooLarge, "a grammar of %d bytes", len(source))
	case !utf8.ValidString(source):
		return nil, errorf(fault.ErrSyntax, "the grammar is not valid UTF-8")
	}
	g := &gbnf{text: source, rules: map[string]int{}}
	root := g.named("root")
	for g.space(true); g.at < len(g.text); g.space(true) {
		if err := g.definition(); err != nil {
			return nil, fmt.Errorf("%w, line %d", err, 1+strings.Count(source[:min(g.at, len(source))], "\n"))
		}
	}
	for rule, e := range g.program.rules {
		if e == nil && rule == root && len(g.names) == 1 {
			return nil, errorf(fault.ErrSyntax, "there is no rule named root")
		}
		if e == nil {
			return nil, errorf(fault.ErrSyntax, "there is no rule named %s", g.names[rule])
		}
	}
	return compile(&g.program)
}

// A gbnf parses a grammar.
type gbnf struct {
	program
	text  string
	at    int
	depth int
	rules map[string]int
}

// named returns the rule of a name.
func (g *gbnf) named(name string) int {
	rule, ok := g.rules[name]
	if !ok {
		rule = g.rule(ruleName(name), nil)
		g.rules[name] = rule
	}
	return rule
}

// peek returns the next byte, 0 at the end.
func (g *gbnf) peek() byte {
	if g.at < len(g.text) {
		return g.text[g.at]
	}
	return 0
}

func (g *gbnf) take(s string) bool {
	if strings.HasPrefix(g.text[g.at:], s) {
		g.at += len(s)
		return true
	}
	return false
}

func (g *gbnf) unexpected(want string) error {
	if g.at >= len(g.text) {
		return errorf(fault.ErrSyntax, "the grammar ends, want %s", want)
	}
	r, _ := utf8.DecodeRuneInString(g.text[g.at:])
	return errorf(fault.ErrSyntax, "%q, want %s", r, want)
}

// space skips blanks and comments and, if lines is set, ends of lines.
func (g *gbnf) space(lines bool) {
	for g.at < len(g.text) {
		switch c := g.text[g.at]; {
		case c == '#':
			for g.at < len(g.text) && g.text[g.at] != '\n' {
				g.at++
			}
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			g.at++
		default:
			return
		}
	}
}

func (g *gbnf) name() string {
	begin := g.at
	for g.at < len(g.text) && isNameByte(g.text[g.at]) {
		g.at++
	}
	return g.text[begin:g.at]
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func (g *gbnf) definition() error {
	name := g.name()
	if name == "" {
		return g.unexpected("the name of a rule")
	}
	g.space(false)
	if !g.take("::=") {
		return g.unexpected("::=")
	}
	g.space(true)
	rule := g.named(name)
	if len(g.names) > maxRules {
		return errorf(fault.ErrTooLarge, "more than %d rules", maxRules)
	}
	if g.program.rules[rule] != nil {
		return errorf(fault.ErrSyntax, "two rules are named %s", name)
	}
	e, err := g.alternatives()
	if err != nil {
		return err
	}
	if c := g.peek(); g.at < len(g.text) && c != '\n' && c != '\r' {
		return g.unexpected("the end of the line")
	}
	g.program.rules[rule] = e
	return nil
}

// alternatives reads sequences that | separates.
func (g *gbnf) alternatives() (*expr, error) {
	var list []*expr
	for {
		e, err := g.sequence()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		before := g.at
		g.space(true)
		if !g.take("|") {
			g.at = before
			return alt(list...), nil
		}
		g.space(true)
	}
}

// sequence reads items with their repetitions until no item begins.
func (g *gbnf) sequence() (*expr, error) {
	var list []*expr
	for {
		g.space(g.depth > 0)
		e, err := g.item()
		if err != nil {
			return nil, err
		}
		if e == nil {
			return concat(list...), nil
		}
		for n := 0; ; n++ {
			g.space(g.depth > 0)
			least, most, ok, err := g.times()
			if err != nil {
				return nil, err
			}
			if !ok {
				break
			}
			if n == maxNesting {
				return nil, errorf(fault.ErrTooLarge, "more than %d repetitions of a repetition", maxNesting)
			}
			e = repeat(e, least, most)
		}
		list = append(list, e)
	}
}

// item reads a literal, a class, a group or a name; it returns nil if none of these begins here.
func (g *gbnf) item() (*expr, error) {
	switch c := g.peek(); {
	case c == '"':
		return g.literal()
	case c == '[':
		return g.class()
	case c == '.':
		g.at++
		return class([]runeRange{{0, utf8.MaxRune}}), nil
	case c == '(':
		return g.group()
	case c == '<' || c == '!':
		return nil, errorf(fault.ErrUnsupported, "references to tokens")
	case isNameByte(c):
		return call(g.named(g.name())), nil
	}
	return nil, nil
}

func (g *gbnf) group() (*expr, error) {
	g.at++
	if g.depth++; g.depth > maxNesting {
		return nil, errorf(fault.ErrTooLarge, "groups nest deeper than %d", maxNesting)
	}
	e, err := g.alternatives()
	if err != nil {
		return nil, err
	}
	g.space(true)
	if !g.take(")") {
		return nil, g.unexpected(")")
	}
	g.depth--
	return e, nil
}

func (g *gbnf) literal() (*expr, error) {
	g.at++
	var list []*expr
	for !g.take(`"`) {
		r, err := g.character()
		if err != nil {
			return nil, err
		}
		list = append(list, class([]runeRange{{r, r}}))
	}
	return concat(list...), nil
}

func (g *gbnf) class() (*expr, error) {
	g.at++
	not := g.take("^")
	var set []runeRange
	for !g.take("]") {
		lo, err := g.character()
		if err != nil {
			return nil, err
		}
		hi := lo
		if g.peek() == '-' && !strings.HasPrefix(g.text[g.at:], "-]") {
			g.at++
			if hi, err = g.character(); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, errorf(fault.ErrSyntax, "the range %q-%q ends before it begins", lo, hi)
		}
		set = append(set, runeRange{lo, hi})
	}
	if not {
		set = negated(set)
	}
	return class(set), nil
}

// character reads one character of a literal or class.
func (g *gbnf) character() (rune, error) {
	r, n := utf8.DecodeRuneInString(g.text[g.at:])
	if n == 0 || r == '\n' {
		return 0, errorf(fault.ErrSyntax, "the line ends in a literal or class")
	}
	g.at += n
	if r != '\\' {
		return r, nil
	}
	digits := 0
	switch c := g.peek(); c {
	case 'n', 'r', 't':
		g.at++
		return map[byte]rune{'n': '\n', 'r': '\r', 't': '\t'}[c], nil
	case '\\', '"', '[', ']', '-', '^':
		g.at++
		return rune(c), nil
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return 0, g.unexpected("a character that may follow \\")
	}
	g.at++
	end := min(g.at+digits, len(g.text))
	code, err := strconv.ParseUint(g.text[g.at:end], 16, 32)
	if err != nil || end-g.at != digits || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
		return 0, errorf(fault.ErrSyntax, "%q is not the number of a character in %d hexadecimal digits", g.text[g.at:end], digits)
	}
	g.at = end
	return rune(code), nil
}

// times reads a repetition such as * or {2,3}. ok is false if there is none; most -1 means no
// limit.
func (g *gbnf) times() (least, most int, ok bool, err error) {
	switch {
	case g.take("*"):
		return 0, -1, true, nil
	case g.take("+"):
		return 1, -1, true, nil
	case g.take("?"):
		return 0, 1, true, nil
	case !g.take("{"):
		return 0, 0, false, nil
	}
	if least, ok, err = g.number(); err != nil {
		return 0, 0, false, err
	}
	most = least
	if g.take(",") {
		var limited bool
		if most, limited, err = g.number(); err != nil {
			return 0, 0, false, err
		}
		if !limited {
			most = -1
		}
		ok = ok || limited
	}
	switch {
	case !ok || !g.take("}"):
		return 0, 0, false, g.unexpected("{m}, {m,}, {,n} or {m,n}")
	case most >= 0 && most < least:
		return 0, 0, false, errorf(fault.ErrSyntax, "{%d,%d}: the maximum is below the minimum", least, most)
	}
	return least, most, true, nil
}

// number reads an optional number and the blanks around it.
func (g *gbnf) number() (n int, ok bool, err error) {
	for g.space(false); g.peek() >= '0' && g.peek() <= '9'; g.at++ {
		if n = 10*n + int(g.peek()-'0'); n > maxPositions {
			return 0, false, errorf(fault.ErrTooLarge, "a repetition of more than %d times", maxPositions)
		}
		ok = true
	}
	g.space(false)
	return n, ok, nil
}
