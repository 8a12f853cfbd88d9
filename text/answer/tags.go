// Calls with a tag for each parameter.

package answer

var (
	functionTags = &tags{open: "<parameter=", stop: ">", named: ">", end: "</parameter>", ends: []string{"</parameter>", "<parameter=", "</function>", "</tool_call>"}, lines: true, function: "</function>",
		missing: "</tool_call>"}
	glmTags = &tags{open: "<arg_key>", stop: "<", named: "</arg_key>", between: "<arg_value>", end: "</arg_value>", ends: []string{"</arg_value>"}, function: "</tool_call>"}
)

// functionHead reads the name of a call.
func (p *Parser) functionHead(r *reader) *start {
	if !p.call.bare { // which begins with it
		r.space()
		if !r.literal(functionOpen) {
			return nil
		}
	}
	name := r.word("<>")
	r.space()
	if !r.literal(">") {
		return nil
	}
	return &start{state: beforeParameter, name: name, tags: functionTags}
}

func (p *Parser) glmHead(r *reader) *start {
	r.space()
	name := r.word("<{[")
	if c := r.peek(); c == '{' || c == '[' {
		return nil
	}
	return &start{state: beforeParameter, name: name, tags: glmTags}
}

// parameter reads the name of a parameter, or what follows the last one.
func (p *Parser) parameter() bool {
	c, t := &p.call, p.call.param.tags
	r := reader{in: p.in}
	r.space()
	open := r.literal(t.open)
	var name string
	ok := open
	if open {
		name = r.word(t.stop)
		r.space()
		ok = r.literal(t.named) && name != ""
		if ok && t.between != "" {
			r.space()
			ok = r.literal(t.between)
		}
	} else {
		at := r.at
		if ok = r.literal(t.function); !ok && t.missing != "" {
			if ok = r.literal(t.missing); ok {
				r.at = at // endOfCall reads it
			}
		}
	}
	switch {
	case r.short && !p.ended:
		return false
	case !ok || c.param.names[name]:
		return p.fail()
	}
	p.take(r.at)
	if !open {
		c.args = append(c.args, '}')
		p.state = afterObject
		return true
	}
	c.param.names[name] = true
	p.beginValue(name)
	p.state = inValue
	return true
}

// beginValue begins the value of a parameter.
func (p *Parser) beginValue(name string) {
	c := &p.call
	if c.param.count++; c.param.count > 1 {
		c.args = append(c.args, ", "...)
	}
	c.args = append(append(appendText(append(c.args, '"'), name), '"'), ": "...)
	c.param.types = p.tools[c.Name][name]
	c.param.text = isText(c.param.types)
	c.param.begun = false
	c.param.value = c.param.value[:0]
	if c.param.text {
		c.args = append(c.args, '"')
	}
}

// value reads the value of a parameter.
func (p *Parser) value() bool {
	c, t := &p.call, p.call.param.tags
	if t.lines && !c.param.begun {
		if p.in == "" {
			return p.ended && p.fail()
		}
		if p.in[0] == '\n' {
			p.take(1)
		}
	}
	c.param.begun = true
	n, end := find(p.in, t.ends)
	if end == "" {
		n = certain(p.in, t.ends, false)
	}
	at := n
	if t.lines && n > 0 && p.in[n-1] == '\n' {
		n--
	}
	if c.param.text {
		c.args = appendText(c.args, p.in[:n])
	} else {
		c.param.value = append(c.param.value, p.in[:n]...)
	}
	switch end {
	case "":
		p.take(n)
		return p.ended && p.fail()
	case t.end:
		at += len(end)
	}
	p.take(at)
	if c.param.text {
		c.args = append(c.args, '"')
	} else {
		c.args = append(c.args, cast(string(c.param.value), c.param.types)...)
	}
	p.state = beforeParameter
	return true
}
