// Calls in JSON.

package answer

import "github.com/avoformer/avoformer/internal/pyjson"

// objectHead reads the beginning of an object, or of a list of objects.
func (p *Parser) objectHead(r *reader) *start {
	r.space()
	switch r.peek() {
	case '[':
		r.at++
		p.call.listed = true
		return &start{state: inObject}
	case '{':
		return &start{state: inObject}
	}
	return nil
}

// object reads the JSON of a call, or of its arguments.
func (p *Parser) object() bool {
	c := &p.call
	for i := range len(p.in) {
		b := p.in[i]
		before, depth := c.scan.next, len(c.scan.stack)
		ok := c.scan.step(b)
		if ok && c.jsonArg && (depth > 0 || b == '{') {
			c.args = append(c.args, b)
		} else if ok && !c.jsonArg {
			ok = p.fieldByte(b, before, depth)
		}
		switch {
		case !ok:
			p.take(i)
			return p.fail()
		case depth > 0 && len(c.scan.stack) == 0:
			p.take(i + 1)
			if !c.jsonArg && !(c.begun && c.field.complete) {
				return p.fail()
			}
			p.state = afterObject
			return true
		}
	}
	p.take(len(p.in))
	if p.ended {
		return p.fail()
	}
	return false
}

// fieldByte takes a byte of the object that a call is. It is false if it is not a call's.
func (p *Parser) fieldByte(b byte, before expected, depth int) bool {
	c := &p.call
	f := &c.field
	next, inside := c.scan.next, len(c.scan.stack)
	wanted := func() bool { return f.name == "name" || f.name == "arguments" || f.name == "parameters" }
	switch {
	case depth == 1 && next == inKey && (before == aKey || before == keyOrEnd):
		f.raw, f.reading = f.raw[:0], true
	case depth == 1 && before == aValue && !isSpace(b):
		f.raw = f.raw[:0]
		f.reading = f.name == "name" && b == '"'
		f.copying = b == '{' && wanted() && f.name != "name"
		if wanted() && !f.reading && !f.copying || f.copying && f.complete {
			return false
		}
	}
	if f.reading {
		f.raw = append(f.raw, b)
	}
	if f.copying {
		c.args = append(c.args, b)
	}
	switch {
	case before == inKey && next == aColon && depth == 1:
		f.reading = false
		f.count++
		f.name = unquote(f.raw)
		return !c.bare || f.count > 1 || f.name == "name" || f.name == "type"
	case f.reading && before == inString && next == commaOrEnd:
		f.reading = false
		return p.named(unquote(f.raw))
	case f.copying && inside == 1:
		f.copying, f.complete = false, true
	}
	return true
}

func unquote(raw []byte) (s string) {
	_ = pyjson.Unmarshal(raw, &s) // a string of JSON, as the scanner has seen
	return s
}

// endOfObject reads what follows the arguments of a call.
func (p *Parser) endOfObject() bool {
	c := &p.call
	r := reader{in: p.in}
	if c.listed {
		r.space()
		switch {
		case r.short && !p.ended:
			return false
		case r.short: // the text has ended
		case r.peek() != ',' && r.peek() != ']':
			return p.fail()
		}
		p.take(r.at)
		p.endCall()
		p.state = afterItem
		return true
	}
	for _, marker := range c.close {
		r.space()
		if !r.literal(marker) && !r.short && !p.opens(&r) {
			return p.fail()
		}
	}
	if r.short && !p.ended {
		return false
	}
	p.take(r.at)
	p.endCall()
	p.state = afterCall
	return true
}

// opens reports whether a call comes next, without passing its marker.
func (p *Parser) opens(r *reader) bool {
	at := r.at
	for _, marker := range p.family.open {
		if r.literal(marker) {
			r.at = at
			return true
		}
	}
	return r.short
}

// endOfItem reads what follows a call of a list: a comma or the end.
func (p *Parser) endOfItem() bool {
	switch {
	case p.in == "": // the text has ended
		p.state = inText
	case p.in[0] == ',':
		p.take(1)
		p.nextCall()
	default:
		p.in = p.in[1:]
		p.state = afterCall
	}
	return true
}
