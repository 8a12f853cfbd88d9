// The parser's expressions, one function per level of precedence. Those that nest, expression and
// unary, are in parser.go.

package jinja

import "strconv"

// tuple parses an expression, or several with commas between them.
func (p *parser) tuple() (expr, error) { return p.tupleWith(p.expression) }

func (p *parser) tupleWith(element func() (expr, error)) (expr, error) {
	x, err := element()
	if err != nil || p.peek().text != "," || p.peek().kind != tOp {
		return x, err
	}
	items := []expr{x}
	for p.accept(",") {
		if t := p.peek(); t.kind == tEnd || t.kind == tOp && t.text != "(" && t.text != "[" && t.text != "{" && t.text != "-" && t.text != "+" {
			break // a trailing comma
		}
		if x, err = element(); err != nil {
			return nil, err
		}
		items = append(items, x)
	}
	return &listExpr{items, true}, nil
}

// withoutCondition parses "or" and what binds tighter: an "if" after it belongs to the loop that it
// is in.
func (p *parser) withoutCondition() (expr, error) {
	return p.leftBinary([]string{"or"}, func() (expr, error) {
		return p.leftBinary([]string{"and"}, p.not)
	})
}

// leftBinary parses operators of one level, which bind to the left.
func (p *parser) leftBinary(ops []string, operand func() (expr, error)) (expr, error) {
	x, err := operand()
	for n := 0; err == nil; n++ {
		op := p.operator(ops)
		if op == "" {
			break
		}
		if n >= 8*maxDepth {
			return nil, p.errorf("more than %d operators in a row", n) // each nests one deeper
		}
		var y expr
		if y, err = operand(); err == nil {
			x = &binaryExpr{op, x, y}
		}
	}
	return x, err
}

func (p *parser) operator(ops []string) string {
	for _, op := range ops {
		if p.accept(op) {
			return op
		}
	}
	return ""
}

func (p *parser) not() (expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if p.accept("not") {
		x, err := p.not()
		return &unaryExpr{"not", x}, err
	}
	return p.compare()
}

func (p *parser) compare() (expr, error) {
	x, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &compareExpr{first: x}
	for {
		op := p.operator([]string{"==", "!=", "<", "<=", ">", ">=", "in"})
		if op == "" && p.peek().text == "not" && p.peek().kind == tName && p.tokens[p.pos+1].text == "in" {
			p.pos += 2
			op = "not in"
		}
		if op == "" {
			break
		}
		y, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.ops, c.rest = append(c.ops, op), append(c.rest, y)
	}
	if len(c.ops) == 0 {
		return x, nil
	}
	return c, nil
}

func (p *parser) sum() (expr, error) { return p.leftBinary([]string{"+", "-"}, p.concat) }

func (p *parser) concat() (expr, error) { return p.leftBinary([]string{"~"}, p.product) }

func (p *parser) product() (expr, error) {
	return p.leftBinary([]string{"*", "/", "//", "%"}, p.power)
}

func (p *parser) power() (expr, error) {
	return p.leftBinary([]string{"**"}, func() (expr, error) { return p.unary(true) })
}

func (p *parser) primary() (expr, error) {
	t := p.next()
	switch t.kind {
	case tName:
		switch t.text {
		case "true", "True":
			return literal{true}, nil
		case "false", "False":
			return literal{false}, nil
		case "none", "None":
			return literal{nil}, nil
		case "and", "or", "not", "in", "is", "if", "else", "elif":
			return nil, syntaxError(t.line, "unexpected %q", t.text)
		}
		p.names[t.text] = true
		return name(t.text), nil
	case tString:
		s := t.text
		for p.peek().kind == tString {
			s += p.next().text
		}
		return literal{s}, nil
	case tInt:
		v, err := number(t)
		return literal{v}, err
	case tFloat:
		v, _ := strconv.ParseFloat(t.text, 64) // infinity if it is too large, as in Python
		return literal{v}, nil
	case tOp:
		switch t.text {
		case "(":
			return p.parenthesised()
		case "[":
			items, err := p.items("]")
			return &listExpr{items, false}, err
		case "{":
			return p.dict()
		}
	}
	return nil, syntaxError(t.line, "unexpected %q", t.text)
}

// number returns the value of a token tInt.
func number(t token) (any, error) {
	v, ok := parseInteger(t.text, 0)
	if !ok {
		return nil, syntaxError(t.line, "an integer of more than %d digits", maxDigits)
	}
	return v, nil
}

func (p *parser) parenthesised() (expr, error) {
	if p.accept(")") {
		return &listExpr{nil, true}, nil
	}
	x, err := p.tuple()
	if err != nil {
		return nil, err
	}
	return x, p.expect(")")
}

func (p *parser) items(end string) ([]expr, error) {
	var items []expr
	for !p.accept(end) {
		if len(items) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			if p.accept(end) {
				break
			}
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		items = append(items, x)
	}
	return items, nil
}

func (p *parser) dict() (expr, error) {
	d := &dictExpr{}
	for !p.accept("}") {
		if len(d.keys) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			if p.accept("}") {
				break
			}
		}
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys, d.values = append(d.keys, k), append(d.values, v)
	}
	return d, nil
}

// postfix parses attributes, subscripts and calls.
func (p *parser) postfix(x expr) (expr, error) {
	for n := 0; ; n++ {
		if n > 8*maxDepth {
			return nil, p.errorf("more than %d subscripts in a row", n)
		}
		var err error
		switch {
		case p.accept("."):
			t := p.next()
			switch t.kind {
			case tName:
				x = &attrExpr{x, t.text}
			case tInt:
				v, err := number(t)
				if err != nil {
					return nil, err
				}
				x = &itemExpr{x, literal{v}}
			default:
				return nil, syntaxError(t.line, "expected a name or a number after the point, got %q", t.text)
			}
		case p.accept("["):
			if x, err = p.subscript(x); err != nil {
				return nil, err
			}
		case p.accept("("):
			c := &callExpr{fn: x}
			if err := p.arguments(&c.arguments); err != nil {
				return nil, err
			}
			x = c
		default:
			return x, nil
		}
	}
}

func (p *parser) subscript(x expr) (expr, error) {
	var bounds [3]expr
	n, colons := 0, 0
	for !p.accept("]") {
		if p.accept(":") {
			if colons++; colons > 2 {
				return nil, p.errorf("too many colons in a slice")
			}
			n = colons
			continue
		}
		if bounds[n] != nil {
			return nil, p.errorf("expected \"]\", got %q", p.peek().text)
		}
		y, err := p.tuple()
		if err != nil {
			return nil, err
		}
		bounds[n] = y
	}
	if colons > 0 {
		return &sliceExpr{x, bounds}, nil
	}
	if bounds[0] == nil {
		return nil, p.errorf("empty subscript")
	}
	return &itemExpr{x, bounds[0]}, nil
}
