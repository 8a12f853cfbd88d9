// The parser's statements: text, output and the tags of {% %}. And the expressions that nest.

package jinja

import (
	"slices"
	"strings"
	"time"
)

type parser struct {
	tokens []token
	pos    int
	depth  int
	loops  int             // loops around the statement, for break and continue
	names  map[string]bool // read anywhere in the macro that is being parsed
	absent absent
}

// Template is a parsed template. It may be rendered by many goroutines at once.
type Template struct {
	body []stmt
	now  func() time.Time
}

// Parse parses a template. Errors match [fault.ErrTemplateSyntax].
func Parse(source string) (*Template, error) {
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, names: map[string]bool{}}
	body, _, err := p.block()
	if err != nil {
		return nil, err
	}
	p.absent.settle(0)
	if p.absent.failed != nil {
		return nil, p.absent.failed
	}
	return &Template{body, time.Now}, nil
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tEOF {
		p.pos++
	}
	return t
}

func (p *parser) errorf(format string, args ...any) error {
	return syntaxError(p.peek().line, format, args...)
}

// accept consumes an operator or a name if it is the next token.
func (p *parser) accept(text string) bool {
	if t := p.peek(); (t.kind == tOp || t.kind == tName) && t.text == text {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.errorf("expected %q, got %q", text, p.peek().text)
	}
	return nil
}

func (p *parser) end() error {
	if t := p.next(); t.kind != tEnd {
		return syntaxError(t.line, "expected the end of the tag, got %q", t.text)
	}
	return nil
}

func (p *parser) name() (string, error) {
	t := p.next()
	if t.kind != tName {
		return "", syntaxError(t.line, "expected a name, got %q", t.text)
	}
	return t.text, nil
}

func (p *parser) deeper() error {
	if p.depth++; p.depth > maxDepth {
		return p.errorf("nested more than %d deep", maxDepth)
	}
	return nil
}

// block parses statements up to one of the tags in until, whose name it consumes and returns;
// without until, up to the end of the template.
func (p *parser) block(until ...string) ([]stmt, string, error) {
	if err := p.deeper(); err != nil {
		return nil, "", err
	}
	defer func() { p.depth-- }()
	var body []stmt
	for {
		t := p.next()
		switch {
		case t.kind == tEOF && until == nil:
			return body, "", nil
		case t.kind == tEOF:
			return nil, "", p.errorf("unexpected end of template, wanted %s", strings.Join(until, " or "))
		case t.kind == tData:
			body = append(body, text(t.text))
		case t.text == "{{":
			x, err := p.tuple()
			if err != nil {
				return nil, "", err
			}
			if err := p.end(); err != nil {
				return nil, "", err
			}
			body = append(body, print{x})
		default:
			tag, err := p.name()
			if err != nil {
				return nil, "", err
			}
			if slices.Contains(until, tag) {
				return body, tag, nil
			}
			s, err := p.statement(tag)
			if err != nil {
				return nil, "", err
			}
			body = append(body, s)
		}
	}
}

// body parses the rest of an opening tag, and statements up to the tag end.
func (p *parser) body(end string) ([]stmt, error) {
	if err := p.end(); err != nil {
		return nil, err
	}
	body, _, err := p.block(end)
	if err != nil {
		return nil, err
	}
	return body, p.end()
}

func (p *parser) statement(tag string) (stmt, error) {
	switch tag {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement()
	case "set":
		return p.setStatement()
	case "macro":
		return p.macroStatement()
	case "call":
		return p.callStatement()
	case "filter":
		return p.filterStatement()
	case "with":
		return p.withStatement()
	case "generation":
		return p.generationStatement()
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.errorf("%s outside a loop", tag)
		}
		return jump(map[string]flow{"break": flowBreak, "continue": flowContinue}[tag]), p.end()
	}
	return nil, p.errorf("tag %q is unknown or not supported", tag)
}

func (p *parser) ifStatement() (stmt, error) {
	s := &ifStmt{}
	defer p.absent.optional(p.absent.mark())
	for {
		test, err := p.tuple()
		if err != nil {
			return nil, err
		}
		if err := p.end(); err != nil {
			return nil, err
		}
		body, tag, err := p.block("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		s.tests, s.bodies = append(s.tests, test), append(s.bodies, body)
		switch tag {
		case "endif":
			return s, p.end()
		case "else":
			if s.otherwise, err = p.body("endif"); err != nil {
				return nil, err
			}
			return s, nil
		}
	}
}

func (p *parser) forStatement() (stmt, error) {
	s := &forStmt{}
	var err error
	if s.targets, s.single, err = p.targets(); err != nil {
		return nil, err
	}
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	if s.over, err = p.tupleWith(p.withoutCondition); err != nil {
		return nil, err
	}
	scope := p.absent.mark()
	if p.accept("if") {
		if s.where, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if p.peek().text == "recursive" {
		return nil, p.errorf("recursive loops are not supported")
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	p.loops++
	body, tag, err := p.block("else", "endfor")
	p.loops--
	if err != nil {
		return nil, err
	}
	if s.body = body; tag == "else" {
		s.otherwise, err = p.body("endfor")
	} else {
		err = p.end()
	}
	p.absent.settle(scope)
	return s, err
}

// targets parses the names that a loop or an assignment gives values to:
// a, or a, b, or (a, b).
func (p *parser) targets() (names []string, single bool, err error) {
	paren := p.accept("(")
	single = !paren
	for {
		name, err := p.name()
		if err != nil {
			return nil, false, err
		}
		names = append(names, name)
		if !p.accept(",") {
			break
		}
		single = false
	}
	if paren {
		err = p.expect(")")
	}
	return names, single, err
}

func (p *parser) setStatement() (stmt, error) {
	s := &setStmt{}
	var err error
	if s.targets, s.single, err = p.targets(); err != nil {
		return nil, err
	}
	if s.single && p.accept(".") {
		if s.attribute, err = p.name(); err != nil {
			return nil, err
		}
	}
	if p.accept("=") {
		if s.value, err = p.tuple(); err != nil {
			return nil, err
		}
		return s, p.end()
	}
	if !s.single || s.attribute != "" {
		return nil, p.errorf("expected \"=\"")
	}
	scope := p.absent.mark()
	if s.filters, err = p.filterChain(); err != nil {
		return nil, err
	}
	s.body, err = p.body("endset")
	p.absent.settle(scope)
	return s, err
}

func (p *parser) expression() (expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	mark := p.absent.mark()
	x, err := p.withoutCondition()
	for err == nil && p.accept("if") {
		c := &condExpr{then: x}
		if c.test, err = p.withoutCondition(); err != nil {
			return nil, err
		}
		if p.accept("else") {
			if c.otherwise, err = p.expression(); err != nil {
				return nil, err
			}
		}
		p.absent.optional(mark)
		x = c
	}
	return x, err
}

func (p *parser) unary(withFilters bool) (expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	var x expr
	var err error
	if op := p.operator([]string{"-", "+"}); op != "" {
		if x, err = p.unary(false); err == nil {
			x = &unaryExpr{op, x}
		}
	} else {
		x, err = p.primary()
	}
	if err != nil {
		return nil, err
	}
	if x, err = p.postfix(x); err != nil || !withFilters {
		return x, err
	}
	return p.filters(x)
}
