// The parser's arguments of calls, filters and tests.

package jinja

// arguments parses what is in a call's parentheses.
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

// argument parses one argument. The order is that of Python: those by place, then those by
// name, with a list at any place after the first kind and a dict at the end.
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
