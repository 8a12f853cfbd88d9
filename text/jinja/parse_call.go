// The parser's calls, filters and tests, with their arguments.

package jinja

// arguments parses the arguments in a call's parentheses.
func (p *parser) arguments(a *arguments) error {
	for first := true; !p.accept(")"); first = false {
		if !first {
			if err := p.expect(","); err != nil {
				return err
			}
			if p.accept(")") {
				break
			}
		}
		if err := p.argument(a); err != nil {
			return err
		}
	}
	return nil
}

// argument parses one argument. The order is that of Python: those by place, then those by name,
// with a list at any place after the first kind and a dict at the end.
func (p *parser) argument(a *arguments) error {
	key, into := "", (*expr)(nil)
	t, after := p.peek(), p.tokens[min(p.pos+1, len(p.tokens)-1)]
	switch {
	case a.dict != nil:
		return p.errorf("argument after **")
	case t.kind == tOp && t.text == "*":
		into = &a.list
	case t.kind == tOp && t.text == "**":
		into = &a.dict
	case t.kind == tName && after.kind == tOp && after.text == "=":
		key = t.text
		p.pos += 2
	case a.list != nil || len(a.names) > 0:
		return p.errorf("argument by place after others")
	}
	if into != nil {
		if *into != nil {
			return p.errorf("%s twice in a call", t.text)
		}
		p.pos++
	}
	x, err := p.expression()
	switch {
	case err != nil:
		return err
	case into != nil:
		*into = x
	case key != "":
		a.names, a.named = append(a.names, key), append(a.named, x)
	default:
		a.plain = append(a.plain, x)
	}
	return nil
}

// filters parses |filters, "is" tests and calls after an expression.
func (p *parser) filters(x expr) (expr, error) {
	for n := 0; ; n++ {
		if n > 8*maxDepth {
			return nil, p.errorf("more than %d filters in a row", n)
		}
		var err error
		switch {
		case p.accept("|"):
			x, err = p.filter(x)
		case p.peek().kind == tName && p.accept("is"):
			x, err = p.test(x)
		case p.accept("("):
			c := &callExpr{fn: x}
			x, err = c, p.arguments(&c.arguments)
		default:
			return x, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) filter(x expr) (expr, error) {
	n, err := p.name()
	if err != nil {
		return nil, err
	}
	f := &filterExpr{x: x, name: n, apply: filters[n]}
	if f.apply == nil {
		p.absent.add(p.errorf("filter %q is unknown or not supported", n))
		f.apply = unknownFilter(n)
	}
	if p.accept("(") {
		err = p.arguments(&f.arguments)
	}
	return f, err
}

func (p *parser) test(x expr) (expr, error) {
	t := &testExpr{x: x, negate: p.accept("not")}
	var err error
	if t.name, err = p.name(); err != nil {
		return nil, err
	}
	if t.apply = tests[t.name]; t.apply == nil {
		p.absent.add(p.errorf("test %q is unknown or not supported", t.name))
		t.apply = unknownTest(t.name)
	}
	if p.accept("(") {
		return t, p.arguments(&t.arguments)
	}
	// An argument may stand without parentheses. Jinja takes "if", "not", "in" and "is" for one, so
	// that "x is defined if y" is an error.
	switch n := p.peek(); {
	case n.kind == tName && n.text != "else" && n.text != "or" && n.text != "and",
		n.kind == tString, n.kind == tInt, n.kind == tFloat,
		n.kind == tOp && (n.text == "[" || n.text == "{"):
		y, err := p.primary()
		if err != nil {
			return nil, err
		}
		if y, err = p.postfix(y); err != nil {
			return nil, err
		}
		t.plain = []expr{y}
	}
	return t, nil
}

// filterChain parses the filters after {% set x | … %} and {% filter … %}; they apply to a captured
// block.
func (p *parser) filterChain() (expr, error) {
	if p.peek().text != "|" {
		return nil, nil
	}
	return p.filters(captured{})
}
