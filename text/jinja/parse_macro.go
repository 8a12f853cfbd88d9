// The parser's macros, and the other blocks with a scope of their own.

package jinja

func (p *parser) parameters(m *macroStmt) error {
	if err := p.expect("("); err != nil {
		return err
	}
	for !p.accept(")") {
		if len(m.params) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		name, err := p.name()
		if err != nil {
			return err
		}
		var value expr
		if p.accept("=") {
			if value, err = p.expression(); err != nil {
				return err
			}
		} else if len(m.defaults) > 0 && m.defaults[len(m.defaults)-1] != nil {
			return p.errorf("parameter without default after one with")
		}
		m.params, m.defaults = append(m.params, name), append(m.defaults, value)
	}
	return nil
}

// macroBody parses a macro's body, and notes which of the names varargs, kwargs and caller it
// reads: a macro takes more only if it does.
func (p *parser) macroBody(m *macroStmt, end string) (err error) {
	outer, loops, scope := p.names, p.loops, p.absent.mark()
	p.names, p.loops = map[string]bool{}, 0
	m.body, err = p.body(end)
	m.varargs, m.kwargs, m.caller = p.names["varargs"], p.names["kwargs"], p.names["caller"]
	for n := range p.names {
		outer[n] = true
	}
	p.names, p.loops = outer, loops
	p.absent.settle(scope)
	return err
}

func (p *parser) macroStatement() (stmt, error) {
	m := &macroStmt{}
	var err error
	if m.name, err = p.name(); err != nil {
		return nil, err
	}
	scope := p.absent.mark()
	if err := p.parameters(m); err != nil {
		return nil, err
	}
	p.absent.settle(scope)
	return m, p.macroBody(m, "endmacro")
}

func (p *parser) callStatement() (stmt, error) {
	s := &callStmt{block: &macroStmt{name: "caller"}}
	if p.peek().text == "(" {
		scope := p.absent.mark()
		if err := p.parameters(s.block); err != nil {
			return nil, err
		}
		p.absent.settle(scope)
	}
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	var ok bool
	if s.call, ok = x.(*callExpr); !ok {
		return nil, p.errorf("expected a call")
	}
	return s, p.macroBody(s.block, "endcall")
}

// generationStatement parses a block that the assistant wrote: a macro without a name, as far as
// scopes and loops go.
func (p *parser) generationStatement() (stmt, error) {
	m := &macroStmt{}
	err := p.macroBody(m, "endgeneration")
	return scoped(m.body), err
}

func (p *parser) filterStatement() (stmt, error) {
	scope := p.absent.mark()
	// The first filter has no bar before it.
	x, err := p.filter(captured{})
	if err != nil {
		return nil, err
	}
	if x, err = p.filters(x); err != nil {
		return nil, err
	}
	body, err := p.body("endfilter")
	p.absent.settle(scope)
	return &filterStmt{x, body}, err
}

func (p *parser) withStatement() (stmt, error) {
	s := &withStmt{}
	for p.peek().kind != tEnd {
		if len(s.names) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if err := p.expect("="); err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.names, s.values = append(s.names, name), append(s.values, value)
	}
	var err error
	scope := p.absent.mark()
	s.body, err = p.body("endwith")
	p.absent.settle(scope)
	return s, err
}
