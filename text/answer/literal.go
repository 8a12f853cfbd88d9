// Calls whose arguments are literals of other syntaxes than JSON.

package answer

import "strings"

var (
	pythonSyntax = &syntax{open: "(", end: ")", is: "=", quotes: []string{`"`, "'"}, escapes: true, listed: true, constants: map[string]string{"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}}
	gemmaSyntax  = &syntax{before: "call:", open: "{", end: "}", is: ":", quotes: []string{gemmaQuote}, bareKeys: true, constants: map[string]string{"true": "true", "false": "false", "null": "null", "None": "null"}}
)

// pythonHead reads the beginning of a list, or the name of a call. A list may have objects instead.
func (p *Parser) pythonHead(r *reader) *start {
	r.space()
	if r.peek() == '[' {
		r.at++
		p.call.listed = true
		r.space()
		if r.peek() == '{' {
			return &start{state: inObject}
		}
	}
	return literalHead(r, pythonSyntax)
}

func (p *Parser) gemmaHead(r *reader) *start { return literalHead(r, gemmaSyntax) }

// literalHead reads the name of a call.
func literalHead(r *reader, s *syntax) *start {
	r.space()
	if s.before != "" && !r.literal(s.before) {
		return nil
	}
	name := r.word(s.open)
	r.space()
	if name == "" || !r.literal(s.open) {
		return nil
	}
	return &start{state: beforeArgument, name: name, syntax: s}
}

// nextHead reads the name of a call after another one.
func (p *Parser) nextHead() bool {
	r := reader{in: p.in}
	return p.headed(&r, literalHead(&r, p.call.param.syntax))
}

// argument reads an argument, or what follows the last one.
func (p *Parser) argument() bool {
	c, s := &p.call, p.call.param.syntax
	r := reader{in: p.in}
	r.space()
	args, ok := c.args, true
	end := r.literal(s.end)
	if !end && len(c.param.names) > 0 {
		ok = r.literal(",")
		r.space()
		end = ok && r.literal(s.end)
		args = append(args, ", "...)
	}
	if ok && !end {
		var name string
		name, ok = r.key(s)
		if ok = ok && !c.param.names[name]; ok {
			args, ok = r.value(append(append(appendText(append(args, '"'), name), '"'), ": "...), s, 0)
		}
		if ok && !r.short {
			c.param.names[name] = true
		}
	}
	switch {
	case r.short && !p.ended:
		return false
	case !ok || r.short && !end:
		return p.fail()
	}
	p.take(r.at)
	if !end {
		c.args = args
		return true
	}
	c.args = append(c.args, '}')
	p.state = afterArguments
	return true
}

// key passes a name and what is between it and its value.
func (r *reader) key(s *syntax) (name string, ok bool) {
	if quote := r.quote(s); quote != "" {
		var text []byte
		text, ok = r.text(nil, quote, s)
		name = unquote(append(append([]byte{'"'}, text...), '"'))
	} else {
		name = r.word(s.is + ",()[]{}'\"")
		ok = name != ""
	}
	r.space()
	ok = ok && r.literal(s.is)
	r.space()
	return name, ok
}

// quote passes what begins a string, and returns it.
func (r *reader) quote(s *syntax) string {
	for _, q := range s.quotes {
		if r.literal(q) {
			return q
		}
	}
	return ""
}

// value appends a value as JSON.
func (r *reader) value(dst []byte, s *syntax, depth int) (all []byte, ok bool) {
	if quote := r.quote(s); quote != "" {
		dst, ok = r.text(append(dst, '"'), quote, s)
		return append(dst, '"'), ok
	}
	switch r.peek() {
	case '[':
		return r.items(dst, s, depth, ']')
	case '{':
		return r.items(dst, s, depth, '}')
	}
	from := r.at
	for c := r.peek(); !r.short && strings.IndexByte(",)]}", c) < 0 && !isSpace(c); c = r.peek() {
		if r.at++; r.at-from > maxWord {
			return dst, false
		}
	}
	word := r.in[from:r.at]
	if constant, known := s.constants[word]; known {
		return append(dst, constant...), true
	}
	return append(dst, word...), isNumber(word)
}

// items appends a list or a map, which ends with a byte.
func (r *reader) items(dst []byte, s *syntax, depth int, end byte) (all []byte, ok bool) {
	const deepest = 100
	if depth == deepest {
		return dst, false
	}
	inner := *s
	if inner.is = ":"; end == '}' {
		dst = append(dst, '{')
	} else {
		dst = append(dst, '[')
	}
	r.at++
	for n := 0; ; n++ {
		r.space()
		c := r.peek()
		if n > 0 && c == ',' {
			r.at++
			r.space()
			if c = r.peek(); c != end {
				dst = append(dst, ", "...)
			}
		} else if n > 0 && c != end {
			return dst, false
		}
		if c == end {
			r.at++
			return append(dst, end), true
		}
		if end == '}' {
			quoted := r.at
			name, ok := r.key(&inner)
			if !ok || !s.bareKeys && !strings.ContainsAny(r.in[quoted:quoted+1], `"'`) {
				return dst, false
			}
			dst = append(append(appendText(append(dst, '"'), name), '"'), ": "...)
		}
		if dst, ok = r.value(dst, s, depth+1); !ok {
			return dst, false
		}
	}
}

// text appends a string up to its quote, without quotes, as JSON.
func (r *reader) text(dst []byte, quote string, s *syntax) (all []byte, ok bool) {
	for {
		rest := r.in[r.at:]
		var n int
		if s.escapes {
			n = strings.IndexAny(rest, quote+`\`)
		} else {
			n = strings.Index(rest, quote)
		}
		if n < 0 {
			r.at, r.short = len(r.in), true
			return dst, false
		}
		dst = appendText(dst, rest[:n])
		r.at += n
		if r.literal(quote) {
			return dst, true
		}
		if dst, ok = r.escape(dst); !ok {
			return dst, false
		}
	}
}

// escape appends what a backslash and the byte after it mean in Python. Those that it does not know stay as they are.
func (r *reader) escape(dst []byte) (all []byte, ok bool) {
	r.at++
	c := r.peek()
	if r.short {
		return dst, false
	}
	r.at++
	switch c {
	case '"', '\\':
		return append(dst, '\\', c), true
	case '\'':
		return append(dst, c), true
	case 'n', 't', 'r', 'b', 'f':
		return append(dst, '\\', c), true
	case 'u':
		if len(r.in)-r.at < 4 {
			r.at, r.short = len(r.in), true
			return dst, false
		}
		digits := r.in[r.at : r.at+4]
		r.at += 4
		return append(append(dst, `\u`...), digits...), strings.Trim(digits, "0123456789abcdefABCDEF") == ""
	case '\n':
		return dst, true
	}
	r.at-- // the byte is text
	return append(dst, `\\`...), true
}

// isNumber reports whether a word is a number of JSON.
func isNumber(word string) bool {
	s := scanner{next: aValue, stack: []byte{'['}}
	for i := range len(word) {
		if c := word[i]; strings.IndexByte("+-.eE0123456789", c) < 0 || !s.step(c) {
			return false
		}
	}
	return word != "" && s.step(',')
}

// endOfArguments reads what follows a call: another one, or the end.
func (p *Parser) endOfArguments() bool {
	c := &p.call
	s := c.param.syntax
	r := reader{in: p.in}
	r.space()
	another := false
	if s.listed {
		if r.literal(",") {
			another = true
		} else if c.listed {
			if !r.literal("]") && !r.short {
				return p.fail()
			}
			r.space()
		}
	}
	closed := another
	for _, marker := range c.close {
		closed = closed || r.literal(marker)
	}
	if r.short && !closed && !p.ended {
		return false
	}
	if !closed && !r.short { // calls on lines of their own
		if another = s.listed && !c.listed; !another {
			return p.fail()
		}
		r.at = 0
	}
	p.take(r.at)
	p.endCall()
	p.state = inText
	if another {
		p.nextCall()
		p.call.param.syntax = s
		p.state = beforeNextCall
	}
	return true
}
