// Calls with a tag for each parameter.

package answer

import "strings"

// parameter is one of a call whose values are text.
type parameter struct {
	types []string
	value []byte // if its type is to be found out
	text  bool   // it is a string, which is given as it comes
	begun bool   // a new line after the tag has been left out
	tags  *tags
	count int
	names map[string]bool
}

// tags are those around parameters.
type tags struct {
	open     string // before the name
	stop     string // the first byte after it
	named    string // after it
	between  string // after that, maybe with white space before it
	end      string // after the value
	lines    bool   // the value stands on lines of its own
	function string // after all parameters
}

var (
	functionTags = &tags{open: "<parameter=", stop: ">", named: ">", end: "</parameter>", lines: true, function: "</function>"}
	glmTags      = &tags{open: "<arg_key>", stop: "<", named: "</arg_key>", between: "<arg_value>", end: "</arg_value>", function: "</tool_call>"}
)

func (p *Parser) functionHead(r *reader) state {
	r.space()
	if !r.literal("<function=") {
		return nil
	}
	name := r.word(">")
	if !r.literal(">") {
		return nil
	}
	return p.tagged(name, functionTags)
}

func (p *Parser) glmHead(r *reader) state {
	r.space()
	name := r.word("<{[")
	if c := r.peek(); c == '{' || c == '[' {
		return nil
	}
	return p.tagged(name, glmTags)
}

// tagged returns the state that begins a call with parameters in tags.
func (p *Parser) tagged(name string, t *tags) state {
	return func(p *Parser) bool {
		if !p.named(name) {
			return p.fail()
		}
		p.call.param = parameter{tags: t, names: map[string]bool{}}
		p.call.args = append(p.call.args, '{')
		p.state = (*Parser).parameter
		return true
	}
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
		ok = r.literal(t.named) && name != ""
		if ok && t.between != "" {
			r.space()
			ok = r.literal(t.between)
		}
	} else {
		ok = r.literal(t.function)
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
		p.state = (*Parser).afterObject
		return true
	}
	c.param.names[name] = true
	p.beginValue(name)
	p.state = (*Parser).value
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
	at := strings.Index(p.in, t.end)
	n := at
	if at < 0 {
		n = certain(p.in, []string{t.end}, false)
	}
	if t.lines && n > 0 && p.in[n-1] == '\n' {
		n--
	}
	if c.param.text {
		c.args = appendText(c.args, p.in[:n])
	} else {
		c.param.value = append(c.param.value, p.in[:n]...)
	}
	if at < 0 {
		p.take(n)
		return p.ended && p.fail()
	}
	p.take(at + len(t.end))
	if c.param.text {
		c.args = append(c.args, '"')
	} else {
		c.args = append(c.args, cast(string(c.param.value), c.param.types)...)
	}
	p.state = (*Parser).parameter
	return true
}
